"""What an agent sees of the tools on trial: over MCP, or over our host's control channel."""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, Protocol

from openxr_agentic.doctor.discovery import KINDS, DiscoveryError
from openxr_agentic.doctor.findings import clipped
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
                schemas = list((tool.input_schema.get("properties") or {}).values())
                found[tool.name] = str(schemas[0].get("type", "")) if schemas else ""
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
        DiscoveryError: There is none at that address, or `mcp` is not installed.
    """
    try:
        from mcp import Client
        from mcp.client.sse import sse_client
    except ImportError as error:
        raise DiscoveryError(f"--url needs the package mcp: pip install 'openxr-agentic[mcp]' ({error})") from error
    server = sse_client(url) if url.rstrip("/").endswith("/sse") else url
    async with AsyncExitStack() as stack:
        try:
            client = await stack.enter_async_context(Client(server, read_timeout_seconds=ANSWER_SECONDS))
        except Exception as error:
            raise DiscoveryError(f"No MCP server answers at {url}: {_cause(error)}") from error
        yield McpWitness(client)


def _cause(error: BaseException) -> str:
    """Say what went wrong: the first of what a group of errors holds."""
    inner = getattr(error, "exceptions", ())
    return _cause(inner[0]) if inner else clipped(f"{type(error).__name__}: {error}")
