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

    __slots__ = ("registry", "thread", "tool_name")

    def __init__(self, tool_name: str, registry: Any = None) -> None:
        self.tool_name = tool_name
        self.thread = threading.get_ident()
        self.registry = registry

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

_native_source: Callable[[], ToolContext | None] | None = None


def current_call() -> ToolContext | None:
    """Return the call that this code runs in; None outside of any.

    It works on every thread that a call runs on, and in what an async tool awaits.
    """
    current = CURRENT.get()
    if current is None and _native_source is not None:
        return _native_source()
    return current


def set_native_source(source: Callable[[], ToolContext | None] | None) -> None:
    """Set where `current_call` looks when no call was made from Python.

    The native path keeps the current call in C, where it costs a call nothing.
    """
    global _native_source  # noqa: PLW0603 - one native binding in a process
    _native_source = source
