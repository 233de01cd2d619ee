"""Object schemas within 4095 bytes, and without references."""

import msgspec
import pytest

from openxr_agentic import MAX_OBJECT_PROPERTIES_BYTES, DefinitionError
from openxr_agentic.schema.fit import fit_object_schema, inlined


def wide(fields, **extra):
    return {"type": "object", "properties": {f"f{number}": dict(extra) for number in range(fields)}}


def test_a_schema_that_fits_stays_as_it_is():
    schema = wide(3, type="string", title="T", description="text")
    text, lost = fit_object_schema(schema, "w")
    assert (msgspec.json.decode(text), lost) == (schema, ())


def test_titles_go_before_descriptions():
    text, lost = fit_object_schema(wide(40, type="string", title="t" * 40, description="d" * 40), "w")
    assert "title" not in text
    assert text.count("description") == 40
    assert lost == ("titles and other decoration of its schema",)


def test_descriptions_go_from_the_deepest_level_up_and_never_in_the_middle():
    inner = wide(30, type="string", description="i" * 150)
    schema = {"type": "object", "properties": {"a": inner, "b": {"type": "string", "description": "kept"}}}
    text, lost = fit_object_schema(schema, "w")
    assert "kept" in text
    assert "iii" not in text
    assert "descriptions of its schema at level 2 and below" in lost


def test_nested_detail_goes_last_and_its_type_stays():
    schema = {"type": "object", "properties": {"a": wide(300, type="string"), "b": {"type": "array", "items": {}}}}
    text, lost = fit_object_schema(schema, "w")
    assert msgspec.json.decode(text)["properties"]["a"] == {"type": "object"}
    assert lost[-1].startswith("detail of its schema")


def test_a_property_that_is_called_title_or_description_is_no_decoration():
    names = {name: {"type": "string", "title": "T" * 4000} for name in ("title", "description", "properties")}
    text, _ = fit_object_schema({"type": "object", "properties": names}, "w")
    assert msgspec.json.decode(text)["properties"] == {name: {"type": "string"} for name in names}


def test_bytes_are_counted_not_characters():
    text, lost = fit_object_schema(wide(1, type="string", description="é" * 2050), "w")
    assert len(text.encode()) <= MAX_OBJECT_PROPERTIES_BYTES
    assert lost


def test_what_does_not_fit_even_bare_is_refused_with_its_size_and_advice():
    with pytest.raises(DefinitionError, match=r"w: .* takes \d+ bytes, and \d+ without .*4095.*Split the object"):
        fit_object_schema(wide(500, type="string"), "w")


def test_a_lone_surrogate_is_refused():
    with pytest.raises(DefinitionError, match="w: its JSON schema cannot be written"):
        fit_object_schema(wide(1, description="\ud800"), "w")


def test_references_are_put_in_place_and_titles_dropped():
    schema = {
        "$defs": {"P": {"type": "object", "title": "P", "properties": {"title": {"type": "string", "title": "T"}}}},
        "type": "object",
        "properties": {"p": {"$ref": "#/$defs/P", "description": "mine"}},
    }
    assert inlined(schema)["properties"]["p"] == {
        "type": "object",
        "properties": {"title": {"type": "string"}},
        "description": "mine",
    }


def test_a_recursive_reference_becomes_an_object_of_any_shape():
    schema = {
        "$defs": {
            "N": {"type": "object", "properties": {"next": {"anyOf": [{"$ref": "#/$defs/N"}, {"type": "null"}]}}}
        },
        "$ref": "#/$defs/N",
    }
    assert inlined(schema)["properties"]["next"] == {"anyOf": [{"type": "object"}, {"type": "null"}]}


def test_a_reference_to_nothing_is_refused():
    with pytest.raises(DefinitionError, match="refers to '#/\\$defs/X'"):
        inlined({"$ref": "#/$defs/X"})
