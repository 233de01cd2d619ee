"""How a call ended, as an MCP result that an agent can act on.

A call that reached no result is an *error result*, not a protocol error: the
agent reads it and decides what to do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcp_types import AudioContent, ImageContent, TextContent

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
    result = _done(outcome, entry, options) if outcome.status == CallStatus.DONE else _not_done(outcome, comeback_tip)
    limit = options.max_result_bytes
    return result if limit is None else _within(limit, result, entry)


def _not_done(outcome: CallResult, comeback_tip: str) -> CallToolResult:
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
    if is_error or options.as_meta:
        return text_result(text, is_error=is_error)
    return content_of(text, entry)


def _within(limit: int, result: CallToolResult, entry: Entry) -> CallToolResult:
    """Return a result whose text is within the cap, with the words that say that it was cut.

    Half an object is none, and half a picture too: where the agent expects one, it is an error.
    """
    (item,) = result.content
    name = entry.told.name
    if not isinstance(item, TextContent):
        size = len(item.data) if isinstance(item, (ImageContent, AudioContent)) else 0
        if size <= limit:
            return result
        result = failure(f"The media that {name} returned has {size} bytes, more than is passed on.", "Ask for less.")
        item = result.content[0]
    text = item.text if isinstance(item, TextContent) else ""
    if len(text) * _MOST_BYTES_OF_A_CHARACTER <= limit or len(encoded := text.encode()) <= limit:
        return result
    promised = entry.check_result is not None and not result.is_error
    begin = f"{ERROR_MARK}{name} ran, but its result is too large. It begins:\n" if promised else ""
    mark = f"\n[Cut: this server passes on {limit} bytes of a result, and this one has {len(encoded)}. Ask for less.]"
    kept = limit - len(begin.encode()) - len(mark)
    return text_result(
        begin + encoded[:kept].decode(errors="ignore") + mark, is_error=promised or bool(result.is_error)
    )
