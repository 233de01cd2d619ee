"""What a running tool can know of its own call, and the marker for a parameter that takes all arguments."""

from __future__ import annotations

import logging
import threading
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


class Arguments:
    """Marks the one parameter that stands for all arguments of a tool.

    Its type is a dataclass, msgspec Struct, TypedDict, NamedTuple or pydantic model, whose fields
    are the tool's parameters:

        @agentic.tool
        def spawn(params: Annotated[SpawnParams, agentic.Arguments]) -> str: ...
    """


class ToolContext:
    """One call of a tool, for the tool itself.

    A tool gets it by a parameter of this type, under any name; agents do not see that
    parameter. It is also what `current_call` returns.

    Attributes:
        tool_name: Name of the tool, as agents call it.
        thread: Identifier of the thread that the call runs on, as `threading.get_ident` gives it.
        registry: The ToolRegistry that the tool belongs to; None for a tool that belongs to none.
    """

    __slots__ = ("_inside", "registry", "thread", "tool_name")

    def __init__(self, tool_name: str, registry: Any = None) -> None:
        self.tool_name = tool_name
        self.thread = threading.get_ident()
        self.registry = registry
        self._inside = _native_token()  # the native run that this call was made in

    @property
    def logger(self) -> logging.Logger:
        """The tool's own logger, ``openxr_agentic.tools.<name>``."""
        return logging.getLogger(f"openxr_agentic.tools.{self.tool_name}")

    @property
    def on_main_thread(self) -> bool:
        """Whether the call runs on Python's main thread."""
        return self.thread == threading.main_thread().ident

    def __repr__(self) -> str:
        return f"<ToolContext of {self.tool_name} on thread {self.thread}>"


# A context variable, not a thread-local: it follows an async tool from await to await, and it is set
# and reset within one call, so that a native thread cannot leak it into the next.
CURRENT: ContextVar[ToolContext | None] = ContextVar("openxr_agentic_current_call", default=None)


def _no_token() -> int:
    return 0


_native_token: Callable[[], int] = _no_token
_native_call: Callable[[int], ToolContext | None] | None = None


def current_call() -> ToolContext | None:
    """Return the call that this code runs in; None outside of any.

    It works on every thread that a call runs on, and in what an async tool awaits.
    """
    current, token = CURRENT.get(), _native_token()
    if token and _native_call is not None and (current is None or current._inside != token):  # noqa: SLF001 - of this module
        return _native_call(token)  # the host called within the call that was made from Python
    return current


def set_native_source(token: Callable[[], int], call: Callable[[int], ToolContext | None]) -> None:
    """Set where `current_call` looks for calls that the host made.

    The native path keeps the current call in C, where it costs a call nothing.

    Args:
        token: Returns a number for the native run that this thread is inside of; 0: none.
        call: Returns the call of such a number.
    """
    global _native_token, _native_call
    _native_token, _native_call = token, call
