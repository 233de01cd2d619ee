"""How a call ended, as an MCP result that an agent can act on.

A call that reached no result is an *error result*, not a protocol error: the
agent reads it and decides what to do. Failures follow the form of Meta's own
tools: a line ``Error: …`` and, where there is something to do, ``Tip: …``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcp_types import CallToolResult, TextContent

from openxr_agentic.errors import result_name
from openxr_agentic.host.channel import CallResult, CallStatus
from openxr_agentic.mcp.json_objects import read_object

if TYPE_CHECKING:
    from openxr_agentic.mcp.catalogue import Entry

ERROR_MARK: Final = "Error: "

_TIPS: Final = {
    CallStatus.FAILED: "The tool itself failed; look at the app's log, or try other arguments.",
    CallStatus.TIMED_OUT: (
        "The app may be busy, paused or between scenes. Look at its state before calling again; "
        "a call that had not started never runs."
    ),
    CallStatus.CANCELLED: "Call it again if it is still wanted.",
    CallStatus.REFUSED: "Too many calls wait in the app; wait for their answers, then call again.",
}


def text_result(text: str, *, is_error: bool) -> CallToolResult:
    """Return a result of one text item."""
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=is_error)


def failure(reason: str, tip: str) -> CallToolResult:
    """Return an error result that says what went wrong and what to do."""
    return text_result(f"{ERROR_MARK}{reason}\nTip: {tip}", is_error=True)


def call_result(outcome: CallResult, comeback_tip: str, entry: Entry | None) -> CallToolResult:
    """Return what the agent sees of a call that the app has answered.

    Args:
        outcome: The app's answer.
        comeback_tip: What to do about an app that is ending.
        entry: What agents are told of the tool; None: it is not in the list yet.
    """
    if outcome.status == CallStatus.DONE:
        is_error = outcome.error or (_has_only_words(entry) and outcome.text.startswith(ERROR_MARK))
        if is_error or entry is None or entry.told.output_schema is None:
            return text_result(outcome.text, is_error=is_error)
        return _promised_object(outcome.text, entry.told.name)
    reason = outcome.text.removeprefix(ERROR_MARK) or f"The call ended as {outcome.status.name}."
    if outcome.result < 0:
        reason += f" ({result_name(outcome.result)})"
    tip = f"The app is ending. {comeback_tip}" if outcome.status == CallStatus.CLOSING else _TIPS[outcome.status]
    return failure(reason, tip)


def _has_only_words(entry: Entry | None) -> bool:
    """Whether a tool's text alone can say that it failed: its app may know of no error mark.

    A text that begins ``Error: `` is how tools of this extension report a
    failure: the callback's XrResult has no words.
    """
    return entry is None or not entry.source.metadata


def _promised_object(text: str, tool: str) -> CallToolResult:
    """Return the result of a tool with an output schema: the text, and what it says as an object.

    Without the object, clients drop the whole result, the text included; so the
    agent gets an error with the text inside.
    """
    try:
        structured = read_object(text)
    except ValueError as error:
        return failure(
            f"{tool} ran, but its result is not the JSON object that its output schema promises ({error}):\n{text}",
            f"This is a fault of {tool} itself; use the text as it is instead of calling it again.",
        )
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=structured)
