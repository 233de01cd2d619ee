"""tools/call: one call, from what a client sent to what it gets."""

from __future__ import annotations

import difflib
import json
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CallToolResult

from openxr_agentic.errors import AgenticError
from openxr_agentic.host.channel import CallStatus, ChannelError, ChannelTimeoutError
from openxr_agentic.mcp.answering.answers import call_result
from openxr_agentic.mcp.answering.plain_results import failure
from openxr_agentic.mcp.apps.source import AppAwayError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openxr_agentic.mcp.answering.catalogue import Catalogue, Entry
    from openxr_agentic.mcp.answering.options import ServerOptions
    from openxr_agentic.mcp.apps.source import ToolSource

_MOST_HINTS: Final = 3
_MOST_OF_A_NAME: Final = 128

_OUTCOMES: Final = {
    CallStatus.DONE: "ok",
    CallStatus.FAILED: "failed",
    CallStatus.UNKNOWN_TOOL: "unknown_tool",
    CallStatus.TIMED_OUT: "timed_out",
    CallStatus.CANCELLED: "cancelled",
    CallStatus.CLOSING: "app_away",
    CallStatus.REFUSED: "refused",
}


class Caller(NamedTuple):
    """Who called, for the audit log.

    Attributes:
        client: The client's name and version, as it says; empty when it says nothing.
        transport: "http", "sse" or "stdio".
    """

    client: str
    transport: str


class Calls:
    """Answers calls, within what the server's options allow.

    Args:
        source: The apps.
        catalogue: What agents are told of their tools.
        options: How the server answers.
    """

    def __init__(self, source: ToolSource, catalogue: Catalogue, options: ServerOptions) -> None:
        self._source = source
        self._catalogue = catalogue
        self._options = options

    async def answer(self, name: str, arguments: Mapping[str, Any], caller: Caller) -> CallToolResult:
        """Return the result of one call; cancelled, the call is withdrawn from the app.

        Args:
            name: The tool's name as agents see it.
            arguments: What the client sent.
            caller: Who called.

        Raises:
            MCPError: No app offers such a tool.
        """
        try:
            # Whole numbers stay exact at any size, and text stays as it was sent.
            text: str | ValueError = json.dumps(arguments, ensure_ascii=False, allow_nan=False)
        except ValueError as error:  # a number beyond a double's range
            text = error
        audit = self._options.audit
        if audit is None:
            return (await self._answer(name, text))[1]
        started, begin = time.time(), time.perf_counter()
        outcome, error_text = "cancelled", ""
        try:
            outcome, result = await self._answer(name, text)
        except MCPError as unknown:
            outcome, error_text = "unknown_tool", str(unknown)
            raise
        else:
            if result.is_error:
                error_text = getattr(result.content[0], "text", "")
            return result
        finally:
            offer = self._source.offers.get(name)
            audit.record(
                client=caller.client,
                transport=caller.transport,
                app=offer.app if offer else "",
                tool=name,
                arguments=text if isinstance(text, str) else "",
                outcome=outcome,
                error=error_text,
                started=started,
                duration=time.perf_counter() - begin,
            )

    @property
    def _entries(self) -> Mapping[str, Entry]:
        return self._catalogue.of(self._source.offers)

    async def _answer(self, name: str, arguments: str | ValueError) -> tuple[str, CallToolResult]:
        """Return the outcome in one word, and the result."""
        entry = await self._find(name)
        if not self._options.policy.open:
            # What is allowed may hang on what the app says of the tool now, not when it was listed.
            if not await self._source.refresh(name):
                return "denied", failure(
                    f"{name} was not called: its app does not tell its tools, so the server's policy cannot be kept.",
                    "Call again later.",
                )
            entry = await self._find(name)
        if entry.refusal is not None:
            return "denied", failure(
                f"{name} was not called, for the server refuses this: {entry.refusal}.",
                "Do without it, or ask the user to allow it.",
            )
        try:
            if not isinstance(arguments, str):
                raise arguments
            outcome = await self._source.call(name, arguments, self._options.call_timeout)
        except (AgenticError, ValueError) as error:
            return self._no_answer(name, error)
        if outcome.status == CallStatus.UNKNOWN_TOOL:
            raise self._unknown_tool(name, "")
        result = call_result(outcome, self._source.comeback_tip(name), entry, self._options)
        tool_error = outcome.status == CallStatus.DONE and result.is_error
        return "tool_error" if tool_error else _OUTCOMES[outcome.status], result

    def _no_answer(self, name: str, error: AgenticError | ValueError) -> tuple[str, CallToolResult]:
        if isinstance(error, AppAwayError):
            return "app_away", failure(str(error), self._source.comeback_tip(name))
        if isinstance(error, ChannelTimeoutError):
            return "timed_out", failure(
                f"{name} gave no answer within {self._options.call_timeout:g} s, and {error}.",
                "Whether it ran is unknown. Ask the user to look at the app.",
            )
        if isinstance(error, ChannelError):
            return "failed", failure(f"The app gave no answer: {error}.", "Ask for less, and call again.")
        return "failed", failure(
            f"{name} was not called, for its arguments cannot be passed on: {error}.",
            "Send finite numbers and valid Unicode only.",
        )

    async def _find(self, name: str) -> Entry:
        """Return what agents are told of a tool, also of one that was registered this moment.

        Raises:
            MCPError: There is no such tool.
        """
        if (entry := self._entries.get(name)) is None:
            await self._source.refresh()
            if (entry := self._entries.get(name)) is None:
                raise self._unknown_tool(name, self._source.absence)
        return entry

    def _unknown_tool(self, name: str, why: str) -> MCPError:
        listed = [name for name, entry in self._entries.items() if entry.listed]
        # By its own name, without what the app or the server puts in front; then by its letters.
        shown = name if len(name) <= _MOST_OF_A_NAME else f"{name[:_MOST_OF_A_NAME]}…"
        near = [other for other in listed if other.endswith(f"_{name}")] or difflib.get_close_matches(shown, listed)
        hint = f" Did you mean {' or '.join(near[:_MOST_HINTS])}?" if near else ""
        return MCPError(INVALID_PARAMS, f"Unknown tool: {shown}.{f' {why}' if why else ''}{hint}")
