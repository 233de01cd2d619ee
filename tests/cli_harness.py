"""The command line as a process, and what it prints."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

COMMAND = (sys.executable, "-m", "openxr_agentic")


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Return an environment with a runtime folder of its own and this test's import path."""
    path = os.pathsep.join(entry for entry in sys.path if entry)
    kept = {name: value for name, value in os.environ.items() if name != "AGENTICXR_MCP_PORT"}
    return {**kept, "PYTHONPATH": path, "XDG_RUNTIME_DIR": str(folder), **more}


@asynccontextmanager
async def started(*arguments: str, env: dict[str, str]) -> AsyncIterator[asyncio.subprocess.Process]:
    """Start ``openxr-agentic`` with all output piped; its whole group is gone after the block."""
    process = await asyncio.create_subprocess_exec(
        *COMMAND,
        *arguments,
        env=env,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


async def finished(*arguments: str, env: dict[str, str]) -> tuple[int, str, str]:
    """Run ``openxr-agentic`` to its end; returns exit code, stdout and stderr."""
    async with started(*arguments, env=env) as process:
        stdout, stderr = await process.communicate()
        assert process.returncode is not None
        return process.returncode, stdout.decode(), stderr.decode()


async def line_with(stream: asyncio.StreamReader | None, words: str) -> str:
    """Read lines until one holds `words`, and return it."""
    assert stream is not None
    seen = ""
    while line := (await stream.readline()).decode():
        seen += line
        if words in line:
            return line
    raise AssertionError(f"{words!r} was never printed, but:\n{seen}")


def processes_with(mark: str) -> list[str]:
    """Return the command lines of all living processes whose environment holds `mark`."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            environ = (process / "environ").read_bytes()
            command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue  # it ended meanwhile
        if mark.encode() in environ:
            found.append(command)
    return found
