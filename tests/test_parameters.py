"""Definitions: what fits the extension's fixed-size fields, and how the rest is refused."""

import json
import pickle

import pytest

from openxr_agentic import (
    MAX_DESCRIPTION_BYTES,
    MAX_NAME_BYTES,
    MAX_OBJECT_PROPERTIES_BYTES,
    DefinitionError,
    ParameterType,
    ToolParameter,
)
from openxr_agentic.parameters import truncate_text

STRING, ARRAY, OBJECT = ParameterType.STRING, ParameterType.ARRAY, ParameterType.OBJECT


def test_a_parameter_keeps_what_it_was_given():
    parameter = ToolParameter("position", "Metres [x, y, z]", ARRAY, True, item_type=ParameterType.NUMBER)
    assert (parameter.name, parameter.description, parameter.type) == ("position", "Metres [x, y, z]", ARRAY)
    assert (parameter.required, parameter.item_type, parameter.object_properties) == (True, ParameterType.NUMBER, None)


@pytest.mark.parametrize("name", ["n" * 63, "名" * 21])
def test_a_name_of_63_bytes_fits(name):
    assert len(name.encode()) == MAX_NAME_BYTES
    assert ToolParameter(name, "", STRING).name == name


@pytest.mark.parametrize(("name", "size"), [("n" * 64, 64), ("名" * 22, 66)])
def test_a_name_of_more_than_63_bytes_is_refused_with_its_size_and_the_limit(name, size):
    with pytest.raises(DefinitionError, match=rf"name has {size} bytes of UTF-8; the limit is 63"):
        ToolParameter(name, "", STRING)


def test_a_description_of_1023_bytes_fits_and_one_byte_more_does_not():
    assert ToolParameter("p", "d" * MAX_DESCRIPTION_BYTES, STRING).description == "d" * 1023
    with pytest.raises(DefinitionError, match=r"'p': description has 1024 bytes of UTF-8; the limit is 1023"):
        ToolParameter("p", "d" * 1024, STRING)


def test_a_description_is_counted_in_bytes_not_in_characters():
    with pytest.raises(DefinitionError, match="1024 bytes"):
        ToolParameter("p", "d" * 1022 + "é", STRING)


def test_truncate_cuts_a_description_before_a_character_that_does_not_fit_and_warns():
    with pytest.warns(UserWarning, match=r"'p': description was cut from 1024 to 1022 bytes \(limit 1023\)"):
        parameter = ToolParameter("p", "d" * 1022 + "é", STRING, truncate=True)
    assert parameter.description == "d" * 1022


def test_truncate_leaves_a_description_that_fits():
    assert ToolParameter("p", "é" * 511, STRING, truncate=True).description == "é" * 511


@pytest.mark.parametrize(
    ("text", "limit", "fitting"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "abc"),
        ("aéb", 2, "a"),
        ("名名", 5, "名"),
        ("a\U0001f600", 4, "a"),
        ("xe\u0301", 2, "x"),
        ("x\U0001f44d\U0001f3fd", 5, "x"),
        ("x\U0001f468\u200d\U0001f469", 8, "x"),
        ("\u0301\u0301\u0301", 4, "\u0301\u0301"),
    ],
)
def test_truncated_text_never_ends_inside_a_character(text, limit, fitting):
    assert truncate_text(text, limit) == fitting


@pytest.mark.parametrize(
    ("field", "make"),
    [
        ("a parameter's name", lambda text: ToolParameter(text, "", STRING)),
        ("description", lambda text: ToolParameter("p", text, STRING)),
        ("object_properties", lambda text: ToolParameter("p", "", OBJECT, object_properties=text)),
    ],
)
@pytest.mark.parametrize(("text", "problem"), [("a\0b", "NUL character at byte 1"), ("a\ud800b", r"U\+D800")])
def test_a_nul_and_a_lone_surrogate_are_refused_with_the_field(field, make, text, problem):
    with pytest.raises(DefinitionError, match=problem) as caught:
        make(text)
    assert field in str(caught.value)


def test_an_empty_name_is_refused():
    with pytest.raises(DefinitionError, match="name is empty"):
        ToolParameter("", "", STRING)


@pytest.mark.parametrize("name", [None, 3, b"bytes"])
def test_a_name_that_is_no_str_is_refused(name):
    with pytest.raises(DefinitionError, match="must be a str"):
        ToolParameter(name, "", STRING)


def test_an_array_needs_an_item_type_and_nothing_else_takes_one():
    with pytest.raises(DefinitionError, match="ARRAY needs an item_type"):
        ToolParameter("p", "", ARRAY)
    with pytest.raises(DefinitionError, match="item_type is for ARRAY only"):
        ToolParameter("p", "", STRING, item_type=STRING)
    with pytest.raises(DefinitionError, match="item_type must be a ParameterType"):
        ToolParameter("p", "", ARRAY, item_type="number")


