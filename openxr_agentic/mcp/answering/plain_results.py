"""Results of one text; failures in the form of Meta's own tools: ``Error: …``, and ``Tip: …`` on a line of its own."""

from __future__ import annotations

from typing import Final

from mcp_types import CallToolResult, TextContent

ERROR_MARK: Final = "Error: "


def text_result(text: str, *, is_error: bool) -> CallToolResult:
    """Return a result of one text item."""
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=is_error)


def failure(reason: str, tip: str) -> CallToolResult:
    """Return an error result that says what went wrong and what to do."""
    return text_result(f"{ERROR_MARK}{reason}\nTip: {tip}", is_error=True)
