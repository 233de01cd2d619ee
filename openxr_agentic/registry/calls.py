"""How a registry runs a tool for Python code: with other timeouts than its own, and on another thread."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any

import msgspec

from openxr_agentic.definition.options import checked_timeout
from openxr_agentic.errors import ToolTimeoutError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Mapping

    from openxr_agentic.definition.tool import Tool

logger = logging.getLogger("openxr_agentic")


def run(tool: Tool, arguments: Mapping[str, Any] | None, timeout: float | None) -> Any:
    """Run a tool on this thread; see `ToolRegistry.execute`."""
    if timeout is None:
        return tool.execute(arguments)
    timed = _timed(tool, timeout)
    if timed.is_async:
        return timed.execute(arguments)
    until = time.monotonic() + timeout
    try:
        return timed.execute(arguments)
    finally:
        _warn_if_late(tool, timeout, until)


async def run_async(tool: Tool, arguments: Mapping[str, Any] | None, timeout: float | None, *, in_thread: bool) -> Any:
    """Run a tool from a coroutine; see `ToolRegistry.execute_async`."""
    timed = tool if timeout is None else _timed(tool, timeout)
    if in_thread:
        return await _run_in_thread(timed, arguments, timeout)
    if timed.is_async:
        return await timed.execute_async(arguments)
    return run(tool, arguments, timeout)


async def _run_in_thread(tool: Tool, arguments: Mapping[str, Any] | None, timeout: float | None) -> Any:
    import asyncio

    task = asyncio.ensure_future(asyncio.to_thread(tool.execute, arguments))
    task.add_done_callback(_seen)
    # An async tool keeps its time on that thread by itself.
    done, _ = await asyncio.wait({task}, timeout=None if tool.is_async else timeout)
    if done:
        return task.result()
    raise ToolTimeoutError(
        f"{tool.name} took longer than {timeout:g} s. It goes on on its thread, since a function cannot be "
        "interrupted; its result is dropped."
    )


def _seen(task: asyncio.Task[Any]) -> None:
    """Look at how a task ended, so that asyncio does not complain of one that nobody waited for."""
    if not task.cancelled():
        task.exception()


def _timed(tool: Tool, timeout: float) -> Tool:
    checked_timeout(timeout, f"tool {tool.name!r}")
    # What it made of its own timeout is not taken along.
    return msgspec.structs.replace(tool, timeout=timeout, _call=None)


def _warn_if_late(tool: Tool, timeout: float, until: float) -> None:
    late = time.monotonic() - until
    if late > 0:
        logger.warning(
            "%s took %.3g s longer than the %g s asked for: a function cannot be interrupted. "
            "execute_async(..., in_thread=True) stops waiting for it.",
            tool.name,
            late,
            timeout,
        )
