"""Finds the extension's numbers by asking a host that refuses ours.

A host that checks structure types refuses a wrong one with XR_ERROR_VALIDATION_FAILURE,
and accepts a tool with the right one. So:

1. *Control.* An absurd structure type must be refused: a host that accepts it does not
   check, and nothing can be learned of it.
2. The register info's type: numbers in the form of Meta's headers, 1000NNN00K, until a
   tool without parameters is accepted.
3. The parameter's type: other numbers of the same extension, together with a parameter
   type, since a strict host checks both. After a control of its own.
4. The parameter types: all that are accepted; which is which is read where an agent reads
   it, in the schemas of tools/list.
5. The main-thread bit: all bits that are accepted; the right one is that with which the
   call comes on the thread that made the instance.

What is registered cannot be taken back, so the host is asked in a process that ends
afterwards (`trial`). Nothing here knows how; a test plays the host.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from openxr_agentic.errors import XR_ERROR_VALIDATION_FAILURE, XR_SUCCESS, AgenticError, result_name
from openxr_agentic.header_numbers import (
    MAIN_THREAD_BIT,
    NAMES,
    PARAMETER_STRUCTURE,
    REGISTER_INFO_STRUCTURE,
    parameter_type_number,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

ABSURD = 1_999_999_999
"""A number that no extension has: theirs end below 1,001,000,000."""

EXTENSIONS = range(1000)
PER_EXTENSION = 32
TYPES = range(256)
TYPES_TRIED_BLINDLY = range(64)
BITS = range(64)
KINDS = ("STRING", "NUMBER", "BOOLEAN", "ARRAY", "OBJECT")
"""In the documented order."""

_FIRST_OF_ALL = 1_000_000_000
_STRIDE = 1000
_BATCH = 4000
_PLAIN_TOOL = "openxr_agentic_doctor_plain"


class Attempt(NamedTuple):
    """One registration to be tried.

    Attributes:
        tool: The tool's name.
        info_type: Structure type of the register info.
        flags: Its callback flags.
        parameter: Structure type, parameter type and item type of its one parameter; None: it has none.
    """

    tool: str
    info_type: int
    flags: int = 0
    parameter: tuple[int, int, int] | None = None


class Host(Protocol):
    """A host that tools are registered with, and what an agent sees of them."""

    async def attempt(self, attempts: Sequence[Attempt], *, until_accepted: bool = False) -> list[int]:
        """Register in order and return the XrResults; with `until_accepted`, none after the first that succeeded."""

    async def shown_types(self, tools: Sequence[str]) -> dict[str, str] | None:
        """Return these tools' parameter types as an agent sees them, as "string"; None: nothing can be seen."""

    async def runs_on_main_thread(self, tool: str) -> bool | None:
        """Call a tool and tell whether it ran on the thread that made the instance; None: it was not answered."""


class DiscoveryError(AgenticError):
    """Nothing can be found out of this host, and why."""


class Discovery(NamedTuple):
    """What was found.

    Attributes:
        numbers: By the names of `header_numbers.NAMES`, in their order.
        how: For each of them, by what it is known.
        open: For each name that was not found, why.
    """

    numbers: dict[str, int]
    how: dict[str, str]
    open: dict[str, str]


async def discover(host: Host, in_force: Mapping[str, int]) -> Discovery:
    """Find the numbers that a host expects.

    Args:
        host: The host.
        in_force: The numbers of this process; they are tried first.

    Raises:
        DiscoveryError: The host does not check, or accepts none of the candidates.
    """
    found = _Found()
    info_type = await _find_register_info(host, in_force, found)
    structure = await _find_parameter(host, in_force, info_type, found)
    if structure is None:
        for kind in KINDS:
            found.leave_open(parameter_type_number(kind), "it can be tried only with the parameter's structure type.")
    else:
        await _find_types(host, info_type, structure, found)
    await _find_bit(host, info_type, found)
    return found.all()


