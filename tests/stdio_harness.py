"""``serve --stdio`` and ``run --stdio``, seen from the pipes: every line is looked at."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cli_harness import COMMAND
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcp.client.session import MessageHandlerFnT

MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
LINE_LIMIT = 1 << 26


@dataclass
class Pipes:
    """A server at the other end of two pipes; what it writes must be JSON-RPC, line by line.

    Attributes:
        process: The server's process.
        seen: Every message so far that was no answer.
    """

    process: asyncio.subprocess.Process
    seen: list[dict[str, Any]] = field(default_factory=list)
    _last_id: int = 0

    async def write(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        await self.process.stdin.drain()

    async def ask(self, method: str, **params: Any) -> int:
        """Send a request of the 2026-07-28 era and return its id."""
        self._last_id += 1
        message = {"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": {**params, "_meta": MODERN}}
        await self.write(json.dumps(message).encode())
        return self._last_id

    async def message(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = await self.process.stdout.readline()
        assert line.endswith(b"\n"), line
        message: dict[str, Any] = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        return message

    async def answer(self, identifier: int | str | None) -> dict[str, Any]:
        """Read up to the answer with this id."""
        while (message := await self.message()).get("id") != identifier or "method" in message:
            self.seen.append(message)
        return message

    async def result(self, method: str, **params: Any) -> dict[str, Any]:
        """Ask, and return the result."""
        answer = await self.answer(await self.ask(method, **params))
        assert "result" in answer, answer
        result: dict[str, Any] = answer["result"]
        return result

    async def tools_with(self, name: str) -> list[str]:
        """List the tools until one is there: an app registers at its own pace."""
        while name not in (names := [tool["name"] for tool in (await self.result("tools/list"))["tools"]]):
            pass
        return names

    async def call(self, tool: str, **arguments: Any) -> str:
        result = await self.result("tools/call", name=tool, arguments=arguments)
        (item,) = result["content"]
        text: str = item["text"]
        return text

    async def leave(self) -> tuple[int, bytes]:
        """Close stdin, and wait for the end; returns the exit code and what was on stderr."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return await self.end()

    async def end(self) -> tuple[int, bytes]:
        """Wait for the end; what is still on stdout must be messages too."""
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        stdout, stderr = await asyncio.gather(self.process.stdout.read(), self.process.stderr.read())
        for line in stdout.splitlines():
            assert json.loads(line)["jsonrpc"] == "2.0"
        return await self.process.wait(), stderr


@asynccontextmanager
async def pipes(*arguments: str, env: dict[str, str], command: tuple[str, ...] = COMMAND) -> AsyncIterator[Pipes]:
    """Start the command with all streams piped; its whole group is gone after the block."""
    process = await asyncio.create_subprocess_exec(
        *command,
        *arguments,
        env=env,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=LINE_LIMIT,
        start_new_session=True,
    )
    try:
        yield Pipes(process)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
        process._transport.close()  # type: ignore[attr-defined]  # also pipes that were not read to their end


def client(
    *arguments: str, env: dict[str, str], mode: str = "auto", on_message: MessageHandlerFnT | None = None
) -> Client:
    """Return an official client, not yet entered, that starts the command itself."""
    executable, *first = COMMAND
    parameters = StdioServerParameters(command=executable, args=[*first, *arguments], env=env)
    return Client(stdio_client(parameters, errlog=sys.__stderr__), mode=mode, message_handler=on_message)
