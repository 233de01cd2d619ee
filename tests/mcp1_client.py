"""A client of mcp 1.x that does what a test says; run with the Python of `.venv-mcp1`.

    python mcp1_client.py sse|http URL
    python mcp1_client.py stdio COMMAND...

It reads one JSON object a line from stdin, ``{"do": ..., ...}``, and writes one in answer:
``{"result": ...}``, or ``{"error": {"code": ..., "message": ...}}`` for a JSON-RPC error. The first line that it
writes is the answer to "initialize". See `mcp1_harness.Mcp1Client` for what it can do.
"""

import asyncio
import json
import os
import sys
from contextlib import asynccontextmanager

from mcp import ClientSession, McpError, StdioServerParameters, types
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client


@asynccontextmanager
async def connected(transport, address, commands):
    if transport == "stdio":
        # Else the package gives the server hardly any of the environment.
        server = StdioServerParameters(command=address[0], args=address[1:], env=json.loads(os.environ["SERVER_ENV"]))
        async with stdio_client(server) as (read, write):
            yield read, write
    elif transport == "sse":
        async with sse_client(address[0]) as (read, write):
            yield read, write
    else:
        async with create_mcp_http_client() as http:
            http.event_hooks["response"].append(commands.note_stream)
            async with streamable_http_client(address[0], http_client=http) as (read, write, _):
                yield read, write


class Commands:
    """What a test can ask for, by the names of the methods."""

    def __init__(self):
        self.session = None
        self.started = {}
        self.changes = 0
        self.changed = asyncio.Event()
        self.listening = asyncio.Event()

    async def note_stream(self, response):
        """Over streamable HTTP, notifications come on a stream of their own, and are lost before it is open."""
        if response.request.method == "GET":
            self.listening.set()

    async def take_message(self, message):
        if isinstance(message, types.ServerNotification) and isinstance(
            message.root, types.ToolListChangedNotification
        ):
            self.changes += 1
            self.changed.set()

    async def list(self):
        return dumped(await self.session.list_tools())["tools"]

    async def call(self, name, arguments):
        return dumped(await self.session.call_tool(name, arguments))

    async def start(self, name, arguments):
        request = self.session._request_id  # the package tells it nowhere else
        self.started[request] = asyncio.ensure_future(self.session.call_tool(name, arguments))
        return request

    async def finish(self, request):
        return dumped(await self.started.pop(request))

    async def cancel(self, request):
        cancelled = types.CancelledNotification(
            method="notifications/cancelled",
            params=types.CancelledNotificationParams(requestId=request, reason="nobody waits"),
        )
        await self.session.send_notification(types.ClientNotification(cancelled))

    async def ping(self):
        return dumped(await self.session.send_ping())

    async def hear(self, changes):
        """Wait until so many notifications of a changed list have come, and return how many have."""
        while self.changes < changes:
            self.changed.clear()
            await self.changed.wait()
        return self.changes


def dumped(result):
    return result.model_dump(mode="json", by_alias=True, exclude_none=True)


def say(**answer):
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


async def main():
    transport, *address = sys.argv[1:]
    commands = Commands()
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    async with (
        connected(transport, address, commands) as (read, write),
        ClientSession(read, write, message_handler=commands.take_message) as session,
    ):
        commands.session = session
        initialized = dumped(await session.initialize())
        if transport == "http":
            await commands.listening.wait()
        say(result=initialized)
        while line := await reader.readline():
            asked = json.loads(line)
            try:
                say(result=await getattr(commands, asked.pop("do"))(**asked))
            except McpError as error:
                say(error={"code": error.error.code, "message": error.error.message})
        for task in commands.started.values():
            task.cancel()


asyncio.run(main())
