"""The arguments of a tool: null, defaults, names, types found by name, the context, and the other two manners."""

from __future__ import annotations

import dataclasses
import enum
import math
import pathlib
import warnings
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypedDict

import annotated_types as at
import msgspec
import pydantic
import pytest

from openxr_agentic import DefinitionError, ParameterType, ToolParameter
from openxr_agentic.definition.tool import (
    Arguments,
    ToolContext,
    current_call,
    define,
    tool,
)
from openxr_agentic.errors import ArgumentError

if TYPE_CHECKING:
    from fractions import Fraction

STRING, NUMBER, BOOLEAN, ARRAY, OBJECT = ParameterType


class Colour(enum.Enum):
    RED = "red"
    GREEN = "green"


def told(defined):
    return {parameter.name: parameter.description for parameter in defined.parameters}


# ---------------------------------------------------------------- null and defaults


def test_a_nullable_parameter_without_a_default_is_required_and_may_be_null():
    def f(x: str | None):
        """F."""
        return x

    defined = define(f)
    assert (defined.parameters[0].required, told(defined)["x"]) == (True, "may be null")
    assert defined.execute({"x": None}) is None
    with pytest.raises(ArgumentError, match="x"):
        defined.execute({})


def test_null_for_a_default_of_none_is_none_and_the_type_stays():
    def f(x: str = None):  # noqa: RUF013 - it is what people write
        """F."""
        return x

    defined = define(f)
    assert (defined.parameters[0].type, defined.parameters[0].required) == (STRING, False)
    assert defined.decoder.recover(b'{"x":null}').x is None
    assert defined.execute({"x": None}) is None


def test_null_for_another_default_means_left_out_and_a_text_null_stays_text():
    def f(limit: int = 10, word: str = "w"):
        """F."""
        return limit, word

    decoder = define(f).decoder
    assert decoder.recover(b'{"limit":null,"word":"null"}').limit == 10
    assert define(f).execute({"limit": None, "word": "null"}) == (10, "null")


def test_a_mutable_default_is_copied_for_each_call():
    def f(items: list[list[int]] = [[1]]):  # noqa: B006
        """F."""
        items[0].append(2)
        return items

    defined = define(f)
    assert [defined.execute(), defined.execute()] == [[[1, 2]], [[1, 2]]]
    assert defined.input_schema["properties"]["items"]["default"] == [[1]]


def test_a_fields_default_factory_makes_the_default():
    def f(items: Annotated[list[int], pydantic.Field(default_factory=list)]):
        """F."""
        return items

    defined = define(f)
    assert not defined.parameters[0].required
    assert defined.execute() == []


@pytest.mark.parametrize(
    ("default", "told_default"),
    [(Colour.RED, "red"), (pathlib.Path("a"), "a"), ((1, 2), [1, 2]), (math.nan, None), (object(), None)],
)
def test_a_default_that_json_cannot_say_is_not_told(default, told_default):
    def f(x: Any = default):
        """F."""
        return x

    defined = define(f)
    assert defined.input_schema["properties"]["x"].get("default") == told_default
    assert defined.execute() is default


@pytest.mark.parametrize(
    ("default", "kind", "schema"),
    [
        (1.5, NUMBER, "number"),
        (1, NUMBER, "number"),
        (True, BOOLEAN, "boolean"),
        ("a", STRING, "string"),
        ([], ARRAY, "array"),
    ],
)
def test_a_parameter_without_annotation_has_the_type_of_its_default(default, kind, schema):
    def f(x=default):
        """F."""

    defined = define(f)
    assert (defined.parameters[0].type, defined.input_schema["properties"]["x"]["type"]) == (kind, schema)


def test_a_parameter_without_annotation_and_default_takes_every_value():
    def f(x):
        """F."""
        return x

    defined = define(f)
    assert told(defined) == {"x": "any JSON value"}
    assert [defined.execute({"x": value}) for value in ("5", [1], {"a": None})] == ["5", [1], {"a": None}]


# ---------------------------------------------------------------- names of parameters


def test_parameters_may_be_called_as_members_of_models_are():
    def f(schema: int, json: str, copy: bool, model_dump: int, model_config: int, _x: int, match: int = 1):
        """F."""
        return [schema, json, copy, model_dump, model_config, _x, match]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        defined = define(f)
    given = {"schema": 1, "json": "{}", "copy": True, "model_dump": 2, "model_config": 3, "_x": 4}
    assert defined.execute(given) == [1, "{}", True, 2, 3, 4, 1]


def test_a_positional_only_parameter_is_given_by_name():
    def f(x: int, /, y: int = 2):
        """F."""
        return x, y

    assert define(f).execute({"x": 1}) == (1, 2)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda *args: 1, r"takes \*args.*parameter that is a list"),
        (lambda x, **rest: 1, r"takes \*\*rest.*parameter that is a dict"),
    ],
)
def test_variadic_parameters_are_refused_with_a_reason(function, words):
    with pytest.raises(DefinitionError, match=words):
        define(function, name="n", description="d")