@pytest.mark.parametrize("properties", ["[]", "5", '"{}"', "null", ["a"], 5])
def test_object_properties_that_are_no_json_object_are_refused(properties):
    with pytest.raises(DefinitionError, match="must be a JSON object"):
        ToolParameter("p", "", OBJECT, object_properties=properties)


@pytest.mark.parametrize("text", ["", "{", "{'a': 1}", '{"a": NaN}', "[" * 100_000, '{"a": ' + "9" * 5000 + "}"])
def test_object_properties_that_are_no_json_are_refused(text):
    with pytest.raises(DefinitionError, match="object_properties is not JSON"):
        ToolParameter("p", "", OBJECT, object_properties=text)


def test_object_properties_of_4095_bytes_fit_and_one_byte_more_is_never_cut():
    frame = len('{"type":"object","description":""}')
    fitting = {"type": "object", "description": "d" * (MAX_OBJECT_PROPERTIES_BYTES - frame)}
    assert len(ToolParameter("p", "", OBJECT, object_properties=fitting).object_properties) == 4095
    too_long = {"type": "object", "description": "d" * (MAX_OBJECT_PROPERTIES_BYTES - frame + 1)}
    with pytest.raises(DefinitionError, match="object_properties has 4096 bytes of UTF-8; the limit is 4095"):
        ToolParameter("p", "", OBJECT, object_properties=too_long, truncate=True)


@pytest.mark.parametrize(
    "whole",
    [{"type": "object"}, {"properties": {"a": {"type": "string"}}}, {"type": ["object", "null"]}, {"required": ["a"]}],
)
def test_a_whole_object_schema_is_sent_as_it_is(whole):
    text = json.dumps(whole)
    assert ToolParameter("p", "", OBJECT, object_properties=text).object_properties == text
    assert json.loads(ToolParameter("p", "", OBJECT, object_properties=whole).object_properties) == whole


@pytest.mark.parametrize(
    "properties", [{"x": "number"}, {"type": "object", "properties": {"x": 5}}, {"a": {}, "x": []}]
)
def test_a_property_that_is_no_schema_is_refused_by_name(properties):
    with pytest.raises(DefinitionError, match="property 'x' must be a schema such as"):
        ToolParameter("p", "", OBJECT, object_properties=properties)


def test_of_a_text_that_is_a_subclass_of_str_only_the_text_is_kept():
    class Name(str):
        __slots__ = ()

    assert type(ToolParameter(Name("p"), Name("d"), STRING).name) is str


@pytest.mark.parametrize(
    "properties",
    [{"a": {"type": "number"}}, {"type": {"type": "string"}}, {"required": {"type": "boolean"}}, {"a": True}, {}],
)
def test_a_map_of_properties_is_put_into_an_object_schema(properties):
    sent = json.loads(ToolParameter("p", "", OBJECT, object_properties=properties).object_properties)
    assert sent == {"type": "object", "properties": properties}


def test_object_properties_are_for_objects_only_and_an_object_without_takes_any_shape():
    with pytest.raises(DefinitionError, match="object_properties is for OBJECT only"):
        ToolParameter("p", "", STRING, object_properties="{}")
    assert json.loads(ToolParameter("p", "", OBJECT).object_properties) == {"type": "object", "properties": {}}


def test_object_properties_that_json_cannot_say_are_refused():
    with pytest.raises(DefinitionError, match="cannot be written as JSON"):
        ToolParameter("p", "", OBJECT, object_properties={"type": "object", "default": float("nan")})


def test_a_type_that_is_no_parameter_type_is_refused():
    with pytest.raises(DefinitionError, match="type must be a ParameterType"):
        ToolParameter("p", "", "string")
    with pytest.raises(DefinitionError, match="required must be True or False"):
        ToolParameter("p", "", STRING, "yes")


def test_a_parameter_cannot_be_changed_but_compared_hashed_and_pickled():
    parameter = ToolParameter("p", "d", OBJECT, True, object_properties={"a": {"type": "string"}})
    with pytest.raises(AttributeError, match="cannot be changed"):
        parameter.name = "q"
    with pytest.raises(AttributeError, match="cannot be changed"):
        del parameter.name
    again = pickle.loads(pickle.dumps(parameter))
    assert again == parameter
    assert hash(again) == hash(parameter)
    assert parameter != ToolParameter("p", "d", OBJECT)
    assert "required=True" in repr(parameter)
