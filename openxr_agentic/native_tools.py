"""Tools as the C side takes them, and the call that a thread is inside of."""

from __future__ import annotations

import itertools
import weakref
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from openxr_agentic.definition.context import ToolContext
from openxr_agentic.errors import DefinitionError
from openxr_agentic.failures import FailureOwner
from openxr_agentic.results.encode import ENCODE, encode_result

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Callable

    from openxr_agentic.definition.tool import Tool
    from openxr_agentic.failures import OnError
    from openxr_agentic.metadata import ToolMetadata

    Sizing = Literal["exact"] | int | Callable[[str], str]


class NativeTool(NamedTuple):
    """A tool as slots take it; they have references of their own, and this object has one."""

    pointer: Any
    sizing: int
    sizing_bytes: int

    def with_mark(self, metadata: ToolMetadata | None) -> NativeTool:
        """Have failed runs marked as errors, where the host takes such marks."""
        from openxr_agentic._native import lib

        if metadata is not None:
            lib.oxa_tool_set_mark(self.pointer, metadata.mark_error, metadata.instance)
        return self


def _owned(pointer: Any, sizing: int, sizing_bytes: int) -> NativeTool:
    from openxr_agentic._native import ffi, lib

    if pointer == ffi.NULL:
        raise MemoryError
    return NativeTool(ffi.gc(pointer, lib.oxa_tool_release), sizing, sizing_bytes)


def text_tool(
    name: str, callback: Callable[[str], str], sizing: Sizing, on_error: OnError, kept: deque[BaseException]
) -> NativeTool:
    """Make a tool that takes and returns text, as `AgenticExtension.register_tool` describes."""
    from openxr_agentic._native import lib

    kind, sizing_bytes, dry_run = _sizing(name, sizing)
    owner = FailureOwner(name, on_error, kept)
    pointer = lib.oxa_text_tool_new(id(callback), id(dry_run) if dry_run is not None else 0, id(owner))
    return _owned(pointer, kind, sizing_bytes)


def typed_tool(tool: Tool, kept: deque[BaseException]) -> NativeTool:
    """Make a native tool of a definition."""
    from openxr_agentic._native import ffi, lib

    kind, sizing_bytes, _ = _sizing(tool.name, tool.sizing)
    dry_run = tool.dry_runner()
    owner = FailureOwner(tool.name, tool.on_error, kept)
    # C takes references of its own; until it has, these hold the objects.
    decode, recover, call = tool.decoder.strict, tool.decoder.recover, tool.caller
    parts = ffi.new("OxaTypedTool*")
    parts.decode, parts.recover, parts.call = id(decode), id(recover), id(call)
    parts.encode, parts.convert = id(ENCODE), id(encode_result)
    parts.dry_run = id(dry_run) if dry_run is not None else 0
    pointer = lib.oxa_typed_tool_new(parts, id(owner), _token_of(tool))
    return _owned(pointer, kind, sizing_bytes)


def _sizing(name: str, sizing: Sizing) -> tuple[int, int, Callable[[str], str] | None]:
    from openxr_agentic._native import lib

    if sizing == "exact":
        return lib.OXA_SIZING_EXACT, 0, None
    if isinstance(sizing, int) and not isinstance(sizing, bool):
        if not 1 <= sizing < 2**32:
            raise DefinitionError(
                f"tool {name!r}: sizing must be from 1 to {2**32 - 1} bytes, NUL included, not {sizing}."
            )
        return lib.OXA_SIZING_BYTES, sizing, None
    if callable(sizing):
        return lib.OXA_SIZING_DRY_RUN, 0, sizing
    raise DefinitionError(f"tool {name!r}: sizing must be 'exact', a number of bytes or a callable, not {sizing!r}.")


# Which tool a token of the C side stands for, for `current_call`.
_tokens: weakref.WeakValueDictionary[int, Tool] = weakref.WeakValueDictionary()
_next_token = itertools.count(1)


def _token_of(tool: Tool) -> int:
    token = next(_next_token)
    _tokens[token] = tool
    return token


def native_call(token: int) -> ToolContext | None:
    """Return the call that a token of the C side stands for."""
    tool = _tokens.get(token)
    return None if tool is None else ToolContext(tool.name, tool.registry)