def test_a_name_under_type_checking_is_an_error_with_the_function_and_the_name():
    def f(x: Fraction):
        """F."""

    with pytest.raises(DefinitionError, match=r"tool 'f': parameter 'x': the name 'Fraction'.*TYPE_CHECKING"):
        define(f)


def test_the_error_of_a_parameter_names_the_tool_and_the_parameter():
    def f(good: int, bad: complex):
        """F."""

    with pytest.raises(DefinitionError, match="tool 'My_f': parameter 'bad': complex cannot"):
        define(f, prefix="My_")


# ---------------------------------------------------------------- postponed annotations


def test_local_classes_are_found_under_postponed_annotations():
    @dataclasses.dataclass
    class Inner:
        x: int

    @dataclasses.dataclass
    class Outer:
        inner: Inner

    def f(value: Outer, more: list[Inner]):
        """F."""
        return value, more

    got = define(f).execute({"value": {"inner": {"x": 1}}, "more": [{"x": 2}]})
    assert got == (Outer(Inner(1)), [Inner(2)])


def test_a_mark_keeps_the_local_classes_for_a_later_definition():
    def make():
        class Size(enum.Enum):
            BIG = "big"

        @tool
        def f(size: Size):
            """F."""
            return size

        return f, Size

    function, size = make()
    assert define(function).execute({"size": "big"}) is size.BIG


def test_a_local_name_hides_that_of_the_module():
    class Colour(enum.Enum):
        BLUE = "blue"

    def f(colour: Colour):
        """F."""
        return colour

    assert define(f).execute({"colour": "blue"}) is Colour.BLUE


# ---------------------------------------------------------------- the context


def test_a_context_is_hidden_and_tells_the_call():
    def f(x: int, context: ToolContext, other: ToolContext | None = None):
        """F."""
        return context, other, current_call()

    defined = define(f, registry="R")
    assert list(defined.input_schema["properties"]) == ["x"]
    context, other, current = defined.execute({"x": 1})
    assert context is other is current
    assert (context.tool_name, context.registry, context.on_main_thread) == ("f", "R", True)
    assert context.logger.name == "openxr_agentic.tools.f"
    assert current_call() is None


def test_a_call_inside_a_call_has_its_own_context():
    def inner(context: ToolContext):
        """I."""
        return context.tool_name

    def outer(context: ToolContext):
        """O."""
        return define(inner).execute(), current_call().tool_name, context.tool_name

    assert define(outer).execute() == ("inner", "outer", "outer")


# ---------------------------------------------------------------- one parameter for all arguments


@dataclasses.dataclass
class Spawn:
    """Parameters.

    Attributes:
        kind: What
    """

    kind: str
    at: tuple[float, float] = (0.0, 0.0)
    tags: list[str] = dataclasses.field(default_factory=list)

    def __post_init__(self):
        if self.kind == "bad":
            raise ValueError("bad kinds cannot be made")


class SpawnStruct(msgspec.Struct):
    kind: str
    at: tuple[float, float] = (0.0, 0.0)
    tags: list[str] = []


class SpawnTuple(NamedTuple):
    kind: str
    at: tuple[float, float] = (0.0, 0.0)
    tags: list[str] = []  # noqa: RUF012


class SpawnModel(pydantic.BaseModel):
    kind: str = pydantic.Field(description="What")
    at: tuple[float, float] = (0.0, 0.0)
    tags: list[str] = []

    @pydantic.field_validator("kind")
    @classmethod
    def no_bad_kind(cls, value):
        if value == "bad":
            raise ValueError("bad kinds cannot be made")
        return value


class SpawnDict(TypedDict, total=False):
    kind: str
    at: tuple[float, float]


@pytest.mark.parametrize("model", [Spawn, SpawnStruct, SpawnTuple, SpawnModel])
def test_one_parameter_can_stand_for_all_arguments(model):
    def f(params: Annotated[model, Arguments], context: ToolContext):
        """F."""
        return params

    defined = define(f)
    assert [(parameter.name, parameter.required) for parameter in defined.parameters] == [
        ("kind", True),
        ("at", False),
        ("tags", False),
    ]
    got = defined.execute({"kind": "cube"})
    assert isinstance(got, model)
    assert (got.kind, tuple(got.at), got.tags) == ("cube", (0.0, 0.0), [])
    assert defined.execute({"kind": "cube", "at": [1, 2]}).at == (1.0, 2.0)
    with pytest.raises(ArgumentError, match="king.*kind"):
        defined.execute({"king": "cube"})


