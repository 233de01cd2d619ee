"""What an agent sees of the tools on trial: over MCP, or over our host's control channel."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Protocol

from openxr_agentic.doctor.discovery import KINDS, DiscoveryError
from openxr_agentic.doctor.findings import clipped
from openxr_agentic.errors import AgenticError
from openxr_agentic.host.channel import CallStatus, ChannelClient, find_apps

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

CALL_SECONDS = 3.0
"""How long a tool on trial may take; it answers at once when it is called at all."""

ANSWER_SECONDS = 10.0


class Witness(Protocol):
    """Sees tools as an agent does."""

    async def tools(self) -> dict[str, str]:
        """Return the tools' names, each with its first parameter's type as a JSON schema names it; empty: none."""

    async def call(self, tool: str) -> str | None:
        """Return a tool's text; None: it was not answered."""


class ChannelWitness:
    """Asks our own host."""

    def __init__(self, client: ChannelClient) -> None:
        self._client = client

    async def tools(self) -> dict[str, str]:
        """Return the tools' names and types."""
        tools = await self._client.list_tools()
        return {tool.name: KINDS[tool.parameters[0].type].lower() if tool.parameters else "" for tool in tools}

    async def call(self, tool: str) -> str | None:
        """Return a tool's text."""
        result = await self._client.call(tool, timeout=CALL_SECONDS)
        return result.text if result.status is CallStatus.DONE else None


class McpWitness:
    """Asks an MCP server, as that of Meta's host."""

    def __init__(self, client: Any) -> None:
        self._client = client

    async def tools(self) -> dict[str, str]:
        """Return the tools' names and types."""
        found = {}
        cursor = None
        while True:
            listed = await self._client.list_tools(cursor=cursor, cache_mode="refresh")
            for tool in listed.tools:
                found[tool.name] = _first_type(tool.input_schema.get("properties"))
            cursor = listed.next_cursor
            if cursor is None:
                return found

    async def call(self, tool: str) -> str | None:
        """Return a tool's text."""
        from mcp import MCPError

        try:
            result = await self._client.call_tool(tool, {}, read_timeout_seconds=CALL_SECONDS)
        except MCPError:  # that time was over, or what the server says instead of an answer
            return None
        texts = [item.text for item in result.content if item.type == "text"]
        return texts[0] if texts and not result.is_error else None


@asynccontextmanager
async def channel_witness(pid: int) -> AsyncIterator[ChannelWitness | None]:
    """Connect to the control channel of a process; None: it has none."""
    path = next((app.path for app in find_apps() if app.pid == pid), None)
    if path is None:
        yield None
        return
    client = await ChannelClient.connect(path)
    try:
        yield ChannelWitness(client)
    finally:
        await client.close()


@asynccontextmanager
async def mcp_witness(url: str) -> AsyncIterator[McpWitness]:
    """Connect to an MCP server.

    Raises:
        DiscoveryError: There is none at that address, or `mcp` is not installed. In the block: what it
            answers is against the protocol, or it answers no more.
    """
    try:
        from mcp import Client
        from mcp.client.sse import sse_client
    except ImportError as error:
        raise DiscoveryError(f"--url needs the package mcp: pip install 'openxr-agentic[mcp]' ({error})") from error
    server = sse_client(url) if url.rstrip("/").endswith("/sse") else url
    connected = False
    try:
        async with Client(server, read_timeout_seconds=ANSWER_SECONDS) as client:
            connected = True
            yield McpWitness(client)
    except Exception as error:
        # The client wraps what was raised in the block, too, in groups of its tasks.
        cause = _innermost(error)
        if isinstance(cause, AgenticError):
            raise cause from None
        what = f"The MCP server at {url} gives odd answers" if connected else f"No MCP server answers at {url}"
        lines = str(cause).strip().splitlines() or [""]
        raise DiscoveryError(f"{what}: {clipped(f'{type(cause).__name__}: {lines[0]}')}") from error


def _first_type(properties: object) -> str:
    """Return the type of a schema's first property; empty: it has none, or says nothing of it."""
    first = next(iter(properties.values()), None) if isinstance(properties, dict) else None
    return str(first.get("type", "")) if isinstance(first, dict) else ""


def _innermost(error: BaseException) -> BaseException:
    """Return the first of what a group of errors holds."""
    inner = getattr(error, "exceptions", ())
    return _innermost(inner[0]) if inner else error
