"""Reads what agents are known to send in place of the right JSON, where only one reading makes sense.

Nothing is decided here: a value is rewritten as its JSON schema would have it, and the tool's
strict decoder then accepts it or not. What no rule is for stays as it is. The rules:

==============  =====================================================================================
expected        also read
==============  =====================================================================================
integer         20.0 (below 2**53, from where a double has lost digits), "20" and "20.0"
number          "1.5": text that is a JSON number, so neither "NaN" nor "0x10", "1,000", "007"
boolean         "true", "yes", "on", "1", 1 and "false", "no", "off", "0", 0, in upper or lower case
array, object   the same as JSON text; and everything in them by these rules
choice          a number or boolean as one of these forms, if that is one of the choices only
null            "null", where the parameter takes no text
several types   what one of these rules makes of it, if they do not disagree; text where text is one of
                the types stays text
==============  =====================================================================================

A boolean is never a number, nor a number text, nor a single value an array of it (a text
could be a list of its own: "a, b").
"""

from __future__ import annotations

import decimal
import re
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Schema = dict[str, Any]

_JSON_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_FIRST_INEXACT = 2**53
_TRUE = frozenset({"true", "yes", "on", "1"})
_FALSE = frozenset({"false", "no", "off", "0"})


def fit(value: Any, schema: Schema) -> Any:
    """Rewrite a JSON value towards a schema.

    Args:
        value: Decoded JSON: None, bool, int, float, str, list or dict.
        schema: A JSON schema without references.

    Returns:
        What the value must have meant; the value itself where no rule applies.
    """
    if "enum" in schema or "const" in schema:
        return _choice(value, schema.get("enum", [schema.get("const")]))
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return _one_of(value, schema[several])
    kind = schema.get("type")
    if isinstance(kind, list):
        return _one_of(value, [{**schema, "type": one} for one in kind])
    reader = _READERS.get(kind)
    return value if reader is None else reader(value, schema)


def _number(value: Any, _schema: Schema) -> Any:
    if not isinstance(value, str):
        return value
    found = _JSON_NUMBER.fullmatch(value.strip())
    if found is None:
        return value
    try:
        number = float(found[0]) if found[1] or found[2] else int(found[0])
    except ValueError:  # more digits than Python reads
        return value
    return value if number in (float("inf"), -float("inf")) else number


def _integer(value: Any, schema: Schema) -> Any:
    number = _number(value, schema)
    if isinstance(number, float):
        exact = abs(number) < _FIRST_INEXACT and number.is_integer()
        if exact and isinstance(value, str):
            exact = decimal.Decimal(value.strip()) == number
        return int(number) if exact else value
    return number


def _boolean(value: Any, _schema: Schema) -> Any:
    if isinstance(value, (int, float)):
        return bool(value) if value in (0, 1) else value
    word = value.strip().lower() if isinstance(value, str) else None
    return True if word in _TRUE else False if word in _FALSE else value


def _null(value: Any, _schema: Schema) -> Any:
    return None if value == "null" else value


def _array(value: Any, schema: Schema) -> Any:
    value = _parsed(value)
    if not isinstance(value, list):
        return value
    first = schema.get("prefixItems", [])
    rest = schema.get("items")
    rest = rest if isinstance(rest, dict) else {}
    return [fit(item, first[index] if index < len(first) else rest) for index, item in enumerate(value)]


def _object(value: Any, schema: Schema) -> Any:
    value = _parsed(value)
    if not isinstance(value, dict):
        return value
    properties, required = schema.get("properties", {}), schema.get("required", ())
    rest = schema.get("additionalProperties")
    rest = rest if isinstance(rest, dict) else {}
    made = {}
    for name, item in value.items():
        own = properties.get(name, rest)
        if item is None and name in properties and name not in required and not _takes_null(own):
            continue  # null for what may be left out means: left out
        made[name] = fit(item, own)
    return made


def _parsed(value: Any) -> Any:
    """Return the list or dict that a text is the JSON of."""
    if isinstance(value, str):
        try:
            found = msgspec.json.decode(value)
        except (msgspec.DecodeError, RecursionError):
            return value
        if isinstance(found, (list, dict)):
            return found
    return value


def _choice(value: Any, choices: Iterable[Any]) -> Any:
    meant = [choice for choice in choices if _means(value, choice)]
    return meant[0] if len(meant) == 1 else value


def _means(value: Any, choice: Any) -> bool:
    if type(value) is type(choice) and value == choice:
        return True
    reader = {bool: _boolean, int: _integer, float: _number, type(None): _null}.get(type(choice))
    if reader is None:
        return False
    read = reader(value, {})
    return type(read) is type(choice) and bool(read == choice)


def _one_of(value: Any, schemas: Iterable[Schema]) -> Any:
    if isinstance(value, str) and any(_takes_text(schema) for schema in schemas):
        return value
    as_it_is = msgspec.json.encode(value)
    # By their JSON, since 1, 1.0 and True are equal to Python.
    readings = {msgspec.json.encode(read): read for read in (fit(value, schema) for schema in schemas)}
    readings.pop(as_it_is, None)
    return next(iter(readings.values())) if len(readings) == 1 else value


def _takes_text(schema: Schema) -> bool:
    return _takes(schema, "string", str)


def _takes_null(schema: Schema) -> bool:
    return _takes(schema, "null", type(None))


def _takes(schema: Schema, name: str, kind: type) -> bool:
    if "enum" in schema or "const" in schema:
        return any(isinstance(choice, kind) for choice in schema.get("enum", [schema.get("const")]))
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return any(_takes(part, name, kind) for part in schema[several])
    types: Any = schema.get("type", name)  # none given: every type
    return name in types if isinstance(types, list) else bool(name == types)


_READERS: dict[Any, Callable[[Any, Schema], Any]] = {
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "null": _null,
    "array": _array,
    "object": _object,
}