class _Found:
    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._how: dict[str, str] = {}
        self._open: dict[str, str] = {}

    def add(self, name: str, value: int, how: str) -> None:
        self._numbers[name], self._how[name] = value, how

    def leave_open(self, name: str, why: str) -> None:
        self._open[name] = why

    def all(self) -> Discovery:
        ordered = {name: self._numbers[name] for name in NAMES if name in self._numbers}
        return Discovery(ordered, self._how, self._open)


async def _first_accepted(host: Host, attempts: Sequence[Attempt]) -> Attempt | None:
    """Return the first attempt that the host accepts."""
    for start in range(0, len(attempts), _BATCH):
        batch = attempts[start : start + _BATCH]
        results = await host.attempt(batch, until_accepted=True)
        for attempt, result in zip(batch, results, strict=False):
            if result >= XR_SUCCESS:
                return attempt
            if result != XR_ERROR_VALIDATION_FAILURE:
                raise DiscoveryError(
                    f"The host refuses tools with {result_name(result)}, and not with XR_ERROR_VALIDATION_FAILURE: "
                    "its reason is another one than wrong numbers."
                )
    return None


# ---- the structure types


async def _find_register_info(host: Host, in_force: Mapping[str, int], found: _Found) -> int:
    if await _first_accepted(host, [Attempt("openxr_agentic_doctor_control", ABSURD)]) is not None:
        raise DiscoveryError(
            f"The host accepts a tool whose structure type is {ABSURD}, which no extension has. It does not check "
            "structure types: nothing can be learned of it, and the numbers in force do no harm there."
        )
    candidates = [in_force[REGISTER_INFO_STRUCTURE], *_all_structure_types()]
    accepted = await _first_accepted(host, [Attempt(_PLAIN_TOOL, candidate) for candidate in candidates])
    if accepted is None:
        raise DiscoveryError(
            f"The host accepts none of {len(candidates)} structure types from {candidates[1]} to {candidates[-1]}: it "
            "numbers otherwise, or refuses the tool for another reason, which its own log may say."
        )
    found.add(REGISTER_INFO_STRUCTURE, accepted.info_type, "a tool was accepted with it, and refused without")
    return accepted.info_type


def _all_structure_types() -> list[int]:
    return [_FIRST_OF_ALL + extension * _STRIDE + number for extension in EXTENSIONS for number in range(PER_EXTENSION)]


async def _find_parameter(host: Host, in_force: Mapping[str, int], info_type: int, found: _Found) -> int | None:
    """Return the parameter's structure type, or one that serves where the host does not check it."""
    types = list(dict.fromkeys([in_force[parameter_type_number(kind)] for kind in KINDS] + [*TYPES_TRIED_BLINDLY]))

    def attempts(tool: str, structures: Sequence[int]) -> list[Attempt]:
        return [
            Attempt(tool, info_type, parameter=(structure, kind, kind)) for structure in structures for kind in types
        ]

    if await _first_accepted(host, attempts("openxr_agentic_doctor_control_2", [ABSURD])) is not None:
        found.leave_open(PARAMETER_STRUCTURE, "the host does not check it, so any value does.")
        return in_force[PARAMETER_STRUCTURE]
    first = info_type - info_type % _STRIDE
    near = [first + number for number in range(PER_EXTENSION) if first + number != info_type]
    candidates = list(dict.fromkeys([in_force[PARAMETER_STRUCTURE], *near]))
    accepted = await _first_accepted(host, attempts("openxr_agentic_doctor_parameter", candidates))
    if accepted is None or accepted.parameter is None:
        found.leave_open(
            PARAMETER_STRUCTURE,
            f"the host accepts none of {len(candidates)} structure types from {first} on, with any of "
            f"{len(types)} parameter types.",
        )
        return None
    structure = accepted.parameter[0]
    found.add(PARAMETER_STRUCTURE, structure, "a tool with a parameter was accepted with it, and refused without")
    return structure


