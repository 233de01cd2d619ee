"""The code that calls a tool's function: made for each tool, at its first call.

Generated, because a loop over slots would cost each call more than the decoding of
its arguments does.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from openxr_agentic.definition.context import ToolContext, current_call
from openxr_agentic.errors import ArgumentError, ToolError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import CodeType

    import msgspec

    from openxr_agentic.definition.binding import Slot

    Caller = Callable[[msgspec.Struct], Any]


def make_caller(
    tool_name: str,
    function: Callable[..., Any],
    owner: Callable[[], Any] | None,
    slots: Sequence[Slot],
    attributes: Sequence[str],
    *,
    gather: Callable[[dict[str, Any]], Any] | None = None,
    names: Sequence[str] = (),
    registry: Any = None,
) -> Caller:
    """Return a function of decoded arguments that calls a tool's function with them.

    Args:
        tool_name: For the text of errors.
        function: What is called.
        owner: Returns what comes in front of the arguments, a method's object; None: there is none.
        slots: The arguments of the call.
        attributes: Where each field is in the decoded arguments.
        gather: Makes the one argument that stands for all; None: each stands for itself.
        names: Each field's name in JSON, for `gather`.
        registry: For the context.
    """
    space: dict[str, Any] = {"function": function, "UNSET": UNSET}
    parts: list[str] = []
    if owner is not None:
        space["owner"] = functools.partial(_owner_or_error, owner, tool_name)
        parts.append("owner()")
    for number, slot in enumerate(slots):
        if slot.field is None:
            space["context"] = functools.partial(_context, tool_name, registry)
            value = "context()"
        elif gather is not None:
            space["gathered"] = functools.partial(
                _gathered, tool_name, gather, tuple(zip(names, attributes, strict=True))
            )
            value = "gathered(a)"
        else:
            value = f"a.{attributes[slot.field]}"
            if slot.factory is not None:
                space[f"default{number}"] = slot.factory
                value = f"(default{number}() if {value} is UNSET else {value})"
        parts.append(f"**{value}" if slot.keyword == "**" else f"{slot.keyword}={value}" if slot.keyword else value)
    exec(_compiled(f"def call(a): return function({', '.join(parts)})"), space)
    call: Caller = space["call"]
    return call


@functools.lru_cache(maxsize=256)
def _compiled(source: str) -> CodeType:
    return compile(source, "<the call of a tool>", "exec")


def is_closed(owner: Any) -> bool:
    """Tell whether an object has a true attribute `closed`; one that fails to say so, as a dead proxy, has."""
    try:
        return says_closed(owner)
    except Exception:  # noqa: BLE001 - a property may raise anything
        return True


def says_closed(owner: Any) -> bool:
    """Tell whether an object has a true attribute `closed`; a method of that name tells nothing.

    Raises:
        Exception: What the attribute raises.
    """
    closed = getattr(owner, "closed", False)
    return not callable(closed) and bool(closed)


def _owner_or_error(owner: Callable[[], Any], tool_name: str) -> Any:
    found = owner()
    if found is not None and not is_closed(found):
        return found
    raise ToolError(
        f"{tool_name} was not run: its owner is gone: {'it was collected' if found is None else 'it is closed'}.",
        tip="This tool does not work any more in this run of the app; others may.",
    )


def _context(tool_name: str, registry: Any) -> ToolContext:
    current = current_call()
    if current is not None and current.tool_name == tool_name and current.registry is registry:
        return current
    return ToolContext(tool_name, registry)


def _gathered(
    tool_name: str, gather: Callable[[dict[str, Any]], Any], places: tuple[tuple[str, str], ...], arguments: Any
) -> Any:
    given = {name: value for name, attribute in places if (value := getattr(arguments, attribute)) is not UNSET}
    try:
        return gather(given)
    except ArgumentError:
        raise
    except ValueError as error:  # the type checks its fields together
        raise ArgumentError(tool_name, [str(error).rstrip(".")]) from error
