"""How a call ended, as an MCP result that an agent can act on.

A call that reached no result is an *error result*, not a protocol error: the
agent reads it and decides what to do. Failures follow the form of Meta's own
tools: a line ``Error: …`` and, where there is something to do, ``Tip: …``.
"""

from __future__ import annotations

from typing import Final

from mcp_types import CallToolResult, TextContent

from openxr_agentic.errors import result_name
from openxr_agentic.host.channel import CallResult, CallStatus

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


def call_result(outcome: CallResult, comeback_tip: str) -> CallToolResult:
    """Return what the agent sees of a call that the app has answered.

    Args:
        outcome: The app's answer.
        comeback_tip: What to do about an app that is ending.

    A text that begins ``Error: `` is how tools of this extension report a
    failure: the callback's XrResult has no words.
    """
    if outcome.status == CallStatus.DONE:
        return text_result(outcome.text, is_error=outcome.text.startswith(ERROR_MARK))
    reason = outcome.text.removeprefix(ERROR_MARK) or f"The call ended as {outcome.status.name}."
    if outcome.result < 0:
        reason += f" ({result_name(outcome.result)})"
    tip = f"The app is ending. {comeback_tip}" if outcome.status == CallStatus.CLOSING else _TIPS[outcome.status]
    return failure(reason, tip)
