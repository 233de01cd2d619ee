"""JSON schemas that stand on their own and fit into the extension's 4096 bytes.

Clients do not follow `$ref`, and the extension's field for an object's schema is
small and fixed. So references are put in place, and what is too large is cut by
whole details, the least useful first: never inside a text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from openxr_agentic.errors import DefinitionError
from openxr_agentic.parameters import MAX_OBJECT_PROPERTIES_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable

    Schema = dict[str, Any]

# A schema's keywords whose values are schemas, by how they hold them.
_MAPS = ("properties", "patternProperties", "dependentSchemas")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_ONES = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames")
_DEFINITIONS = ("$defs", "definitions")

# Dropped first: agents do well without them, and the arguments are checked all the same.
_DECORATION = ("title", "examples", "$schema", "$id", "$comment", "uniqueItems", "discriminator")


def fit_object_schema(schema: Schema, where: str) -> tuple[str, tuple[str, ...]]:
    """Write an object's schema as JSON text of at most 4095 bytes.

    What is too large loses, until it fits: titles, examples and `additionalProperties: false`;
    then descriptions, from the deepest level up; then the detail of nested objects
    and arrays, from the deepest level up. The object's own properties always stay.

    Args:
        schema: A self-contained schema; it is not changed.
        where: What it belongs to, for the error's text.

    Returns:
        The text, and what was left out, in words.

    Raises:
        DefinitionError: Not even the bare properties fit, or a text in it is not valid Unicode.
    """
    text = _encoded(schema, where)
    if len(text) <= MAX_OBJECT_PROPERTIES_BYTES:
        return text.decode(), ()
    whole = len(text)
    lost = ["titles and other decoration of its schema"]
    schema = _edited(schema, 0, lambda part, _depth: _without_decoration(part))
    text = _encoded(schema, where)
    for words, edit in (("descriptions", _without_description), ("detail", _without_detail)):
        depth = _depth(schema)
        while len(text) > MAX_OBJECT_PROPERTIES_BYTES and depth > 0:
            schema = _edited(schema, 0, _from_level(depth, edit))
            text = _encoded(schema, where)
            lost.append(f"{words} of its schema at level {depth} and below")
            depth -= 1
    if len(text) > MAX_OBJECT_PROPERTIES_BYTES:
        raise DefinitionError(
            f"{where}: the JSON schema of its properties takes {whole} bytes, and {len(text)} without any "
            f"description or nested detail; the limit is {MAX_OBJECT_PROPERTIES_BYTES}. Split the object into "
            "several parameters or tools, or shorten its property names and choices."
        )
    return text.decode(), tuple(lost)


def _from_level(least: int, edit: Callable[[Schema], Schema]) -> Callable[[Schema, int], Schema]:
    return lambda part, depth: edit(part) if depth >= least else part


def inlined(schema: Schema) -> Schema:
    """Return a schema with every local `$ref` replaced by what it refers to, and without titles.

    A reference to something that is being put in place already (a recursive type)
    becomes an object of any shape, or any value where it is no object.

    Raises:
        DefinitionError: A reference leads out of the schema, or to nothing.
    """
    if not isinstance(schema, dict):
        raise DefinitionError(f"a JSON schema is a dict, not {schema!r}.")
    definitions = {f"#/{key}/{name}": part for key in _DEFINITIONS for name, part in schema.get(key, {}).items()}
    return _inlined(schema, {"#": schema, **definitions}, ())


def _inlined(schema: Schema, definitions: dict[str, Schema], open_references: tuple[str, ...]) -> Schema:
    own = {key: value for key, value in schema.items() if key not in (*_DEFINITIONS, "$ref", "title")}
    if isinstance(schema.get("title"), dict):
        own["title"] = schema["title"]
    reference = schema.get("$ref")
    if reference is not None:
        target = definitions.get(reference)
        if target is None:
            raise DefinitionError(f"the JSON schema refers to {reference!r}, which it does not hold.")
        if reference in open_references:
            return {**({"type": "object"} if target.get("type") == "object" or "properties" in target else {}), **own}
        return {**_inlined(target, definitions, (*open_references, reference)), **own}
    return _with_parts(own, lambda part: _inlined(part, definitions, open_references))


def _with_parts(schema: Schema, change: Callable[[Schema], Schema]) -> Schema:
    """Return a copy with every schema that is directly inside changed."""

    def changed(part: Any) -> Any:
        return change(part) if isinstance(part, dict) else part

    copy = dict(schema)
    for key in _MAPS:
        if isinstance(copy.get(key), dict):
            copy[key] = {name: changed(part) for name, part in copy[key].items()}
    for key in _LISTS:
        if isinstance(copy.get(key), list):
            copy[key] = [changed(part) for part in copy[key]]
    for key in _ONES:
        if key in copy:
            copy[key] = changed(copy[key])
    return copy


def _edited(schema: Schema, depth: int, edit: Callable[[Schema, int], Schema]) -> Schema:
    inside = _with_parts(schema, lambda part: _edited(part, depth + 1, edit))
    return edit(inside, depth)


def _depth(schema: Schema) -> int:
    deepest = 0

    def see(part: Schema, depth: int) -> Schema:
        nonlocal deepest
        deepest = max(deepest, depth)
        return part

    _edited(schema, 0, see)
    return deepest


def _without_decoration(part: Schema) -> Schema:
    return {
        key: value
        for key, value in part.items()
        if key not in _DECORATION and not (key == "additionalProperties" and value is False)
    }


def _without_description(part: Schema) -> Schema:
    return {key: value for key, value in part.items() if key != "description"}


def _without_detail(part: Schema) -> Schema:
    kind = part.get("type")
    if kind == "object":
        return {"type": "object"}
    if kind == "array":
        item = part.get("items")
        kept = item.get("type") if isinstance(item, dict) else None
        return {"type": "array", "items": {"type": kept} if isinstance(kept, str) else {}}
    return {"type": kind} if isinstance(kind, str) else part


def _encoded(schema: Schema, where: str) -> bytes:
    try:
        return msgspec.json.encode(schema)
    except (UnicodeEncodeError, TypeError, ValueError, RecursionError) as error:
        raise DefinitionError(f"{where}: its JSON schema cannot be written as JSON text: {error}.") from None
