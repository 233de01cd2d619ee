"""What an agent sees of the tools on trial: over MCP, or over our host's control channel."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Protocol

from openxr_agentic.doctor.discovery import KINDS, DiscoveryError
from openxr_agentic.host.channel import CallStatus, ChannelClient, find_apps

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

CALL_SECONDS = 3.0
"""How long a tool on trial may take; it answers at once when it is called at all."""

CONNECT_SECONDS = 10.0


class Witness(Protocol):
    """Sees tools as an agent does."""

    async def types(self) -> dict[str, str]:
        """Return the type of each tool's first parameter, as a JSON schema names it."""

    async def call(self, tool: str) -> str | None:
        """Return a tool's text; None: it was not answered."""


class ChannelWitness:
    """Asks our own host."""

    def __init__(self, client: ChannelClient) -> None:
        self._client = client

    async def types(self) -> dict[str, str]:
        """Return the type of each tool's first parameter."""
        tools = await self._client.list_tools()
        return {tool.name: KINDS[tool.parameters[0].type].lower() for tool in tools if tool.parameters}

    async def call(self, tool: str) -> str | None:
        """Return a tool's text."""
        result = await self._client.call(tool, timeout=CALL_SECONDS)
        return result.text if result.status is CallStatus.DONE else None


class McpWitness:
    """Asks an MCP server, as that of Meta's host."""

    def __init__(self, client: Any) -> None:
        self._client = client

    async def types(self) -> dict[str, str]:
        """Return the type of each tool's first parameter."""
        found = {}
        cursor = None
        while True:
            listed = await self._client.list_tools(cursor=cursor)
            for tool in listed.tools:
                properties = tool.input_schema.get("properties") or {}
                for schema in list(properties.values())[:1]:
                    found[tool.name] = str(schema.get("type"))
            cursor = listed.next_cursor
            if cursor is None:
                return found

    async def call(self, tool: str) -> str | None:
        """Return a tool's text."""
        try:
            result = await asyncio.wait_for(self._client.call_tool(tool, {}), CALL_SECONDS)
        except asyncio.TimeoutError:
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
        DiscoveryError: There is none at that address, or `mcp` is not installed.
    """
    try:
        from mcp import Client
        from mcp.client.sse import sse_client
    except ImportError as error:
        raise DiscoveryError(f"--url needs the package mcp: pip install 'openxr-agentic[mcp]' ({error})") from error
    client = Client(sse_client(url) if url.rstrip("/").endswith("/sse") else url)
    try:
        await asyncio.wait_for(client.__aenter__(), CONNECT_SECONDS)
    except Exception as error:
        raise DiscoveryError(f"No MCP server answers at {url}: {type(error).__name__}: {error}") from error
    try:
        yield McpWitness(client)
    finally:
        await client.__aexit__(None, None, None)
