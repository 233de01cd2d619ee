"""What becomes of an exception in a tool: text for the agent, a line in the log.

The trampoline hands every failed run to `report`, on the thread of the call. An
agent can do nothing with a failing XrResult, so by default it gets words, as
Meta's own tools answer: "Error: ...", and "Tip: ..." where one helps.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
import traceback
from typing import TYPE_CHECKING, Literal

from openxr_agentic.errors import AgenticError, ArgumentError, ToolError, ToolTimeoutError

if TYPE_CHECKING:
    from collections import deque

    OnError = Literal["result", "xr"]

logger = logging.getLogger("openxr_agentic")

ARGUMENTS, TOOL, RESULT = range(3)  # OxaStage of trampoline.h

_PACKAGE = os.path.join(os.path.dirname(__file__), "")
_ASYNCIO = os.path.join(os.path.dirname(os.__file__), "asyncio", "")

REPEAT_SECONDS = 10.0
MOST_KEPT = 100
MOST_CHARACTERS = 20_000


class FailureOwner:
    """Whose tool failed: what the trampoline knows of a registered tool on the Python side.

    Args:
        tool_name: Name of the tool.
        on_error: ``"result"``: the agent gets text; ``"xr"``: the host gets XR_ERROR_RUNTIME_FAILURE.
        kept: Where exceptions go that must not be lost (see `AgenticExtension.raise_pending`).
    """

    __slots__ = ("kept", "log", "on_error", "tool_name")

    def __init__(self, tool_name: str, on_error: OnError, kept: deque[BaseException]) -> None:
        self.tool_name = tool_name
        self.on_error = on_error
        self.kept = kept
        self.log = RepeatedFailures()

    def keep(self, error: BaseException) -> None:
        """Keep an exception for the app, unless so many wait that it has stopped asking."""
        if len(self.kept) < MOST_KEPT:
            self.kept.append(error)


class RepeatedFailures:
    """Keeps a tool that fails over and over from flooding the log.

    The first failure of a kind (class and place) is logged with its traceback;
    the same again at most once every `REPEAT_SECONDS`, as one line that counts.
    """

    __slots__ = ("_kinds", "_lock")
    _MOST_KINDS = 100

    def __init__(self) -> None:
        self._kinds: dict[object, tuple[float, int]] = {}
        self._lock = threading.Lock()

    def write(self, what: str, error: BaseException, level: int = logging.ERROR, *, show_where: bool = True) -> None:
        """Log a failure, unless the same was logged just now.

        Args:
            what: What failed, in words.
            error: Its exception.
            level: The level in the log.
            show_where: Whether the exception's traceback is of use.
        """
        last_frame = error.__traceback__
        while last_frame is not None and last_frame.tb_next is not None:
            last_frame = last_frame.tb_next
        place = (last_frame.tb_frame.f_code, last_frame.tb_lineno) if last_frame is not None else None
        kind, now = (type(error), place), time.monotonic()
        with self._lock:
            last, unwritten = self._kinds.get(kind, (None, 0))
            silent = last is not None and now - last < REPEAT_SECONDS
            if len(self._kinds) >= self._MOST_KINDS and kind not in self._kinds:
                self._kinds.clear()
            self._kinds[kind] = (last, unwritten + 1) if silent and last is not None else (now, 0)
        if last is None:
            logger.log(level, "%s", what, exc_info=error if show_where else None)
        elif not silent:
            times = f" ({unwritten} {'time' if unwritten == 1 else 'times'} more since it was last said)"
            logger.log(level, "%s%s", what, times if unwritten else "")


def report(owner: FailureOwner, error: BaseException, stage: int) -> str | None:
    """Deal with a failed run; called by the trampoline.

    Args:
        owner: What was given to `oxa_tool_new`.
        error: The exception.
        stage: `ARGUMENTS`, `TOOL` or `RESULT`: how far the run had come.

    Returns:
        The text for the agent; None: the host gets XR_ERROR_RUNTIME_FAILURE.
    """
    name = owner.tool_name
    if not isinstance(error, Exception) and not _is_cancelled(error):
        text = _ends_more_than_the_call(owner, error)
    elif isinstance(error, (ArgumentError, ToolError)):
        logger.debug("Tool %s answered with an error: %s", name, error)
        text = f"Error: {_text(error)}" + (f"\nTip: {error.tip}" if error.tip else "")
    elif stage == ARGUMENTS:
        text = f"Error: {name} was not run: its arguments are not valid UTF-8 JSON text: {_described(error)}"
    elif stage == RESULT:
        owner.log.write(f"The result of tool {name} cannot be delivered: {_described(error)}", error)
        text = f"Error: {name} ran, but its result cannot be delivered: {_described(error)}"
    elif isinstance(error, ToolTimeoutError) and (words := _text(error)).startswith(f"{name} "):
        # Its traceback is of this library alone; where the tool waited is what helps.
        owner.log.write(f"Tool {words}{_where_it_waited(error)}", error, show_where=False)
        text = f"Error: {words}"
    else:
        owner.log.write(f"Tool {name} failed: {_described(error)}", error)
        text = f"Error: {name} failed: {_described(error)}"
    return sendable(text) if owner.on_error == "result" else None


def _ends_more_than_the_call(owner: FailureOwner, error: BaseException) -> str:
    """Answer for a KeyboardInterrupt, a SystemExit or another BaseException, and have it raised in the app."""
    name = owner.tool_name
    ends_program = isinstance(error, (KeyboardInterrupt, SystemExit))
    if ends_program and threading.current_thread() is threading.main_thread() and _raise_on_return(error):
        return f"Error: {name} was interrupted: the app is being stopped."
    owner.keep(error)  # before anything else can fail
    what = f"Tool {name} raised what raise_pending() will raise: {_described(error)}"
    owner.log.write(what, error, logging.CRITICAL)
    return f"Error: {name} failed: {_described(error)}"


def _where_it_waited(error: BaseException) -> str:
    """Return the place in the tool's own code at which it was cancelled, as a sentence; empty: not known."""
    place, reason = "", error.__cause__
    while reason is not None and not place:
        for frame, line in traceback.walk_tb(reason.__traceback__):
            file = frame.f_code.co_filename
            if not file.startswith((_PACKAGE, _ASYNCIO)):
                place = f" It waited at {file}:{line}, in {frame.f_code.co_name}."
        reason = reason.__context__
    return place


def sendable(text: str) -> str:
    """Return a text of a length that an agent can use, without what cannot go through a C string of UTF-8."""
    if len(text) > MOST_CHARACTERS:
        text = f"{text[:MOST_CHARACTERS]}… ({len(text)} characters in all)"
    return text.replace("\0", "\\0").encode("utf-8", "backslashreplace").decode("utf-8")


def _is_cancelled(error: BaseException) -> bool:
    # asyncio is slow to import; while nobody did, there is none of its exceptions.
    exceptions = sys.modules.get("asyncio.exceptions")
    return exceptions is not None and isinstance(error, exceptions.CancelledError)


def _described(error: BaseException) -> str:
    message = _text(error)
    if isinstance(error, AgenticError) and message:
        return message  # it was written to be read
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as second:  # noqa: BLE001 - a __str__ of the user's may do anything
        return f"(its text cannot be had: {type(second).__name__})"


def _raise_on_return(error: BaseException) -> bool:
    """Have this exception raised in the app, once the host's C call is back in Python."""
    from openxr_agentic._native import lib

    return bool(lib.oxa_raise_on_return(id(error)))
