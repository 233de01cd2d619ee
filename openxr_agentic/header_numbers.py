"""The extension's numbers that are in force, and where each came from.

Meta has not published the structure types, enum values and flag bit of the
extension. The compiler takes them from the header that was first on its include
path; when that was this project's own, they are assumed. Either kind can be
corrected without a compiler: by `override_numbers`, or by the environment
variable OPENXR_AGENTIC_NUMBERS (a JSON object, or the path of a file with one).
"""

from __future__ import annotations

import codecs
import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from openxr_agentic.errors import ConfigurationError
from openxr_agentic.plain_files import read_start

NUMBERS_VARIABLE = "OPENXR_AGENTIC_NUMBERS"

PARAMETER_STRUCTURE = "XR_TYPE_AGENTIC_EXTERNAL_TOOL_PARAMETER_METAX1"
REGISTER_INFO_STRUCTURE = "XR_TYPE_AGENTIC_EXTERNAL_TOOL_REGISTER_INFO_METAX1"
MAIN_THREAD_BIT = "XR_AGENTIC_EXTERNAL_TOOL_CALLBACK_INFO_APPLICATION_MAIN_THREAD_BIT_METAX1"
_MOST_BYTES = 2**20
_LONGEST_SHOWN = 200
_TYPE_PREFIX = "XR_AGENTIC_EXTERNAL_TOOL_PARAMETER_TYPE_"


def parameter_type_number(type_name: str) -> str:
    """Return the header's name of a parameter type: "STRING", "NUMBER", ... ."""
    return f"{_TYPE_PREFIX}{type_name}_METAX1"


_CONSTANTS = {
    PARAMETER_STRUCTURE: "OXA_TYPE_TOOL_PARAMETER",
    REGISTER_INFO_STRUCTURE: "OXA_TYPE_TOOL_REGISTER_INFO",
    parameter_type_number("STRING"): "OXA_PARAMETER_TYPE_STRING",
    parameter_type_number("NUMBER"): "OXA_PARAMETER_TYPE_NUMBER",
    parameter_type_number("BOOLEAN"): "OXA_PARAMETER_TYPE_BOOLEAN",
    parameter_type_number("ARRAY"): "OXA_PARAMETER_TYPE_ARRAY",
    parameter_type_number("OBJECT"): "OXA_PARAMETER_TYPE_OBJECT",
    MAIN_THREAD_BIT: "OXA_MAIN_THREAD_BIT",
}
NAMES = tuple(_CONSTANTS)
FAMILIES = ("XR_TYPE_", _TYPE_PREFIX)
"""How the names begin whose numbers were given together, and differ: the structure types, and the parameter types."""

_overrides: dict[str, int] = {}


class Number(NamedTuple):
    """A number of the extension.

    Attributes:
        value: The number.
        origin: ``"header"`` (the official header, at build time), ``"assumed"`` (this
            project's own header), ``"override"`` (`override_numbers`) or
            ``"environment"`` (OPENXR_AGENTIC_NUMBERS).
    """

    value: int
    origin: str


def decode(data: bytes, errors: str = "strict") -> str:
    """Return a file's text: UTF-8, or what its byte order mark says, as PowerShell and editors on Windows write it.

    Args:
        data: The file's content.
        errors: As `bytes.decode` takes it.

    Raises:
        UnicodeDecodeError: It is not in that encoding, and `errors` is ``"strict"``.
    """
    marked = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return data.decode("utf-16" if marked else "utf-8-sig", errors)


def numbers_built_with() -> dict[str, Number]:
    """Return the numbers of the header at build time, which this package's own hosts expect.

    Raises:
        NativeBuildMissingError: The native binding is not built.
    """
    from openxr_agentic._native import lib

    origin = "assumed" if lib.OXA_HEADER_IS_OURS else "header"
    return {name: Number(getattr(lib, constant), origin) for name, constant in _CONSTANTS.items()}


def numbers_in_force() -> dict[str, Number]:
    """Return every number that registrations use, by its name in the header.

    Raises:
        ConfigurationError: OPENXR_AGENTIC_NUMBERS cannot be read or used.
        NativeBuildMissingError: The native binding is not built.
    """
    return _in_force(_overrides)


