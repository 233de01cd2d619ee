"""What `Annotated[...]` says beside the type: a description, and limits that a call enforces.

Understood without importing any of them: msgspec.Meta, annotated_types (Ge, Le,
Len, MultipleOf, Predicate, ...), pydantic's Field and its own limits. They are known by
their attributes, which all of them have in common.
"""

from __future__ import annotations

import datetime as dt
import decimal
import re
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from openxr_agentic.parameters import ParameterType
from openxr_agentic.schema.shape import Shape, chained, optional

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from openxr_agentic.schema.shape import Convert, Scope

_NUMERIC = ("gt", "ge", "lt", "le", "multiple_of")
_LENGTHS = ("min_length", "max_length")
_NAMES = (*_NUMERIC, *_LENGTHS, "pattern", "tz")

_KEYWORDS = {
    "gt": "exclusiveMinimum",
    "ge": "minimum",
    "lt": "exclusiveMaximum",
    "le": "maximum",
    "multiple_of": "multipleOf",
}
_LENGTH_KEYWORDS = {
    ParameterType.STRING: ("minLength", "maxLength", "characters"),
    ParameterType.ARRAY: ("minItems", "maxItems", "items"),
    ParameterType.OBJECT: ("minProperties", "maxProperties", "entries"),
}
_NATIVE = (str, int, float, bytes, bytearray, dt.datetime, dt.time)
_ORDERED = (dt.datetime, dt.date, dt.time, dt.timedelta, decimal.Decimal)


class Metadata:
    """What the metadata of one `Annotated` says, gathered.

    Attributes:
        description: The last text, or `description` of a Field or Meta; "" if there is none.
        limits: Limits by their names in msgspec.Meta.
        checks: Predicates that a value must pass.
        default: What pydantic's Field gives as default; `msgspec.NODEFAULT` if nothing.
        default_factory: The same, as a function; None if there is none.
        foreign: The metadata holds something that pydantic alone can apply, as a validator.
    """

    __slots__ = ("checks", "default", "default_factory", "description", "foreign", "limits")

    def __init__(self, metadata: Iterable[Any]) -> None:
        self.description = ""
        self.limits: dict[str, Any] = {}
        self.checks: list[Callable[[Any], Any]] = []
        self.default: Any = msgspec.NODEFAULT
        self.default_factory: Callable[[], Any] | None = None
        self.foreign = False
        for item in metadata:
            self._add(item)

    def _add(self, item: Any) -> None:
        if isinstance(item, str):
            self.description = item
            return
        if isinstance(item, type):
            return  # a marker class
        description = getattr(item, "description", None) or getattr(item, "documentation", None)
        if isinstance(description, str):
            self.description = description
        found = {name: value for name in _NAMES if (value := getattr(item, name, None)) is not None}
        self.limits.update(found)
        if is_field_info(item):
            self._add_field(item)
        elif type(item).__name__ == "Predicate" and callable(getattr(item, "func", None)):
            self.checks.append(item.func)
        elif not found and type(item).__module__.startswith("pydantic"):
            self.foreign = True

    def _add_field(self, field: Any) -> None:
        for item in field.metadata:
            self._add(item)
        if type(field.default).__name__ not in ("PydanticUndefinedType", "ellipsis"):
            self.default = field.default
        self.default_factory = field.default_factory


def is_field_info(value: object) -> bool:
    """Tell whether a value is what pydantic's `Field(...)` returns."""
    return type(value).__name__ == "FieldInfo" and type(value).__module__.startswith("pydantic")


def limited(shape: Shape, found: Metadata, scope: Scope) -> Shape:
    """Return a shape with limits: in its schema, its words and its decoding.

    Raises:
        DefinitionError: A limit does not apply to the type.
    """
    if not found.limits and not found.checks:
        return shape
    if shape.inner is not None:
        return optional(limited(shape.inner, found, scope))
    limits = found.limits
    _refuse_misplaced(shape, limits, scope)
    result = _in_words(shape._replace(schema={**shape.schema, **_in_schema(shape, limits)}), limits)
    decode = _native_decode(shape, limits) if limits else shape.decode
    if decode is not None:
        result = result._replace(decode=decode)
    elif limits:
        result = result._replace(convert=chained(shape.convert, _check(limits)))
    for predicate in found.checks:
        result = result._replace(convert=chained(result.convert, _check_predicate(predicate)))
    return result


def _refuse_misplaced(shape: Shape, limits: dict[str, Any], scope: Scope) -> None:
    for name, limit in limits.items():
        if name in _LENGTHS:
            fits = shape.kind in _LENGTH_KEYWORDS
        elif name in _NUMERIC:
            fits = shape.kind is ParameterType.NUMBER or shape.decode in _ORDERED
        else:
            fits = shape.kind is ParameterType.STRING
        if not fits:
            raise scope.error(
                f"the limit {name}={limit!r} does not apply to {shape.one}. Remove it, or put it on the part "
                "of the type that it is meant for, as in list[Annotated[int, Ge(0)]]."
            )
    if "pattern" in limits:
        try:
            re.compile(limits["pattern"])
        except re.error as error:
            raise scope.error(f"the pattern {limits['pattern']!r} is not a regular expression: {error}.") from None


