"""Clients of mcp 1.x, which cannot be in one environment with the 2.x of our server."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from openxr_agentic.cli.group import command

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

ROOT = Path(__file__).resolve().parents[1]
GIVEN = os.environ.get("OPENXR_AGENTIC_TEST_MCP1")
"""The other environment's Python, set by ``make test``, which makes that environment: then it must be there."""

PYTHON = Path(GIVEN).absolute() if GIVEN else ROOT / ".venv-mcp1" / "bin" / "python"

SPEAKS_STDIO = any("--stdio" in option.opts for option in command.commands["serve"].params)
STDIO = pytest.param("stdio", marks=pytest.mark.xfail(not SPEAKS_STDIO, reason="no serve --stdio yet", run=False))
"""The third transport, for `pytest.mark.parametrize`."""

LONGEST_LINE = 1 << 24


def require_mcp1() -> None:
    """Skip the test where nobody has made the other environment, unless it must be there."""
    if PYTHON.exists():
        return
    if GIVEN:
        pytest.fail(f"OPENXR_AGENTIC_TEST_MCP1 names {PYTHON}, which is missing.")
    pytest.skip("no environment with mcp 1.x; make it with: make .venv-mcp1/.installed")


class Mcp1Error(Exception):
    """The server answered with a JSON-RPC error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Mcp1Client:
    """A client in a process of its own; see `mcp1_client`.

    Attributes:
        initialized: What the server answered to "initialize".
    """

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.initialized: dict[str, Any] = {}

    async def list(self) -> list[dict[str, Any]]:
        """Return the tools that the server lists, as they came."""
        return await self._ask("list")

    async def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a tool, and return the result as it came.

        Raises:
            Mcp1Error: The answer is an error.
        """
        return await self._ask("call", name=name, arguments=arguments)

    async def start(self, name: str, arguments: dict[str, Any]) -> int:
        """Call a tool without waiting for the answer, and return the request's id."""
        return await self._ask("start", name=name, arguments=arguments)

    async def finish(self, request: int) -> dict[str, Any]:
        """Wait for the answer to a request that was started; see `call`."""
        return await self._ask("finish", request=request)

    async def cancel(self, request: int) -> None:
        """Tell the server that nobody waits for the answer any more."""
        await self._ask("cancel", request=request)

    async def ping(self) -> None:
        """Wait until the server has answered a ping."""
        await self._ask("ping")

    async def hear(self, changes: int) -> int:
        """Wait for that many notifications of a changed list, and return how many have come so far."""
        return await self._ask("hear", changes=changes)

    async def _ask(self, do: str, **more: Any) -> Any:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"do": do, **more}).encode() + b"\n")
        return await self.answer()

    async def answer(self) -> Any:
        """Return the next answer."""
        assert self._process.stdout is not None
        line = await self._process.stdout.readline()
        if not line:
            raise AssertionError(f"the client ended with exit code {await self._process.wait()}")
        answer = json.loads(line)
        if "error" in answer:
            raise Mcp1Error(answer["error"]["code"], answer["error"]["message"])
        return answer["result"]


@asynccontextmanager
async def mcp1_client(
    transport: str, address: Sequence[str], server_environment: dict[str, str] | None = None
) -> AsyncIterator[Mcp1Client]:
    """Connect a client of mcp 1.x for the block.

    Args:
        transport: "http", "sse" or "stdio".
        address: The URL, or the command of a server that speaks stdio.
        server_environment: The environment of that command.
    """
    # The other environment has its own packages, and none of ours.
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    env["SERVER_ENV"] = json.dumps(server_environment or dict(os.environ))
    process = await asyncio.create_subprocess_exec(
        str(PYTHON),
        str(ROOT / "tests" / "mcp1_client.py"),
        transport,
        *address,
        env=env,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=LONGEST_LINE,
    )
    client = Mcp1Client(process)
    try:
        client.initialized = await client.answer()
        yield client
    finally:
        assert process.stdin is not None
        process.stdin.close()  # tells it to end
        try:
            await asyncio.wait_for(process.wait(), 20)
        except asyncio.TimeoutError:
            process.kill()
            await process.wait()


def stdio_command(*more: str) -> list[str]:
    """The command of a server that speaks stdio."""
    return [sys.executable, "-m", "openxr_agentic", "serve", "--stdio", *more]