def _in_force(overrides: Mapping[str, int]) -> dict[str, Number]:
    numbers = numbers_built_with()
    for name, value in _from_environment().items():
        numbers[name] = Number(value, "environment")
    for name, value in overrides.items():
        numbers[name] = Number(value, "override")
    _refuse_collisions({name: number.value for name, number in numbers.items()})
    return numbers


def override_numbers(numbers: Mapping[str, int] | None) -> None:
    """Correct numbers for every registration from now on; stronger than the environment variable.

    Args:
        numbers: By the header's names, with either suffix (``..._METAX1``,
            ``..._META``). They are added to earlier overrides. None: forget all overrides.

    Raises:
        ConfigurationError: An unknown name, a value out of range, or two names with one value.
    """
    if numbers is None:
        _overrides.clear()
        return
    if not isinstance(numbers, Mapping):
        raise ConfigurationError(f"override_numbers takes a mapping of names and numbers, not {numbers!r}.")
    checked = _checked(numbers, "override_numbers")
    _in_force({**_overrides, **checked})  # raises where two names would have one value
    _overrides.update(checked)


def _from_environment() -> dict[str, int]:
    given = os.environ.get(NUMBERS_VARIABLE, "").strip()
    if not given:
        return {}
    where = NUMBERS_VARIABLE
    if not given.startswith("{"):
        where = f"{NUMBERS_VARIABLE} (the file {_shown(given)})"
        try:
            given = decode(_content(Path(os.path.expanduser(given))))
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise ConfigurationError(
                f"{NUMBERS_VARIABLE} must be a JSON object, or the path of a file with one; as a file, "
                f"{_shown(given)} cannot be read: {reason}."
            ) from error
    try:
        numbers = json.loads(given)
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{where} is not JSON: {error}.") from error
    if not isinstance(numbers, dict):
        raise ConfigurationError(f"{where} must be a JSON object of names and numbers.")
    return _checked(numbers, where)


def _content(file: Path) -> bytes:
    data = read_start(file, _MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise ValueError(f"it has more than {_MOST_BYTES >> 10} KiB")
    return data


def range_fault(name: str, value: object) -> str | None:
    """Return why a value cannot be that number, to stand behind its name; None: it can be.

    Args:
        name: One of `NAMES`.
        value: What it is said to be.
    """
    lowest, highest = (1, 2**64 - 1) if name == MAIN_THREAD_BIT else (0, 2**31 - 1)
    if isinstance(value, int) and not isinstance(value, bool) and lowest <= value <= highest:
        return None
    return f"must be a whole number from {lowest} to {highest}"


def collisions(numbers: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Yield pairs of names that must differ and do not, the later one first."""
    for family in FAMILIES:
        seen: dict[int, str] = {}
        for name, value in numbers.items():
            if name.startswith(family) and (other := seen.setdefault(value, name)) != name:
                yield name, other


def _checked(numbers: Mapping[str, int], where: str) -> dict[str, int]:
    checked: dict[str, int] = {}
    for given, value in numbers.items():
        name = re.sub(r"_META$", "_METAX1", str(given))
        if name not in _CONSTANTS:
            raise ConfigurationError(f"{where}: unknown number {_shown(given)}; known are: {', '.join(NAMES)}.")
        if (fault := range_fault(name, value)) is not None:
            raise ConfigurationError(f"{where}: {given} {fault}, not {_shown(value)}.")
        if checked.setdefault(name, value) != value:
            raise ConfigurationError(
                f"{where}: {name} and {name.removesuffix('X1')} are one number, and cannot be both {checked[name]} "
                f"and {value}. Leave one of them out."
            )
    return checked


def _shown(value: object) -> str:
    """Return what somebody else wrote as it stands in a message: a file may hold a megabyte of it."""
    text = repr(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


def _refuse_collisions(numbers: Mapping[str, int]) -> None:
    for name, other in collisions(numbers):
        raise ConfigurationError(f"{name} and {other} cannot both be {numbers[name]}.")
