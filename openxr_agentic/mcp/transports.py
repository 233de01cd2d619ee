"""Streamable HTTP at /mcp and HTTP+SSE at /sse, on one loopback port.

HTTP+SSE is what Meta's XR Operator serves; streamable HTTP is what clients
prefer today.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import uvicorn
from mcp.server.sse import SseServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.routing import Mount, Route

from openxr_agentic.mcp.ports import LOOPBACK

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from openxr_agentic.mcp.server import AgentServer

HTTP_PATH: Final = "/mcp"
SSE_PATH: Final = "/sse"
_MESSAGES_PATH: Final = "/messages/"

_LOOPBACK_HOSTS: Final = ("127.0.0.1", "localhost", "[::1]")
_SECURITY: Final = TransportSecuritySettings(
    enable_dns_rebinding_protection=True,
    allowed_hosts=[f"{host}:*" for host in _LOOPBACK_HOSTS],
    allowed_origins=[f"http://{host}:*" for host in _LOOPBACK_HOSTS],
)


@dataclass(frozen=True)
class Endpoints:
    """Where clients find the server."""

    port: int

    @classmethod
    def of(cls, listener: socket.socket) -> Endpoints:
        """Return the endpoints of a server on this socket."""
        return cls(listener.getsockname()[1])

    @property
    def http(self) -> str:
        """The URL of streamable HTTP."""
        return f"http://{LOOPBACK}:{self.port}{HTTP_PATH}"

    @property
    def sse(self) -> str:
        """The URL of HTTP+SSE."""
        return f"http://{LOOPBACK}:{self.port}{SSE_PATH}"

    def as_json(self) -> dict[str, int | str]:
        """Return what another program reads: port, and both URLs."""
        return {"port": self.port, "http": self.http, "sse": self.sse}


async def serve(server: AgentServer, listener: socket.socket, stop: asyncio.Event) -> None:
    """Serve until `stop` is set, then end every connection.

    Args:
        server: What answers.
        listener: A listening socket (`ports.listen`); closed on return.
        stop: The caller's wish to end; signals are the caller's matter too.
    """
    manager = StreamableHTTPSessionManager(server)
    sse = _SseEndpoint(server)
    app = Starlette(
        routes=[
            Route(HTTP_PATH, StreamableHTTPASGIApp(manager)),
            Route(SSE_PATH, sse, methods=["GET"]),
            Mount(_MESSAGES_PATH, sse.transport.handle_post_message),
        ],
        middleware=[Middleware(_LoopbackOnly)],
    )
    web = _WebServer(
        uvicorn.Config(
            app,
            lifespan="off",  # the session manager's is entered here, so that it ends first
            log_level="critical",
            access_log=False,
            timeout_graceful_shutdown=1,
        )
    )
    async with manager.run():
        serving = asyncio.ensure_future(web.serve(sockets=[listener]))
        stopping = asyncio.ensure_future(stop.wait())
        try:
            await asyncio.wait((serving, stopping), return_when=asyncio.FIRST_COMPLETED)
        finally:
            # Streams that clients keep open would hold up the web server's own end.
            stopping.cancel()
            server.end_subscriptions()
            sse.end_streams()
    web.should_exit = True
    await serving


class _WebServer(uvicorn.Server):
    """uvicorn without its signal handlers: the command line decides what a signal ends."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _LoopbackOnly:
    """Refuses requests for a foreign Host or from a foreign Origin, on every path.

    A page in the user's browser can reach this port, by DNS rebinding even as
    its own origin. The package's SSE transport would check as well, but answers
    a refusal with an exception; so both transports are checked here, and only here.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._check = TransportSecurityMiddleware(_SECURITY)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            refusal = await self._check.validate_request(Request(scope))
            if refusal is not None:
                await refusal(scope, receive, send)
                return
        await self._app(scope, receive, send)


class _SseEndpoint:
    """GET /sse: one client's stream, from its first byte to its end."""

    def __init__(self, server: AgentServer) -> None:
        self.transport = SseServerTransport(_MESSAGES_PATH)
        self._server = server
        self._ending = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def receive_until_end() -> Message:
            receiving = asyncio.ensure_future(receive())
            ending = asyncio.ensure_future(self._ending.wait())
            try:
                await asyncio.wait((receiving, ending), return_when=asyncio.FIRST_COMPLETED)
                return receiving.result() if receiving.done() else {"type": "http.disconnect"}
            finally:
                receiving.cancel()
                ending.cancel()

        async with self.transport.connect_sse(scope, receive_until_end, send) as (read, write):
            await self._server.run(read, write, self._server.create_initialization_options())

    def end_streams(self) -> None:
        """End every stream as if its client had left: cancelled, the package would leave it half open."""
        self._ending.set()