def test_the_fields_descriptions_and_defaults_are_told():
    def f(params: Annotated[Spawn, Arguments]):
        """F."""

    assert told(define(f)) == {
        "kind": "What",
        "at": "2 numbers; default: [0.0, 0.0]",
        "tags": "default: []",
    }


@pytest.mark.parametrize("model", [Spawn, SpawnModel])
def test_what_the_type_refuses_is_an_argument_error(model):
    def f(params: Annotated[model, Arguments]):
        """F."""

    with pytest.raises(ArgumentError, match="f was not run: .*bad kinds cannot be made"):
        define(f).execute({"kind": "bad"})


def test_keys_of_a_typed_dict_that_are_not_given_are_not_there():
    def f(params: Annotated[SpawnDict, Arguments]):
        """F."""
        return params

    assert define(f).execute({"at": [1, 2]}) == {"at": (1.0, 2.0)}


def test_nothing_stands_beside_the_parameter_for_all():
    def f(params: Annotated[Spawn, Arguments], x: int):
        """F."""

    with pytest.raises(DefinitionError, match="stands for all arguments, and the function takes x as well"):
        define(f)


def test_the_parameter_for_all_needs_named_fields():
    def f(params: Annotated[dict, Arguments]):
        """F."""

    with pytest.raises(DefinitionError, match="no named fields"):
        define(f)


# ---------------------------------------------------------------- arguments listed by hand


def several(first: int, second: int):
    """Take several."""


def raw(arguments):
    """Take them all."""
    return arguments


def test_parameters_listed_by_hand_give_the_raw_dict():
    listed = [
        ToolParameter("from", "Start", STRING, True),
        ToolParameter("max-size", "Size", ARRAY, item_type=NUMBER),
        ToolParameter("options", "More", OBJECT, object_properties={"a": {"type": "integer"}}),
    ]
    defined = define(raw, parameters=listed)
    assert [parameter.name for parameter in defined.parameters] == ["from", "max-size", "options"]
    assert defined.execute({"from": "a", "max-size": [1, 2.5]}) == {"from": "a", "max-size": [1, 2.5]}
    assert defined.input_schema["properties"]["options"]["properties"] == {"a": {"type": "integer"}}
    with pytest.raises(ArgumentError, match="max-size"):
        defined.execute({"from": "a", "max-size": 5})


def test_a_json_schema_by_hand_is_followed():
    schema = {
        "type": "object",
        "$defs": {"Side": {"enum": ["left", "right"]}},
        "properties": {"side": {"$ref": "#/$defs/Side", "description": "Which"}, "n": {"type": ["integer", "null"]}},
        "required": ["side"],
    }
    defined = define(raw, parameters=schema)
    assert told(defined) == {"side": "Which (one of: left, right)", "n": "whole number"}
    assert defined.execute({"side": "left", "n": None}) == {"side": "left", "n": None}
    with pytest.raises(ArgumentError, match="left"):
        defined.execute({"side": "up"})


def test_listed_arguments_can_be_taken_as_keywords():
    def f(**arguments):
        """F."""
        return arguments

    assert define(f, parameters=[ToolParameter("a", "", NUMBER)]).execute({"a": 1}) == {"a": 1}


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ([ToolParameter("a", "", STRING), ToolParameter("a", "", STRING)], "two parameters named 'a'"),
        (["a"], "must be ToolParameter objects"),
        ({"type": "array"}, "JSON schema of an object"),
        ({"properties": {"a": {"type": ["integer", "string"]}}}, "several JSON types"),
        ({"properties": {"a": {"type": "int"}}}, "'int' is no JSON type"),
        ({"properties": {"a": {"$ref": "#/$defs/X"}}}, "refers to"),
        ({"properties": {}, "required": ["a"]}, "'a' is required"),
        ({"properties": {}, "additionalProperties": True}, "only give arguments that are listed"),
    ],
)
def test_wrong_parameters_by_hand_are_refused(parameters, words):
    with pytest.raises(DefinitionError, match=words):
        define(raw, parameters=parameters)


def test_parameters_by_hand_need_a_function_that_takes_one():
    with pytest.raises(DefinitionError, match="takes one parameter.*first, second"):
        define(several, parameters=[])


def test_limits_from_annotated_types_hold_at_a_call():
    def f(x: Annotated[int, at.Ge(0), at.Le(9)]):
        """F."""
        return x

    assert define(f).execute({"x": 9}) == 9
    with pytest.raises(ArgumentError, match="x"):
        define(f).execute({"x": 10})


@pytest.mark.parametrize("parameters", [5, "text", {"properties": {"a": {}}, "required": 5}, {"required": "a"}])
def test_parameters_by_hand_that_make_no_sense_are_refused_with_words(parameters):
    def by_hand(arguments: dict) -> None:
        """Take what is listed by hand."""

    with pytest.raises(DefinitionError, match="parameters|required"):
        define(by_hand, parameters=parameters)
