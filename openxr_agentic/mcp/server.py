"""tools/list, tools/call and list_changed, from the connection to one app."""

from __future__ import annotations

import asyncio
import difflib
import json
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.server import NotificationOptions, Server, ServerRequestContext
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    ServerEvent,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from openxr_agentic import __version__
from openxr_agentic.host.channel import CallStatus, ChannelError
from openxr_agentic.mcp.answers import call_result, failure
from openxr_agentic.mcp.app_link import AppAwayError, AppLink
from openxr_agentic.mcp.catalogue import Catalogue

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp.server.models import InitializationOptions

    from openxr_agentic.mcp.catalogue import Entry

Context = ServerRequestContext[dict[str, Any]]

_INSTRUCTIONS = (
    "These are the tools that a running OpenXR app offers. They come and go with the app: "
    "when a call says that the app is not there, do what its tip says."
)


class AgentServer(Server[dict[str, Any]]):
    """An MCP server whose tools are those of the app at the other end of a link."""

    def __init__(self, link: AppLink) -> None:
        self._link = link
        self._catalogue = Catalogue()
        self._bus = InMemorySubscriptionBus()
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
        link.on_tools_changed(self._publish_change)

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
        return self._catalogue.of(self._link.tools)

    async def _list_tools(self, context: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=self._listed())

    def _listed(self) -> list[types.Tool]:
        return [entry.told for entry in self._entries.values() if entry.enabled]

    async def _call_tool(self, context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            # Whole numbers stay exact at any size, and text stays as it was sent.
            arguments = json.dumps(params.arguments or {}, ensure_ascii=False, allow_nan=False)
            outcome = await self._link.call(params.name, arguments)
        except AppAwayError as error:
            if params.name not in self._link.tools:
                raise self._unknown_tool(params.name, f" {error}") from error
            return failure(str(error), self._link.comeback_tip)
        except ValueError as error:  # a number beyond a double's range, or what no frame can carry
            return failure(
                f"{params.name} was not called, for its arguments cannot be passed on: {error}.",
                "Send finite numbers and valid Unicode only.",
            )
        except ChannelError as error:
            return failure(f"The app gave no answer: {error}.", "Ask for less, and call again.")
        if outcome.status == CallStatus.UNKNOWN_TOOL:
            raise self._unknown_tool(params.name)
        return call_result(outcome, self._link.comeback_tip, self._entries.get(params.name))

    def _unknown_tool(self, name: str, why: str = "") -> MCPError:
        near = difflib.get_close_matches(name, [tool.name for tool in self._listed()], n=3)
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        return MCPError(types.INVALID_PARAMS, f"Unknown tool: {name}.{why}{hint}")

    async def _publish_change(self) -> None:
        await self._bus.publish(ToolsListChanged())

    async def _push_changes(self, context: Context, params: types.NotificationParams) -> None:
        """Tell one client of the handshake era about changes, until its connection ends.

        Clients of the later era subscribe by a request (`ListenHandler`). The
        earlier ones say "initialized" exactly once for each connection, and the
        task that handles it is cancelled with the connection: so it can be the
        subscription itself. Changes that arrive while one is being sent are
        sent as one.
        """
        if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return
        changed = asyncio.Event()

        def wake(event: ServerEvent) -> None:
            changed.set()

        unsubscribe = self._bus.subscribe(wake)
        try:
            while True:
                await changed.wait()
                changed.clear()
                await context.session.send_tool_list_changed()
        finally:
            unsubscribe()
