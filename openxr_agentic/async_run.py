"""Runs an `async def` tool to its end, from the host's synchronous call, on the thread of that call.

Each thread keeps one private event loop for it. Not the app's own loop, even where that one
runs on this very thread: it is stopped in the middle of the host's call, and going on with
it would run the app's other tasks inside of a tool. asyncio forbids one loop inside another,
since the inner one holds up the outer; here that is meant, as with any synchronous tool. So
the outer loop is hidden while the inner one runs.
"""

from __future__ import annotations

import logging
import os
import threading
import weakref
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from openxr_agentic.errors import ToolTimeoutError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Iterator

    T = TypeVar("T")

logger = logging.getLogger("openxr_agentic")

DEFAULT_TIMEOUT = 5.0
"""Seconds that an `async def` tool may take, unless set."""

GRACE = 1.0
"""Seconds that a cancelled task gets for its own cleaning up, before it is given up."""

# The type of what `aclose()` of an asynchronous generator gives; Python has no public name for it.
_CLOSING_A_GENERATOR = "async_generator_athrow"


def run_awaitable(awaitable: Awaitable[T], tool_name: str, timeout: float | None = DEFAULT_TIMEOUT) -> T:
    """Run a coroutine on this thread until it ends.

    It runs on a private event loop, in a copy of the caller's context (`contextvars`). The
    thread is busy meanwhile: an event loop of the app on this thread stands still, so what
    waits for that one can only end by the time-out.

    Tasks that it leaves behind are cancelled when it ends: nothing would run them until the next
    call. Await them, or give lasting work to a loop of the app's own.

    Args:
        awaitable: What calling an `async def` function gave.
        tool_name: For the text of errors.
        timeout: Seconds until it is cancelled; None: never. Code that does not await cannot be
            cancelled. A cancelled tool has `GRACE` seconds to clean up; what it returns then counts.

    Returns:
        What the coroutine returned.

    Raises:
        ToolTimeoutError: It took too long. What else it raises comes out as it is.
    """
    loops = _loops()
    loop = loops.take()
    try:
        with _outer_loop_hidden() as hidden:
            run = _Run(loop, tool_name, timeout, outer_loop=hidden)
            try:
                return run.until_done(awaitable)
            finally:
                run.end_what_is_left()
    finally:
        loops.give_back(loop)


class _Run:
    """One coroutine on a loop."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, tool_name: str, timeout: float | None, *, outer_loop: bool
    ) -> None:
        self._loop = loop
        self._tool_name = tool_name
        self._timeout = timeout
        self._outer_loop = outer_loop
        self._expired = False
        self._given_up = False

    def until_done(self, awaitable: Awaitable[T]) -> T:
        import asyncio

        task = self._loop.create_task(_awaited(awaitable))
        timer = None if self._timeout is None else self._loop.call_later(self._timeout, self._expire, task)
        try:
            return self._loop.run_until_complete(task)
        except (asyncio.CancelledError, RuntimeError) as error:
            # It was cancelled by us, or the loop was stopped since it would not end.
            if self._given_up or (self._expired and task.cancelled()):
                raise ToolTimeoutError(self._words()) from error
            raise
        finally:
            if timer is not None:
                timer.cancel()

    def end_what_is_left(self) -> None:
        """End what the coroutine started and did not wait for, within `GRACE` seconds."""
        import asyncio

        if self._given_up:
            return
        # An asynchronous generator that is dropped asks the loop to close it, in its next turn.
        # (loop.shutdown_asyncgens() is for a loop that runs no more.)
        self._loop.call_soon(self._loop.stop)
        self._loop.run_forever()
        left = asyncio.all_tasks(self._loop)
        for task in left:
            if type(task.get_coro()).__name__ != _CLOSING_A_GENERATOR:
                task.cancel()
        self._wait_for(left)

    def _wait_for(self, tasks: set[asyncio.Task[Any]]) -> None:
        import asyncio

        if not tasks:
            return
        _, pending = self._loop.run_until_complete(asyncio.wait(tasks, timeout=GRACE))
        for task in pending:
            logger.error("Tool %s left a task behind that does not end when cancelled: %r", self._tool_name, task)

    def _expire(self, task: asyncio.Task[Any]) -> None:
        self._expired = True
        task.cancel()
        self._loop.call_later(GRACE, self._give_up, task)

    def _give_up(self, task: asyncio.Task[Any]) -> None:
        if not task.done():
            self._given_up = True
            self._loop.stop()

    def _words(self) -> str:
        ended = "does not end when cancelled" if self._given_up else "was cancelled"
        text = f"{self._tool_name} took longer than {self._timeout:g} s and {ended}."
        if self._outer_loop:
            text += (
                " An event loop of the app is on the same thread and stands still while the tool runs: what waits for"
                " that loop never ends. Start such work with its call_soon() and return at once."
            )
        return text


class _ThreadLoops:
    """The private loop of one thread; closed when the thread ends, or Python."""

    def __init__(self) -> None:
        self._free: asyncio.AbstractEventLoop | None = None
        self._kept: asyncio.AbstractEventLoop | None = None
        self._closer: weakref.finalize[Any, Any] | None = None
        self._process = os.getpid()

    def take(self) -> asyncio.AbstractEventLoop:
        """Return the kept loop, or another where it is in use: one tool may call another."""
        import asyncio

        loop, self._free = self._free, None
        if loop is None:
            return asyncio.new_event_loop()
        if self._process != os.getpid():
            # Forked since: closing it here would take the parent's selector apart.
            _of_parents.append(loop)
            self._process = os.getpid()
            return asyncio.new_event_loop()
        return loop

    def give_back(self, loop: asyncio.AbstractEventLoop) -> None:
        """Keep the loop for the next run, unless there is one, or something in it does not end."""
        import asyncio

        if self._free is not None or asyncio.all_tasks(loop):
            loop.close()
            return
        self._free = loop
        if loop is not self._kept:
            if self._closer is not None:
                self._closer.detach()
            self._kept = loop
            self._closer = weakref.finalize(self, _close, loop, self._process)


_of_parents: list[asyncio.AbstractEventLoop] = []
_thread = threading.local()


def _loops() -> _ThreadLoops:
    try:
        loops: _ThreadLoops = _thread.loops
    except AttributeError:
        loops = _thread.loops = _ThreadLoops()
    return loops


def _close(loop: asyncio.AbstractEventLoop, process: int) -> None:
    if process == os.getpid() and not loop.is_running():
        loop.close()


async def _awaited(awaitable: Awaitable[T]) -> T:
    return await awaitable


@contextmanager
def _outer_loop_hidden() -> Iterator[bool]:
    """Have asyncio believe that no loop runs on this thread; yields whether one does."""
    from asyncio import _get_running_loop, _set_running_loop, tasks

    outer = _get_running_loop()
    if outer is None:
        yield False
        return
    # Since Python 3.12 the current task can be swapped; since 3.14 it must be, as it belongs to the thread.
    swap = getattr(tasks, "_swap_current_task", None)
    task = swap(outer, None) if swap is not None else None
    _set_running_loop(None)
    try:
        yield True
    finally:
        _set_running_loop(outer)
        if swap is not None:
            swap(outer, task)
