"""One fake app, the agent's server and official MCP clients, in one event loop."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from mcp import Client
from mcp.client.sse import sse_client
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client
from mcp_types import TextContent

from openxr_agentic.mcp.apps.fleet import AppFleet
from openxr_agentic.mcp.apps.link import AppLink
from openxr_agentic.mcp.server import AgentServer
from openxr_agentic.mcp.transports.http import Endpoints, serve
from openxr_agentic.mcp.transports.ports import LOOPBACK, listen

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine

    from mcp.client.session import MessageHandlerFnT
    from mcp_types import CallToolResult

    from openxr_agentic.mcp.answering.options import ServerOptions
    from openxr_agentic.mcp.apps.source import ToolSource
    from openxr_agentic.mcp.transports.access import Access

LIMIT_SECONDS = 90.0

T = TypeVar("T")


def run(scenario: Coroutine[Any, Any, T]) -> T:
    """Run a test's scenario; one that hangs fails instead."""
    return asyncio.run(asyncio.wait_for(scenario, LIMIT_SECONDS))


async def until(condition: Callable[[], bool]) -> None:
    """Wait for what another task or process is about to do."""
    while not condition():  # noqa: ASYNC110 - most conditions are another process's
        await asyncio.sleep(0.005)


async def echo(arguments: str) -> str:
    """A tool that answers with its arguments."""
    return arguments


def text_of(result: CallToolResult) -> str:
    """The text of a result that must hold exactly one text item."""
    (item,) = result.content
    assert isinstance(item, TextContent)
    return item.text


class Gate:
    """A tool that answers only when the test opens it."""

    def __init__(self) -> None:
        self.entered = asyncio.Event()
        self.opened = asyncio.Event()

    async def __call__(self, arguments: str) -> str:
        self.entered.set()
        await self.opened.wait()
        return "opened"


@dataclass
class Serving:
    """A running server.

    Attributes:
        link: Its source when that is one app.
    """

    link: AppLink
    endpoints: Endpoints

    def client(
        self,
        transport: str = "http",
        mode: str = "auto",
        on_message: MessageHandlerFnT | None = None,
        headers: dict[str, str] | None = None,
    ) -> Client:
        """Return an official client, not yet entered: transport "http" or "sse"."""
        server: Any = self.endpoints.http
        if transport == "sse":
            server = sse_client(self.endpoints.sse, headers=headers)
        elif headers:
            server = _http_client(server, headers)
        return Client(server, mode=mode, message_handler=on_message)


@asynccontextmanager
async def _http_client(url: str, headers: dict[str, str]) -> AsyncIterator[Any]:
    """Streamable HTTP with headers: who brings the HTTP client has to close it."""
    async with create_mcp_http_client(headers) as client, streamable_http_client(url, http_client=client) as streams:
        yield streams


@asynccontextmanager
async def serving(
    wanted: str | None = None,
    *,
    ends_with_app: bool = False,
    host: str = LOOPBACK,
    access: Access | None = None,
    options: ServerOptions | None = None,
) -> AsyncIterator[Serving]:
    """Serve whatever app there is on a free port until the block ends."""
    link = AppLink(wanted, ends_with_app=ends_with_app)
    async with served(link, options, access, host) as endpoints:
        yield Serving(link, endpoints)


@asynccontextmanager
async def serving_all(options: ServerOptions | None = None) -> AsyncIterator[tuple[AppFleet, Client]]:
    """Serve all apps until the block ends; yields the source, and a client of the server."""
    fleet = AppFleet()
    async with served(fleet, options) as endpoints, Client(endpoints.http) as client:
        yield fleet, client


@asynccontextmanager
async def served(
    source: ToolSource,
    options: ServerOptions | None = None,
    access: Access | None = None,
    host: str = LOOPBACK,
) -> AsyncIterator[Endpoints]:
    """Serve a source on a free port until the block ends."""
    listener = listen(0, host)
    stop = asyncio.Event()
    following = asyncio.ensure_future(source.run())
    server = asyncio.ensure_future(serve(AgentServer(source, options), listener, stop, access))
    try:
        yield Endpoints.of(listener)
    finally:
        stop.set()
        await server
        following.cancel()
        with suppress(asyncio.CancelledError):
            await following


async def until_connected(server: Serving) -> None:
    """Wait until the server has found its app."""
    await until(lambda: server.link.connected)
