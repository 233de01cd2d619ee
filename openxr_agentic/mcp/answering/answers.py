"""How a call ended, as an MCP result that an agent can act on.

A call that reached no result is an *error result*, not a protocol error: the
agent reads it and decides what to do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from openxr_agentic.errors import result_name
from openxr_agentic.host.channel import CallResult, CallStatus
from openxr_agentic.mcp.answering.contents import content_of
from openxr_agentic.mcp.answering.plain_results import ERROR_MARK, failure, text_result

if TYPE_CHECKING:
    from mcp_types import CallToolResult

    from openxr_agentic.mcp.answering.catalogue import Entry
    from openxr_agentic.mcp.answering.options import ServerOptions

_TIPS: Final = {
    CallStatus.FAILED: "The tool itself failed; look at the app's log, or try other arguments.",
    CallStatus.TIMED_OUT: (
        "The app may be busy, paused or between scenes. Look at its state before calling again; "
        "a call that had not started never runs."
    ),
    CallStatus.CANCELLED: "Call it again if it is still wanted.",
    CallStatus.REFUSED: "Too many calls wait in the app; wait for their answers, then call again.",
}

_MOST_BYTES_OF_A_CHARACTER: Final = 4


def call_result(outcome: CallResult, comeback_tip: str, entry: Entry, options: ServerOptions) -> CallToolResult:
    """Return what the agent sees of a call that the app has answered.

    Args:
        outcome: The app's answer.
        comeback_tip: What to do about an app that is ending.
        entry: What agents are told of the tool.
        options: How the server answers.
    """
    if outcome.status == CallStatus.DONE:
        return _done(outcome, entry, options)
    reason = outcome.text.removeprefix(ERROR_MARK) or f"The call ended as {outcome.status.name}."
    if outcome.result < 0:
        reason += f" ({result_name(outcome.result)})"
    tip = f"The app is ending. {comeback_tip}" if outcome.status == CallStatus.CLOSING else _TIPS[outcome.status]
    return failure(reason, tip)


def _done(outcome: CallResult, entry: Entry, options: ServerOptions) -> CallToolResult:
    text = outcome.text
    # A text that begins so is how tools of this extension report a failure: the callback's XrResult has no
    # words. Where the app knows of the error mark, the mark alone decides.
    marked = outcome.error and not options.as_meta
    is_error = marked or (not entry.marks_errors and text.startswith(ERROR_MARK))
    limit = options.max_result_bytes
    if limit is not None and len(text) * _MOST_BYTES_OF_A_CHARACTER > limit:
        encoded = text.encode()
        if len(encoded) > limit:
            return _cut(encoded, limit, entry, is_error=is_error)
    if is_error or options.as_meta:
        return text_result(text, is_error=is_error)
    return content_of(text, entry.told)


def _cut(encoded: bytes, limit: int, entry: Entry, *, is_error: bool) -> CallToolResult:
    """Return as much of a text as the cap allows, with the words that say so inside the cap.

    Half an object is none, and half a picture too: where the agent expects one, it is an error.
    """
    tool = entry.told.name
    promised = entry.told.output_schema is not None
    if encoded.startswith(b"data:"):
        return failure(
            f"The result of {tool} is media of {len(encoded)} bytes, more than the {limit} that this server passes on.",
            "Ask for a smaller one.",
        )
    head = f"{ERROR_MARK}{tool} ran, but its result is larger than this server passes on. It begins:\n"
    mark = f"\n[Cut: this server passes on {limit} bytes of a result, and this one has {len(encoded)}. Ask for less.]"
    begin = head if promised and not is_error else ""
    kept = max(0, limit - len(begin.encode()) - len(mark))
    text = begin + encoded[:kept].decode(errors="ignore") + mark
    return text_result(text, is_error=is_error or promised)