def _in_schema(shape: Shape, limits: dict[str, Any]) -> dict[str, Any]:
    added: dict[str, Any] = {}
    if shape.kind is ParameterType.NUMBER:
        for name, keyword in _KEYWORDS.items():
            if name in limits:
                value = limits[name]
                added[keyword] = value if isinstance(value, (int, float)) else float(value)
    elif shape.kind in _LENGTH_KEYWORDS:
        least, most, _ = _LENGTH_KEYWORDS[shape.kind]
        added.update({key: limits[name] for name, key in zip(_LENGTHS, (least, most), strict=True) if name in limits})
    if "pattern" in limits:
        added["pattern"] = _pattern(limits)
    return added


def _in_words(shape: Shape, limits: dict[str, Any]) -> Shape:
    least, most = limits.get("min_length"), limits.get("max_length")
    words = [_range(limits)] if any(name in limits for name in _NUMERIC) else []
    length = _length(least, most)
    if length and shape.kind is ParameterType.ARRAY:
        noun = f"{length} {shape.content}"
        shape = shape._replace(content=noun, one=f"array of {noun}", many=f"arrays of {noun}", says_more=True)
    elif length and shape.kind is not None:
        words.append(f"{length} {_LENGTH_KEYWORDS[shape.kind][2]}")
    if "pattern" in limits:
        words.append(f"matches {_pattern(limits)}")
    if "tz" in limits:
        words.append("with a time zone" if limits["tz"] else "without a time zone")
    return shape._replace(limits=", ".join(filter(None, (shape.limits, *words))))


def _range(limits: dict[str, Any]) -> str:
    if "ge" in limits and "le" in limits:
        words = [f"{limits['ge']} to {limits['le']}"]
    else:
        named = (("gt", "more than"), ("ge", "at least"), ("lt", "less than"), ("le", "at most"))
        words = [f"{text} {limits[name]}" for name, text in named if name in limits]
    if "multiple_of" in limits:
        words.append(f"a multiple of {limits['multiple_of']}")
    return ", ".join(words)


def _length(least: int | None, most: int | None) -> str:
    if least == most and least is not None:
        return str(least)
    if most is None:
        return f"at least {least}" if least else ""
    return f"{least} to {most}" if least else f"at most {most}"


def _pattern(limits: dict[str, Any]) -> str:
    pattern = limits["pattern"]
    return pattern.pattern if isinstance(pattern, re.Pattern) else str(pattern)


def _native_decode(shape: Shape, limits: dict[str, Any]) -> Any | None:
    """Return the type with its limits for msgspec to enforce, which costs a call nothing; None if it cannot."""
    if shape.convert is not None:
        return None
    containers = shape.kind in (ParameterType.ARRAY, ParameterType.OBJECT)
    if shape.decode not in _NATIVE and not containers:
        return None
    if shape.decode is int and not all(_is_int64(limits[name]) for name in _NUMERIC if name in limits):
        return None
    if "pattern" in limits:
        limits = {**limits, "pattern": _pattern(limits)}
    decode: Any = Annotated[shape.decode, msgspec.Meta(**limits)]
    try:
        msgspec.json.Decoder(decode)
    except (TypeError, ValueError):
        return None
    return decode


def _is_int64(value: Any) -> bool:
    return isinstance(value, int) and -(2**63) <= value < 2**63


def _check(limits: dict[str, Any]) -> Convert:
    pattern = re.compile(_pattern(limits)) if "pattern" in limits else None
    words = _range(limits)
    least, most = limits.get("min_length", 0), limits.get("max_length")
    length = _length(least, most)

    def check(value: Any) -> Any:
        if not _in_range(value, limits):
            raise ValueError(f"must be {words}, not {value}")
        if length and not (least <= len(value) and (most is None or len(value) <= most)):
            raise ValueError(f"must have a length of {length}, not {len(value)}")
        if pattern is not None and not pattern.search(str(value)):
            raise ValueError(f"must match {pattern.pattern}")
        return value

    return check


def _in_range(value: Any, limits: dict[str, Any]) -> bool:
    return (
        ("gt" not in limits or value > limits["gt"])
        and ("ge" not in limits or value >= limits["ge"])
        and ("lt" not in limits or value < limits["lt"])
        and ("le" not in limits or value <= limits["le"])
        and ("multiple_of" not in limits or value % limits["multiple_of"] == 0)
    )


def _check_predicate(predicate: Callable[[Any], Any]) -> Convert:
    name = getattr(predicate, "__name__", "")

    def check(value: Any) -> Any:
        if not predicate(value):
            raise ValueError(f"did not pass {name}" if name and name != "<lambda>" else "did not pass the tool's check")
        return value

    return check
