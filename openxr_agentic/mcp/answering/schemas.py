"""The JSON schema of a tool's arguments that tools/list carries."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from openxr_agentic.mcp.answering.json_objects import read_object

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openxr_agentic.host.channel import Parameter

log = logging.getLogger(__name__)

Schema = dict[str, Any]

ResultCheck = Callable[[object], "str | None"]

_MOST_REASON: Final = 300
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


def result_check(schema: Schema) -> ResultCheck:
    """Return what tells whether a result is what an output schema says: None, or what is wrong, in words.

    Official clients compare results with the schema too, and drop one that differs, its text included.

    Raises:
        ValueError: It is no JSON schema.
    """
    # Slow to import, and not every app needs it.
    from jsonschema.exceptions import SchemaError  # type: ignore[import-untyped]  # it has no types of its own
    from jsonschema.validators import validator_for  # type: ignore[import-untyped]

    kind = validator_for(schema)
    try:
        kind.check_schema(schema)
    except SchemaError as error:
        raise ValueError(f"{error.json_path}: {error.message}") from error
    validator = kind(schema)

    def check(result: object) -> str | None:
        try:
            fault = next(validator.iter_errors(result), None)
        except Exception as error:  # noqa: BLE001 - a schema may refer to what is not there
            return f"its output schema cannot be used: {_shortened(str(error))}"
        return None if fault is None else f"{fault.json_path}: {_shortened(fault.message)}"

    return check


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MOST_REASON else f"{line[:_MOST_REASON]}…"


def _property(parameter: Parameter) -> Schema:
    if parameter.type == _OBJECT:
        schema = _object(parameter)
    elif parameter.type == _ARRAY:
        schema = {"type": "array", "items": _items(parameter.item_type)}
    else:
        schema = _typed(parameter.type)
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
    return _typed(item_type)


def _typed(number: int) -> Schema:
    # A newer host may know more types than the five.
    return {"type": _TYPE_NAMES[number]} if number < len(_TYPE_NAMES) else {}


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
