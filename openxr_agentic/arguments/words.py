"""What an agent is told about arguments that do not fit: short, in the words that it knows the parameters by."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from openxr_agentic.parameters import ParameterType

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from openxr_agentic.schema.plan import ParameterPlan

    Schema = dict[str, Any]

_MOST_SHOWN = 80
_MOST_NAMES = 12
_LONGEST_EXAMPLE = 200

_NOUNS = {
    ParameterType.STRING: "text",
    ParameterType.NUMBER: "a number",
    ParameterType.BOOLEAN: "true or false",
    ParameterType.ARRAY: "an array",
    ParameterType.OBJECT: "an object",
}
_SAYS_NO_MORE = re.compile(r"Expected `[^`]*`, got ")
_UNKNOWN_FIELD = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)
_STEP = re.compile(r"([^.\[\]]+)|\[([^\]]*)\]")
_MSGSPEC_NAME = re.compile(r"\b(?:int|float|str|bool)\b")
_JSON_TYPES = {"int": "integer", "float": "number", "str": "string", "bool": "boolean"}
_EXAMPLE_TEXTS = {
    "date-time": "2025-01-31T12:00:00Z",
    "date": "2025-01-31",
    "time": "12:00:00",
    "duration": "PT1.5S",
    "uuid": "00000000-0000-0000-0000-000000000000",
    "decimal": "1.5",
}


def shown(text: str | bytes) -> str:
    """Return a text cut to a length that reads well, on one line."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "backslashreplace")
    text = text.encode("utf-8", "backslashreplace").decode().replace("\n", " ")
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 1]}…"


def expected(plan: ParameterPlan) -> str:
    """Say what a parameter accepts."""
    noun = _NOUNS[plan.type]
    if plan.json_schema == {}:
        noun = "any JSON value"
    elif plan.notes:
        noun = f"{noun} ({plan.notes})"
    elif plan.type is ParameterType.OBJECT:
        noun = _object_words(plan.json_schema)
    return f"{noun} or null" if plan.nullable and plan.json_schema != {} else noun


def misfit(plan: ParameterPlan, error: Exception) -> str:
    """Return why a value does not fit, where that says more than `expected` does."""
    if isinstance(error, RecursionError):
        return "nested too deeply"
    text = str(error)
    if not isinstance(error, msgspec.ValidationError):
        return "" if plan.notes and plan.notes in text else f"{shown(text)}{_near_field(plan.json_schema, text, '')}"
    if "out of range" in text:
        return "a number out of range"
    reason, _, place = text.partition(" - at `")
    in_key = place.startswith("key` in `")
    place = place.removeprefix("key` in `").removeprefix("$").rstrip("`")
    if not place and not in_key and (plan.type is not ParameterType.OBJECT or _SAYS_NO_MORE.match(reason)):
        return ""
    near = _near_field(plan.json_schema, reason, place)
    reason = _MSGSPEC_NAME.sub(lambda name: _JSON_TYPES.get(name[0], name[0]), reason.replace(" | ", " or "))
    reason = f"{'a key: ' if in_key else ''}{shown(reason[:1].lower() + reason[1:])}{near}".replace("`", "")
    return f"at {shown(place.strip('.'))}: {reason}" if place else reason


def _near_field(schema: Schema, reason: str, place: str) -> str:
    """Return a hint at the field that a misspelt one was meant to be; "" if there is none."""
    unknown_field = _UNKNOWN_FIELD.fullmatch(reason)
    if unknown_field is None:
        return ""
    names: dict[str, None] = {}
    for part in _schemas_at(schema, _STEP.findall(place)):
        names |= dict.fromkeys(part.get("properties", ()))
    near = nearest(unknown_field[1], names)
    return "" if near is None else f', did you mean "{near}"?'


def _schemas_at(schema: Schema, steps: list[tuple[str, str]]) -> Iterator[Schema]:
    """Yield the schemas that a value at a place may have."""
    if not isinstance(schema, dict):
        return
    for several in ("anyOf", "oneOf"):
        for part in schema.get(several, ()):
            yield from _schemas_at(part, steps)
    if not steps:
        yield schema
        return
    (name, index), rest = steps[0], steps[1:]
    if name and name in schema.get("properties", {}):
        yield from _schemas_at(schema["properties"][name], rest)
    elif name or index == "...":  # a dict's key is not told by msgspec
        yield from _schemas_at(schema.get("additionalProperties", {}), rest)
    if index:
        yield from _schemas_at(schema.get("items", {}), rest)


def missing(plan: ParameterPlan) -> str:
    """Say that a required parameter was left out."""
    return f"missing, expected {expected(plan)}"


def unknown(name: str, names: Iterable[str]) -> str:
    """Say that there is no such parameter, and which one was meant."""
    names = list(names)
    text = f"{shown(name)}: there is no such argument"
    near = nearest(name, names)
    if near is not None:
        return f'{text}, did you mean "{near}"?'
    if not names:
        return f"{text}, the tool takes none"
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"{text}, there are {', '.join(names[:_MOST_NAMES])}{more}"


def nearest(name: str, names: Iterable[str]) -> str | None:
    """Return the name that was probably meant."""
    import difflib

    folded = {known.casefold(): known for known in names}
    found = difflib.get_close_matches(name.casefold()[:_MOST_SHOWN], folded, 1, 0.6)
    return folded[found[0]] if found else None


def nearest_choice(value: bytes, schema: Schema) -> str:
    """Return a hint at the choice that was probably meant; "" if there is none."""
    choices = [choice for choice in schema.get("enum", ()) if isinstance(choice, str)]
    if not choices or value[:1] != b'"':
        return ""
    near = nearest(shown(value[1:-1]), choices)
    return "" if near is None else f', did you mean "{near}"?'


def example(fields: Iterable[tuple[str, ParameterPlan]]) -> str | None:
    """Return JSON text of arguments that would fit, or None if that would be long."""
    text = msgspec.json.encode({name: _example_value(plan.json_schema) for name, plan in fields}).decode()
    return text if len(text) <= _LONGEST_EXAMPLE else None


def _example_value(schema: Schema) -> Any:
    given = schema.get("enum") or schema.get("examples") or ([schema["const"]] if "const" in schema else [])
    if given:
        return given[0]
    several = schema.get("anyOf") or schema.get("oneOf")
    if several:
        return _example_value(several[0])
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "array":
        return _example_items(schema)
    if kind == "object":
        properties = schema.get("properties", {})
        return {name: _example_value(properties.get(name, {})) for name in schema.get("required", ())}
    text = _EXAMPLE_TEXTS.get(schema.get("format", ""), "text")
    number = schema.get("minimum", schema.get("maximum", 1))
    return {"boolean": True, "null": None, "integer": number, "number": number}.get(str(kind), text)


def _example_items(schema: Schema) -> list[Any]:
    item = schema.get("items")
    least = min(max(schema.get("minItems", 0), 1), _MOST_NAMES)
    return [_example_value(part) for part in schema.get("prefixItems", ())] or [
        _example_value(item if isinstance(item, dict) else {})
    ] * least


def _object_words(schema: Schema) -> str:
    inner = schema if "properties" in schema else next(iter(schema.get("anyOf", ())), {})
    properties, required = inner.get("properties", {}), inner.get("required", ())
    words = [name if name in required else f"{name} (optional)" for name in properties]
    if not words:
        return "an object"
    more = f" and {len(words) - _MOST_NAMES} more" if len(words) > _MOST_NAMES else ""
    return f"an object with {', '.join(words[:_MOST_NAMES])}{more}"
