"""The JSON schema of a tool's arguments that tools/list carries."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from openxr_agentic.mcp.answering.json_objects import read_object

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openxr_agentic.host.channel import Parameter

log = logging.getLogger(__name__)

Schema = dict[str, Any]

_ARRAY: Final = 3
_OBJECT: Final = 4
_TYPE_NAMES: Final = ("string", "number", "boolean", "array", "object")


def input_schema(parameters: Sequence[Parameter]) -> Schema:
    """Return the JSON schema of a tool's arguments, from the extension's parameters.

    ``properties`` is always there and ``required`` only when it names something:
    clients exist that refuse a schema without the former or with an empty latter.
    """
    schema: Schema = {
        "type": "object",
        "properties": {parameter.name: _property(parameter) for parameter in parameters},
    }
    if required := [parameter.name for parameter in parameters if parameter.required]:
        schema["required"] = required
    return schema


def portable_input_schema(given: Schema) -> Schema:
    """Return a schema that an app wrote by itself, in the form that every client takes: see `input_schema`.

    Raises:
        ValueError: It cannot be brought into that form.
    """
    schema = {"type": "object", "properties": {}, **given}
    if not _maps_properties(schema["properties"]):
        raise ValueError("the properties of inputSchema are no object of schemas")
    if schema.get("required") == []:
        del schema["required"]
    return schema


def require_valid(schema: Schema) -> None:
    """Check a schema as clients do that compare results with it: they drop every result when it is none.

    Raises:
        ValueError: It is no JSON schema.
    """
    # Slow to import, and not every app needs it.
    from jsonschema.exceptions import SchemaError  # type: ignore[import-untyped]  # it has no types of its own
    from jsonschema.validators import validator_for  # type: ignore[import-untyped]

    try:
        validator_for(schema).check_schema(schema)
    except SchemaError as error:
        raise ValueError(f"{error.json_path}: {error.message}") from error


def _property(parameter: Parameter) -> Schema:
    if parameter.type == _OBJECT:
        schema = _object(parameter)
    elif parameter.type == _ARRAY:
        schema = {"type": "array", "items": _items(parameter.item_type)}
    else:
        schema = {"type": _TYPE_NAMES[parameter.type]}
    if parameter.description:
        schema["description"] = parameter.description
    return schema


def _items(item_type: int | None) -> Schema:
    # The extension says no more than "array" about an array's items, and
    # clients refuse an array that has no `items` at all.
    if item_type is None:
        return {}
    if item_type == _ARRAY:
        return {"type": "array", "items": {}}
    return {"type": _TYPE_NAMES[item_type]}


def _object(parameter: Parameter) -> Schema:
    """Read the object properties: a whole object schema, or only the map of its properties.

    Which of the two the extension means is unpublished, and apps send both.
    """
    try:
        given = read_object(parameter.object_properties or "{}")
    except ValueError as error:
        log.warning(
            "the object properties of parameter %r are no JSON object and are left out: %s",
            parameter.name,
            error,
        )
        given = {}
    if _maps_properties(given) and not _maps_properties(given.get("properties")):
        given = {"properties": given} if given else {}
    return {**given, "type": "object"}


def _maps_properties(value: object) -> bool:
    """Whether every value could be a property's schema; in a whole schema, "type" is none."""
    return isinstance(value, dict) and all(isinstance(item, (dict, bool)) for item in value.values())
