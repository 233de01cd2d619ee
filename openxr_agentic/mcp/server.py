"""The MCP server: tools/list, tools/call and list_changed, from the connection to the apps."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

import mcp_types as types
from mcp.server import NotificationOptions, Server, ServerRequestContext
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    ServerEvent,
    ToolsListChanged,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from openxr_agentic import __version__
from openxr_agentic.mcp.answering.calls import Caller, Calls
from openxr_agentic.mcp.answering.catalogue import Catalogue
from openxr_agentic.mcp.answering.options import ServerOptions
from openxr_agentic.mcp.answering.plain_results import failure
from openxr_agentic.mcp.transports.ports import HTTP_PATH

if TYPE_CHECKING:
    from collections.abc import Collection, Coroutine, Mapping

    from mcp.server.models import InitializationOptions
    from starlette.requests import Request

    from openxr_agentic.mcp.answering.catalogue import Entry
    from openxr_agentic.mcp.apps.source import ToolSource

ABSENCE_KEY: Final = "openxr-agentic/absence"
"""Where the ``_meta`` of a list says why tools are not in it."""

Context = ServerRequestContext[dict[str, Any]]

_INSTRUCTIONS = (
    "These are the tools that a running OpenXR app offers. They come and go with the app: "
    "when a call says that the app is not there, do what its tip says."
)


class AgentServer(Server[dict[str, Any]]):
    """An MCP server whose tools are those of the apps of a source.

    Args:
        source: One app (`AppLink`) or all of them (`AppFleet`). Who makes the server also runs it.
        options: How the server answers.
    """

    def __init__(self, source: ToolSource, options: ServerOptions | None = None) -> None:
        options = options or ServerOptions()
        self._source = source
        self._catalogue = Catalogue(options.policy, as_meta=options.as_meta)
        self._calls = Calls(source, self._catalogue, options)
        self._bus = InMemorySubscriptionBus()
        self._told: set[int] = set()  # clients of the handshake era, which live as long as their ids are here
        self._listen = ListenHandler(self._bus)
        super().__init__(
            "openxr-agentic",
            version=__version__,
            instructions=_INSTRUCTIONS,
            get_tool_input_schema=self._input_schema,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_subscriptions_listen=self._listen,
        )
        self.add_notification_handler("notifications/initialized", types.NotificationParams, self._push_changes)
        source.on_changed(self._publish_change)

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        """Announce list_changed on every transport, also where the package asks without options."""
        return super().create_initialization_options(
            notification_options or NotificationOptions(tools_changed=True),
            experimental_capabilities,
            extensions,
        )

    def end_subscriptions(self) -> None:
        """End the streams on which clients listen for changes, as deliberate as the protocol allows."""
        self._listen.close()

    def _input_schema(self, name: str) -> Mapping[str, Any] | None:
        entry = self._entries.get(name)
        return None if entry is None else entry.told.input_schema

    @property
    def _entries(self) -> Mapping[str, Entry]:
        return self._catalogue.of(self._source.offers)

    async def _list_tools(self, context: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        await self._source.refresh()
        entries = self._entries.values()
        result = types.ListToolsResult(tools=[entry.told for entry in entries if entry.listed])
        if why := self._absence(entries):
            result.meta = {ABSENCE_KEY: why}
        return result

    def _absence(self, entries: Collection[Entry]) -> str:
        """Return why tools may be missing that somebody looks for, in words; empty: for no reason known here."""
        denied = sum(entry.refusal is not None for entry in entries)
        disabled = sum(not entry.enabled for entry in entries)
        parts = [self._source.absence] if self._source.absence else []
        if denied:
            parts.append(f"Kept from agents by the server's policy: {denied}.")
        if disabled:
            parts.append(f"Disabled by the app: {disabled}.")
        return " ".join(parts)

    async def _call_tool(self, context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        answering = self._calls.answer(params.name, params.arguments or {}, _caller(context))
        if context.request is None or context.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return await answering
        return await _while_connected(context.request, answering)

    async def _publish_change(self) -> None:
        await self._bus.publish(ToolsListChanged())

    async def _push_changes(self, context: Context, params: types.NotificationParams) -> None:
        """Tell one client of the handshake era about changes, until its connection ends.

        Clients of the later era subscribe by a request (`ListenHandler`). The
        earlier ones say "initialized" when they connect, and the task that handles
        it is cancelled with the connection: so the first one is the subscription
        itself. Changes that arrive while one is being sent are sent as one.
        """
        client = context.session.client_params
        if context.protocol_version in MODERN_PROTOCOL_VERSIONS or client is None or id(client) in self._told:
            return  # a client may say it again
        changed = asyncio.Event()

        def wake(event: ServerEvent) -> None:
            changed.set()

        self._told.add(id(client))
        unsubscribe = self._bus.subscribe(wake)
        try:
            while True:
                await changed.wait()
                changed.clear()
                await context.session.send_tool_list_changed()
        finally:
            unsubscribe()
            self._told.discard(id(client))


def _caller(context: Context) -> Caller:
    known = context.session.client_params
    client = f"{known.client_info.name} {known.client_info.version}".strip() if known else ""
    if context.request is None:
        return Caller(client, "stdio")
    return Caller(client, "http" if _is_streamable(context.request) else "sse")


def _is_streamable(request: Request) -> bool:
    return bool(request.scope["path"] == HTTP_PATH)  # request.url would be put together for each call


async def _while_connected(
    request: Request, answering: Coroutine[Any, Any, types.CallToolResult]
) -> types.CallToolResult:
    """Await an answer as long as the client waits for it.

    The package withdraws a call whose client has vanished, but for streamable HTTP of
    the handshake era: there a client could come back for the answer, to a server that
    keeps it. This one does not, so nobody would get it.
    """
    if not _is_streamable(request):
        return await answering
    task = asyncio.ensure_future(answering)
    leaving = asyncio.ensure_future(_has_left(request))
    try:
        await asyncio.wait((task, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            return failure("The client has left.", "Call again.")
        return task.result()
    finally:
        leaving.cancel()
        task.cancel()
        await asyncio.gather(task, leaving, return_exceptions=True)


async def _has_left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