# ---- the parameter types


def _type_tool(kind: int) -> str:
    return f"openxr_agentic_doctor_type_{kind}"


async def _find_types(host: Host, info_type: int, structure: int, found: _Found) -> None:
    accepted = await _accepted_types(host, info_type, structure)
    shown = await host.shown_types([_type_tool(kind) for kind in accepted])
    seen = {} if shown is None else {kind: shown[_type_tool(kind)] for kind in accepted if _type_tool(kind) in shown}
    runs = list(_runs(accepted, seen))
    for index, kind in enumerate(KINDS):
        name = parameter_type_number(kind)
        witnessed = [number for number, text in seen.items() if text == kind.lower()]
        if len(witnessed) == 1:
            found.add(name, witnessed[0], f"agents see a parameter of that type as {kind.lower()!r}")
        elif len(runs) == 1:
            how = "agents cannot be asked" if not seen else f"agents see {len(witnessed)} types as {kind.lower()!r}"
            found.add(name, runs[0] + index, f"by the documented order of the types; {how}")
        else:
            found.leave_open(name, _why_no_type(accepted, seen))


async def _accepted_types(host: Host, info_type: int, structure: int) -> list[int]:
    def attempt(kind: int, item: int) -> Attempt:
        return Attempt(_type_tool(kind), info_type, parameter=(structure, kind, item))

    async def accepted_of(pairs: list[tuple[int, int]]) -> list[int]:
        results = await host.attempt([attempt(kind, item) for kind, item in pairs])
        return [kind for (kind, _), result in zip(pairs, results, strict=True) if result >= XR_SUCCESS]

    accepted = await accepted_of([(kind, kind) for kind in TYPES])
    # A host may take an array of anything but arrays.
    others = [kind for kind in TYPES if kind not in accepted]
    accepted += await accepted_of([(kind, item) for kind in others for item in accepted[: len(KINDS)]])
    return sorted(set(accepted))


def _runs(accepted: Sequence[int], seen: Mapping[int, str]) -> Iterator[int]:
    """Yield every number from which five accepted types follow in the documented order, as far as can be seen."""
    for first in accepted:
        numbers = range(first, first + len(KINDS))
        if all(number in accepted for number in numbers) and all(
            seen.get(number, kind.lower()) == kind.lower() for number, kind in zip(numbers, KINDS, strict=True)
        ):
            yield first


def _why_no_type(accepted: Sequence[int], seen: Mapping[int, str]) -> str:
    if not accepted:
        return "the host accepts no parameter type."
    what = f"the host accepts {len(accepted)} parameter types"
    if not seen:
        return f"{what}, and what agents see of them is not known."
    return f"{what}, and agents see them as {', '.join(sorted(set(seen.values())))}."


# ---- the main-thread bit


async def _find_bit(host: Host, info_type: int, found: _Found) -> None:
    tools = {1 << bit: f"openxr_agentic_doctor_bit_{bit}" for bit in BITS}
    results = await host.attempt([Attempt(tool, info_type, flags) for flags, tool in tools.items()])
    accepted = [flags for flags, result in zip(tools, results, strict=True) if result >= XR_SUCCESS]
    without = await host.runs_on_main_thread(_PLAIN_TOOL)
    if without is False:
        main = [flags for flags in accepted if await host.runs_on_main_thread(tools[flags])]
        if len(main) == 1:
            found.add(MAIN_THREAD_BIT, main[0], "with it a call comes on the main thread, and without on another one")
            return
    if len(accepted) == 1:
        how = "the only bit that the host accepts"
        how += "; calls come on the main thread without it too" if without else "; no call of it was seen"
        found.add(MAIN_THREAD_BIT, accepted[0], how)
        return
    found.leave_open(
        MAIN_THREAD_BIT, f"the host accepts {len(accepted)} bits, and calls do not tell which one has an effect."
    )
