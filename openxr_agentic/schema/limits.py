"""What `Annotated[...]` says beside the type: a description, and limits that a call enforces.

Understood without importing any of them: msgspec.Meta, annotated_types (Ge, Le,
Len, MultipleOf, Predicate, ...), pydantic's Field and its own limits. They are known by
their attributes, which all of them have in common.
"""

from __future__ import annotations

import datetime as dt
import decimal
import math
import re
import typing
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
_MOMENTS = (dt.datetime, dt.date, dt.time, dt.timedelta)
_BYTES = (bytes, bytearray)
_SIZELESS = ("date-time", "date", "time", "duration", "uuid", "decimal")
_LOWER, _UPPER = ("gt", "ge", "min_length"), ("lt", "le", "max_length")


class Metadata:
    """What the metadata of one `Annotated` says, gathered.

    Attributes:
        description: The last text, or `description` of a Field or Meta; "" if there is none.
        limits: Limits by their names in msgspec.Meta; of several of one name the last.
        every_limit: All of them, with their names.
        checks: Predicates that a value must pass.
        default: What pydantic's Field gives as default; `msgspec.NODEFAULT` if nothing.
        default_factory: The same, as a function; None if there is none.
        foreign: The metadata holds something that pydantic alone can apply, as a validator.
    """

    __slots__ = ("checks", "default", "default_factory", "description", "every_limit", "foreign", "limits")

    def __init__(self, metadata: Iterable[Any]) -> None:
        self.description = ""
        self.limits: dict[str, Any] = {}
        self.every_limit: list[tuple[str, Any]] = []
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
        self.every_limit += found.items()
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
        DefinitionError: A limit does not apply to the type, or they leave no value.
    """
    if not found.limits and not found.checks:
        return shape
    if shape.inner is not None:
        return optional(limited(shape.inner, found, scope))
    limits, beside = _strictest(
        [(name, _checked(name, limit, shape, scope)) for name, limit in found.every_limit], scope
    )
    _refuse_empty(limits, shape, scope)
    result = _with_limits(shape, limits) if limits else shape
    for others in beside:
        result = _in_words(result, others)._replace(convert=chained(result.convert, _check(others)))
    for predicate in found.checks:
        result = result._replace(convert=chained(result.convert, _check_predicate(predicate)))
    return result


def _with_limits(shape: Shape, limits: dict[str, Any]) -> Shape:
    result = _in_words(shape._replace(schema={**shape.schema, **_in_schema(shape, limits)}), limits)
    decode = _native_decode(shape, limits)
    if decode is not None:
        return result._replace(decode=decode)
    return result._replace(convert=chained(shape.convert, _check(limits)))


def _checked(name: str, limit: Any, shape: Shape, scope: Scope) -> Any:
    """Return a limit in the type of the values that it is for; refuse one that can be none."""
    if not _applies(name, shape):
        raise scope.error(
            f"the limit {name}={limit!r} does not apply to {shape.one}. Remove it, or put it on the part "
            "of the type that it is meant for, as in list[Annotated[int, Ge(0)]]."
        )
    if name in _LENGTHS:
        if not isinstance(limit, int) or isinstance(limit, bool) or limit < 0:
            raise scope.error(f"the limit {name}={limit!r} is no length. Use a whole number, 0 or more.")
    elif name in _NUMERIC:
        in_time = _base(shape) in _MOMENTS
        limit = _moment(name, limit, shape, scope) if in_time else _number(name, limit, shape, scope)
        if name == "multiple_of" and not limit > limit * 0:
            raise scope.error(f"multiple_of={limit!r} must be more than 0.")
    elif name == "pattern":
        try:
            re.compile(limit)
        except (re.error, TypeError) as error:
            raise scope.error(f"the pattern {limit!r} is not a regular expression: {error}.") from None
    return limit


def _applies(name: str, shape: Shape) -> bool:
    base = _base(shape)
    if name in _LENGTHS:
        return shape.kind in _LENGTH_KEYWORDS and shape.schema.get("format") not in _SIZELESS
    if name in _NUMERIC:
        in_time = base in (_MOMENTS if name != "multiple_of" else (dt.timedelta,))
        return in_time or shape.kind is ParameterType.NUMBER or _is_decimal(shape)
    if name == "tz":
        return base in (dt.datetime, dt.time)
    return shape.kind is ParameterType.STRING and base not in _BYTES


def _moment(name: str, limit: Any, shape: Shape, scope: Scope) -> Any:
    base = _base(shape)
    if not isinstance(limit, base) or (base is dt.date and isinstance(limit, dt.datetime)):
        raise scope.error(f"the limit {name}={limit!r} is no {base.__name__}, as the values are. Use one.")
    return limit


def _base(shape: Shape) -> Any:
    """Return what is decoded, without limits that it has already."""
    return shape.decode.__origin__ if typing.get_origin(shape.decode) is Annotated else shape.decode


def _is_decimal(shape: Shape) -> bool:
    return shape.schema.get("format") == "decimal"


def _number(name: str, limit: Any, shape: Shape, scope: Scope) -> Any:
    try:
        size = math.nan if isinstance(limit, (bool, str)) else float(limit)
    except OverflowError:  # a whole number, which is compared exactly
        return limit
    except (TypeError, ValueError):
        size = math.nan
    if math.isnan(size):
        raise scope.error(f"the limit {name}={limit!r} is no number, as the values are. Use one.")
    if name == "multiple_of" and math.isinf(size):
        raise scope.error(f"multiple_of={limit!r} must be finite.")
    if _is_decimal(shape):
        return decimal.Decimal(repr(limit)) if isinstance(limit, float) else limit
    return limit if isinstance(limit, (int, float)) else size


def _strictest(given: list[tuple[str, Any]], scope: Scope) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return one limit of each kind, and those that have to be checked beside it."""
    limits: dict[str, Any] = {}
    beside: list[dict[str, Any]] = []
    for name, limit in given:
        if name not in limits:
            limits[name] = limit
        elif name in _LOWER or name in _UPPER:
            compared = (limits[name], limit)
            limits[name] = _compared(max if name in _LOWER else min, compared, scope)
        elif limits[name] != limit:
            if name == "tz":
                raise scope.error("its values cannot be with a time zone and without one.")
            beside.append({name: limit})
    _drop_infinite(limits, scope)
    for exclusive, inclusive, strictest in (("gt", "ge", max), ("lt", "le", min)):
        if exclusive in limits and inclusive in limits:
            kept = _compared(strictest, (limits[exclusive], limits[inclusive]), scope)
            del limits[inclusive if kept == limits[exclusive] else exclusive]
    _settle_time_zone(limits, scope)
    return limits, beside


