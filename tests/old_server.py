"""An MCP server that speaks the protocol's first version alone, written by hand: HTTP+SSE, as in 2024, at ``/sse``.

At ``/stream`` it is streamable HTTP that answers in events, as servers did next.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import uvicorn
from sse_starlette import EventSourceResponse
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

from openxr_agentic.mcp.transports.ports import listen

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from starlette.requests import Request

VERSION = "2024-11-05"


@dataclass
class OldServer:
    """What it offers, and what it was told.

    Attributes:
        tools: What tools/list gives.
        answer: Makes the result of a call of its parameters; None: it never answers.
        token: Whoever does not send it gets a 401.
        meta: What the list of tools has as its ``_meta``.
        messages: What clients sent, in order.
        tokens: The Authorization headers that came.
        spoiled: What is sent at ``/stream`` for an answer, by method; it may be anything.
    """

    tools: list[dict[str, Any]] = field(default_factory=list)
    answer: Callable[[dict[str, Any]], dict[str, Any] | None] = lambda params: text_result("ok")
    token: str = ""
    meta: dict[str, Any] = field(default_factory=dict)
    messages: list[dict[str, Any]] = field(default_factory=list)
    tokens: list[str | None] = field(default_factory=list)
    spoiled: dict[str, str] = field(default_factory=dict)
    _streams: dict[str, asyncio.Queue[dict[str, Any]]] = field(default_factory=dict)

    def methods(self) -> list[str]:
        """The methods of the messages that came."""
        return [message["method"] for message in self.messages]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[str]:
        """Serve until the block ends; gives the URL."""
        listener = listen(0)
        port = listener.getsockname()[1]
        routes = [
            Route("/sse", self._stream),
            Route("/messages", self._post, methods=["POST"]),
            Route("/stream", self._answer, methods=["POST"]),
        ]
        app = Starlette(routes=routes)
        config = uvicorn.Config(app, lifespan="off", log_level="critical", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        serving = asyncio.ensure_future(server._serve(sockets=[listener]))
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            server.should_exit = True
            await serving

    def _refused(self, request: Request) -> Response | None:
        self.tokens.append(request.headers.get("authorization"))
        if self.token and self.tokens[-1] != f"Bearer {self.token}":
            return Response(status_code=401)
        return None

    async def _stream(self, request: Request) -> Response:
        if refused := self._refused(request):
            return refused
        name = str(len(self._streams))
        queue = self._streams[name] = asyncio.Queue()

        async def events() -> AsyncIterator[dict[str, str]]:
            yield {"event": "endpoint", "data": f"/messages?session_id={name}"}
            while True:
                yield {"event": "message", "data": json.dumps(await queue.get())}

        return EventSourceResponse(events())

    async def _post(self, request: Request) -> Response:
        if refused := self._refused(request):
            return refused
        message = await request.json()
        self.messages.append(message)
        if "id" in message and (reply := self._reply(message)) is not None:
            await self._streams[request.query_params["session_id"]].put(
                {"jsonrpc": "2.0", "id": message["id"], **reply}
            )
        return Response(status_code=202)

    async def _answer(self, request: Request) -> Response:
        message = await request.json()
        self.messages.append(message)
        if "id" not in message:
            return Response(status_code=202)
        reply = json.dumps({"jsonrpc": "2.0", "id": message["id"], **(self._reply(message) or {})})

        async def events() -> AsyncIterator[dict[str, str]]:
            yield {"event": "message", "data": self.spoiled.get(message["method"], reply)}

        return EventSourceResponse(events())

    def _reply(self, message: dict[str, Any]) -> dict[str, Any] | None:
        if message["method"] == "initialize":
            info = {"name": "old", "version": "1"}
            return {"result": {"protocolVersion": VERSION, "capabilities": {"tools": {}}, "serverInfo": info}}
        if message["method"] == "tools/list":
            return {"result": {"tools": self.tools, **({"_meta": self.meta} if self.meta else {})}}
        if message["method"] == "ping":
            return {"result": {}}
        if message["method"] == "tools/call":
            result = self.answer(message["params"])
            return None if result is None else result if "error" in result else {"result": result}
        return {"error": {"code": -32601, "message": "Method not found"}}


def tool(name: str, properties: dict[str, Any] | None = None, **schema: Any) -> dict[str, Any]:
    """A tool as tools/list has it."""
    return {"name": name, "inputSchema": {"type": "object", "properties": properties or {}, **schema}}


def text_result(*texts: str, is_error: bool = False) -> dict[str, Any]:
    """A result of text items."""
    return {"content": [{"type": "text", "text": text} for text in texts], "isError": is_error}
