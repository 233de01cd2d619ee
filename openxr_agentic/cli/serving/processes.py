"""Child processes that never outlive the command, and signals that end it in order."""

from __future__ import annotations

import asyncio
import os
import signal
import tempfile
import threading
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TYPE_CHECKING, BinaryIO, Final

from openxr_agentic import descriptors
from openxr_agentic.cli.interrupts import END_SIGNALS, handle

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence

END_SECONDS: Final = 5.0
"""How long a child may take to end by itself."""


@contextmanager
def on_end_signals(handler: Callable[[signal.Signals], None]) -> Iterator[None]:
    """Call `handler` in the running event loop for each signal that should end the command.

    Afterwards, the signals do what they did before. A hang-up that is to be ignored (nohup) stays ignored.
    """
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in END_SIGNALS}
    if "SIGHUP" in signal.Signals.__members__ and before[signal.SIGHUP] is signal.SIG_IGN:
        del before[signal.SIGHUP]
    for number in before:
        try:
            loop.add_signal_handler(number, handler, signal.Signals(number))
        except NotImplementedError:  # noqa: PERF203 - Windows; Python's own handlers wake the loop there
            handle(number, lambda received, _: loop.call_soon_threadsafe(handler, signal.Signals(received)))
    try:
        yield
    finally:
        for number, what in before.items():
            with suppress(NotImplementedError):
                loop.remove_signal_handler(number)
            handle(number, what)


def on_stdin_closed(callback: Callable[[], object]) -> None:
    """Call `callback` in the running event loop when stdin ends; what comes on it is thrown away."""
    loop = asyncio.get_running_loop()

    def read() -> None:
        with suppress(OSError):  # stdin is closed already
            while descriptors.read(0, 4096):
                pass
        with suppress(RuntimeError):  # the loop has ended before
            loop.call_soon_threadsafe(callback)

    # A daemon: nothing else ends the wait for a pipe.
    threading.Thread(target=read, name="openxr-agentic-stdin", daemon=True).start()


async def end(process: asyncio.subprocess.Process) -> bool:
    """Ask a child to end and wait, for `END_SECONDS`, and then kill it; return whether it had to be killed."""
    with suppress(ProcessLookupError):
        process.terminate()
    try:
        await asyncio.wait_for(process.wait(), END_SECONDS)
    except asyncio.TimeoutError:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        return True
    return False


class Child:
    """A process of the command's own, whose output is kept for the case that it fails.

    Attributes:
        name: What it is called in messages.
        process: The process; its stdout is a pipe when it was asked for.
    """

    def __init__(self, name: str, process: asyncio.subprocess.Process, output: BinaryIO) -> None:
        self.name = name
        self.process = process
        self._output = output

    def output(self, lines: int = 40) -> str:
        """Return the last lines that it wrote."""
        self._output.seek(0)
        return "\n".join(self._output.read().decode(errors="replace").splitlines()[-lines:])

    async def end(self) -> None:
        """End it, by force when it does not end by itself."""
        if self.process.returncode is None:
            await end(self.process)


@asynccontextmanager
async def child(
    name: str,
    command: Sequence[str],
    environment: Mapping[str, str] = os.environ,
    *,
    pipe_stdout: bool = False,
) -> AsyncIterator[Child]:
    """Start a process that is ended when the block is left, however it is left.

    It is a session of its own: a Ctrl-C in the terminal reaches the command,
    which then ends its children in order.

    Args:
        name: What it is called in messages.
        command: The program and its arguments.
        environment: All of its environment.
        pipe_stdout: Whether its stdout can be read; else it is kept with its stderr.
    """
    with tempfile.TemporaryFile() as output:
        process = await asyncio.create_subprocess_exec(
            *command,
            env=dict(environment),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE if pipe_stdout else output,
            stderr=output,
            start_new_session=True,
        )
        started = Child(name, process, output)
        try:
            yield started
        finally:
            await started.end()