def _drop_infinite(limits: dict[str, Any], scope: Scope) -> None:
    for name in ("gt", "ge", "lt", "le"):
        limit = limits.get(name)
        if isinstance(limit, (float, decimal.Decimal)) and math.isinf(limit):
            if (limit > 0) is (name in _LOWER):
                raise scope.error(f"the limit {name}={limit} leaves no value. Correct it.")
            del limits[name]


def _settle_time_zone(limits: dict[str, Any], scope: Scope) -> None:
    """Let values have a time zone if the limits have one: else they could not be compared."""
    zones = {limit.tzinfo is not None for limit in limits.values() if isinstance(limit, (dt.datetime, dt.time))}
    if not zones:
        return
    if len(zones | {limits.get("tz", next(iter(zones)))}) > 1:
        raise scope.error("of its limits, some are with a time zone, and some without one. Use one or the other.")
    limits["tz"] = zones.pop()


def _compared(strictest: Callable[[Any], Any], pair: tuple[Any, Any], scope: Scope) -> Any:
    try:
        return strictest(pair)
    except TypeError as error:
        raise scope.error(f"its limits {pair[0]!r} and {pair[1]!r} cannot be compared: {error}.") from None


def _refuse_empty(limits: dict[str, Any], shape: Shape, scope: Scope) -> None:
    for low, high in (("gt", "lt"), ("gt", "le"), ("ge", "lt"), ("ge", "le"), ("min_length", "max_length")):
        if low in limits and high in limits:
            least = _compared(max, (limits[low], limits[high]), scope)
            closed = (low, high) in (("ge", "le"), ("min_length", "max_length"))
            if least != limits[high] or (not closed and limits[low] == limits[high]):
                raise scope.error(
                    f"the limits {low}={limits[low]!r} and {high}={limits[high]!r} leave no {shape.one}. Correct them."
                )


def _in_schema(shape: Shape, limits: dict[str, Any]) -> dict[str, Any]:
    added: dict[str, Any] = {}
    if shape.kind is ParameterType.NUMBER:
        for name, keyword in _KEYWORDS.items():
            if name in limits:
                added[keyword] = limits[name]
    elif _base(shape) in _BYTES:
        pass  # JSON's lengths are those of the base64 text
    elif shape.kind in _LENGTH_KEYWORDS:
        least, most, _ = _LENGTH_KEYWORDS[shape.kind]
        added.update({key: limits[name] for name, key in zip(_LENGTHS, (least, most), strict=True) if name in limits})
    for key, value in added.items():  # an alias may have limits of its own, inside
        if key in shape.schema and key != "multipleOf":
            added[key] = (min if "ax" in key else max)(value, shape.schema[key])
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
        words.append(f"{length} {'bytes' if _base(shape) in _BYTES else _LENGTH_KEYWORDS[shape.kind][2]}")
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
        if re.compile(limits["pattern"]).flags != re.compile("").flags:
            return None
        limits = {**limits, "pattern": _pattern(limits)}
    try:
        decode: Any = Annotated[shape.decode, msgspec.Meta(**limits)]
        msgspec.json.Decoder(decode)
    except (TypeError, ValueError, OverflowError):
        return None
    return decode


def _is_int64(value: Any) -> bool:
    return isinstance(value, int) and -(2**63) <= value < 2**63


def _check(limits: dict[str, Any]) -> Convert:
    pattern = re.compile(limits["pattern"]) if "pattern" in limits else None
    words = _range(limits)
    least, most = limits.get("min_length", 0), limits.get("max_length")
    length = _length(least, most)

    def check(value: Any) -> Any:
        if "tz" in limits and (value.tzinfo is not None) is not limits["tz"]:
            raise ValueError(f"must be {'with' if limits['tz'] else 'without'} a time zone")
        if not _in_range(value, limits):
            raise ValueError(f"must be {words}, not {value}")
        size = 0 if not length else len(value) if hasattr(value, "__len__") else len(str(value))
        if length and not (least <= size and (most is None or size <= most)):
            raise ValueError(f"must have a length of {length}, not {size}")
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
        and ("multiple_of" not in limits or not value % limits["multiple_of"])
    )


def _check_predicate(predicate: Callable[[Any], Any]) -> Convert:
    name = getattr(predicate, "__name__", "")

    def check(value: Any) -> Any:
        if not predicate(value):
            raise ValueError(f"did not pass {name}" if name and name != "<lambda>" else "did not pass the tool's check")
        return value

    return check
