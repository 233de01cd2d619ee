"""What a tool's text is, beside text: an object, or a picture or sound."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from mcp_types import CallToolResult, TextContent

from openxr_agentic.mcp.answering.json_objects import read_object
from openxr_agentic.mcp.answering.media import media_content
from openxr_agentic.mcp.answering.plain_results import failure, text_result

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openxr_agentic.mcp.answering.catalogue import Entry

WARNING_KEY: Final = "openxr-agentic/warning"
"""Where a result's ``_meta`` says what a client should know of it."""

_MAX_SAFE_INTEGER: Final = 2**53 - 1
_LONG_NUMBER: Final = re.compile(r"\d{16}")


def content_of(text: str, entry: Entry) -> CallToolResult:
    """Return the result of a tool that did what it was asked to.

    Args:
        text: What it returned, whole.
        entry: What agents are told of it.
    """
    if (media := media_content(text)) is not None:
        return CallToolResult(content=[media])
    structured, why = None, "it does not begin as one"
    if text[:1] == "{" or (text[:1].isspace() and text.lstrip()[:1] == "{"):
        try:
            structured = read_object(text)
        except ValueError as error:
            why = str(error)
    if structured is not None and entry.check_result is not None and (fault := entry.check_result(structured)):
        structured, why = None, fault
    if structured is not None:
        result = CallToolResult(content=[TextContent(type="text", text=text)], structured_content=structured)
        if _LONG_NUMBER.search(text) and (where := next(_unsafe_integers(structured), None)):
            result.meta = {WARNING_KEY: _rounded(where)}
        return result
    if entry.check_result is None:
        return text_result(text, is_error=False)
    # Without the promised object, clients would drop the whole result, the text included.
    name = entry.told.name
    return failure(
        f"{name} ran, but its result is not the JSON object that its output schema promises ({why}):\n{text}",
        f"This is a fault of {name} itself; use the text as it is instead of calling it again.",
    )


def _rounded(where: str) -> str:
    return (
        f"structuredContent holds a whole number beyond 2^53 - 1 (at {where}), which a client that reads "
        "numbers as doubles rounds; the text has it exactly."
    )


def _unsafe_integers(value: Any, path: str = "") -> Iterator[str]:
    """Yield where whole numbers are that a double does not hold exactly."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _unsafe_integers(item, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _unsafe_integers(item, f"{path}[{index}]")
    elif isinstance(value, int) and not -_MAX_SAFE_INTEGER <= value <= _MAX_SAFE_INTEGER:
        yield path
