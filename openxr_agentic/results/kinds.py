"""Which kinds of objects a result may hold, and what each of them stands for in JSON.

Libraries that the app may not have (pydantic, numpy) are never imported: whoever has an
object of theirs has imported them.
"""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import os
import pathlib
import sys
import uuid
from collections.abc import AsyncIterator, Awaitable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from openxr_agentic.results.media import Media

if TYPE_CHECKING:
    from collections.abc import Callable


class Replacement:
    """What an object stands for; a class of its own, since None may be what it stands for."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def replacement(value: Any) -> Replacement | None:
    """Return something simpler that says the same, or None if there is nothing simpler."""
    for kind, simpler in _SIMPLER.items():
        if isinstance(value, kind):
            return Replacement(simpler(value))
    for (module, name), simpler in _SIMPLER_OF_LIBRARIES.items():
        if _is_of(value, module, name):
            return Replacement(simpler(value))
    return None


def fields_of(value: Any) -> Iterable[tuple[str, Any]] | None:
    """Return name and value of each field, or None if the object is none that has fields."""
    if isinstance(value, type):
        return None
    if isinstance(value, msgspec.Struct):
        return _struct_fields(value)
    if hasattr(value, "__dataclass_fields__"):
        import dataclasses

        # A field that was never set has no attribute.
        names = [field.name for field in dataclasses.fields(value) if hasattr(value, field.name)]
        return [(name, getattr(value, name)) for name in names]
    if hasattr(value, "__attrs_attrs__"):
        return [(field.name, getattr(value, field.name)) for field in value.__attrs_attrs__]
    if _is_of(value, "ctypes", "Structure"):
        bases = reversed(type(value).__mro__)
        names = [field[0] for base in bases for field in vars(base).get("_fields_", ())]
        return [(name, getattr(value, name)) for name in names]
    return None


_ADVICE: dict[type, str] = {
    Awaitable: ", which was not awaited: await it in an `async def` tool",
    Iterator: ", which might never end: return a list of it",
    AsyncIterator: ", which might never end: return a list of it",
    BaseException: ": raise it instead of returning it",
    complex: ": return [z.real, z.imag]",
    Media: ", which agents can only be sent by itself: return it alone, or its data_url() as a text",
}


def advice(value: Any) -> str:
    """Say why an object cannot be a result, and what could be instead."""
    kind = f"is of type {type(value).__name__}"
    if isinstance(value, type):
        return f"is the class {value.__name__} itself: return an object of it"
    for refused, what in _ADVICE.items():
        if isinstance(value, refused):
            return f"{kind}{what}"
    return f"{kind}, which has no JSON form: return a dict, a list, a text, a number or a dataclass"


def _is_of(value: Any, module: str, name: str) -> bool:
    loaded = sys.modules.get(module)
    kind = getattr(loaded, name, None)
    return isinstance(kind, type) and isinstance(value, kind)


def _iso_text(value: dt.date | dt.time | dt.timedelta) -> Any:
    if isinstance(value, dt.timedelta):
        return msgspec.to_builtins(dt.timedelta(value.days, value.seconds, value.microseconds))
    try:
        return msgspec.to_builtins(value)
    except TypeError:  # a subclass, which msgspec does not know
        return value.isoformat()


def _finite_text(value: decimal.Decimal) -> str:
    if not value.is_finite():
        raise ValueError(f"{value} is no finite number")
    return str(value)


def _base64(value: bytes | bytearray | memoryview) -> Any:
    return msgspec.to_builtins(bytes(value))


def _struct_fields(value: msgspec.Struct) -> Iterable[tuple[str, Any]]:
    config = value.__struct_config__
    if config.tag is not None:
        yield config.tag_field or "type", config.tag
    for field in msgspec.structs.fields(value):
        item = getattr(value, field.name)
        if item is msgspec.UNSET or (config.omit_defaults and _is_default(item, field)):
            continue
        yield field.encode_name, item


def _is_default(item: Any, field: msgspec.structs.FieldInfo) -> bool:
    """Tell what msgspec leaves out: it compares by identity, and takes an empty container for a new one."""
    if field.default_factory is not msgspec.NODEFAULT:
        return type(item) is field.default_factory and not item
    return item is field.default


def _array_items(array: Any) -> Any:
    if array.dtype.kind in "mM":
        return _times_in(array)
    return array.tolist()


def _times_in(array: Any) -> Any:
    return _scalar_item(array[()]) if array.ndim == 0 else [_times_in(part) for part in array]


def _scalar_item(scalar: Any) -> Any:
    if scalar.dtype.kind == "M":
        text = str(scalar)  # item() gives a number of nanoseconds for some units
        if text == "NaT":
            raise ValueError("NaT is no time")
        return text
    item = scalar.item()
    if type(item) is type(scalar):  # longdouble, which Python has no number for
        return float(item) if scalar.dtype.kind == "f" else complex(item)
    if scalar.dtype.kind == "m" and not isinstance(item, dt.timedelta):
        raise ValueError("a timedelta64 of this unit has no fixed length in microseconds")
    return item


# Enum first: its members may be of any other kind too.
_SIMPLER: dict[type, Callable[[Any], Any]] = {
    enum.Enum: lambda member: member.value,
    pathlib.PurePath: os.fspath,
    dt.date: _iso_text,
    dt.time: _iso_text,
    dt.timedelta: _iso_text,
    uuid.UUID: str,
    decimal.Decimal: _finite_text,
    bytes: _base64,
    bytearray: _base64,
    memoryview: _base64,
    msgspec.Raw: msgspec.json.decode,
}
_SIMPLER_OF_LIBRARIES: dict[tuple[str, str], Callable[[Any], Any]] = {
    ("pydantic", "BaseModel"): lambda model: model.model_dump(mode="json", by_alias=True),
    ("numpy", "ndarray"): _array_items,
    ("numpy", "generic"): _scalar_item,
    ("ctypes", "Array"): list,
}
