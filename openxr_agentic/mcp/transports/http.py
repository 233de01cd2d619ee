"""Streamable HTTP at /mcp and HTTP+SSE at /sse, on one port.

HTTP+SSE is what Meta's XR Operator serves; streamable HTTP is what clients
prefer today.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import uvicorn
from mcp.server.sse import SseServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.routing import Mount, Route

from openxr_agentic.errors import ConfigurationError
from openxr_agentic.mcp.transports.access import Access
from openxr_agentic.mcp.transports.gate import gate
from openxr_agentic.mcp.transports.ports import HTTP_PATH, LOOPBACK, SSE_PATH, address_of, in_url

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.types import Message, Receive, Scope, Send

    from openxr_agentic.mcp.server import AgentServer

_MESSAGES_PATH: Final = "/messages/"


@dataclass(frozen=True)
class Endpoints:
    """Where clients find the server.

    Attributes:
        port: The port.
        host: The address in the URLs, without brackets.
        everywhere: Whether the server listens on every address of the machine, of which `host` is one.
    """

    port: int
    host: str = LOOPBACK
    everywhere: bool = False

    @classmethod
    def of(cls, listener: socket.socket) -> Endpoints:
        """Return the endpoints of a server on this socket."""
        host, port = listener.getsockname()[:2]
        everywhere = address_of(host).is_unspecified
        return cls(port, _reachable_address() if everywhere else host, everywhere)

    @property
    def http(self) -> str:
        """The URL of streamable HTTP."""
        return f"{self._base}{HTTP_PATH}"

    @property
    def sse(self) -> str:
        """The URL of HTTP+SSE."""
        return f"{self._base}{SSE_PATH}"

    @property
    def _base(self) -> str:
        return f"http://{in_url(address_of(self.host))}:{self.port}"

    def as_json(self) -> dict[str, int | str | bool]:
        """Return what another program reads: host, port, whether other addresses do too, and both URLs."""
        return {
            "host": self.host,
            "port": self.port,
            "everywhere": self.everywhere,
            "http": self.http,
            "sse": self.sse,
        }


def _reachable_address() -> str:
    """Return the address of this machine that others most likely reach; loopback where there is no network.

    An address and not the machine's name: requests for a name are refused unless it is allowed.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # chooses a route; nothing is sent
        except OSError:
            return LOOPBACK
        return str(probe.getsockname()[0])


async def serve(
    server: AgentServer, listener: socket.socket, stop: asyncio.Event, access: Access | None = None
) -> None:
    """Serve until `stop` is set, then end every connection.

    Args:
        server: What answers.
        listener: A listening socket (`ports.listen`); closed on return.
        stop: The caller's wish to end; signals are the caller's matter too.
        access: What requests must have; None: `Access()`, a loopback name and nothing else.

    Raises:
        ConfigurationError: The socket can be reached from other machines, and `access` has no token.
    """
    access = access or Access()
    try:
        access.require_token_beyond_loopback(listener.getsockname()[0])
    except ConfigurationError:
        listener.close()
        raise
    manager = StreamableHTTPSessionManager(server)
    sse = _SseEndpoint(server)
    app = Starlette(
        routes=[
            Route(HTTP_PATH, StreamableHTTPASGIApp(manager)),
            Route(SSE_PATH, sse, methods=["GET"]),
            Mount(_MESSAGES_PATH, sse.transport.handle_post_message),
        ],
        middleware=gate(access),
    )
    web = _WebServer(
        uvicorn.Config(
            app,
            lifespan="off",  # the session manager's is entered here, so that it ends first
            log_config=None,  # where messages go is the caller's matter too
            log_level=None,
            access_log=False,
            proxy_headers=False,  # nobody is believed to be somebody else
            ws="none",
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
