"""What an agent is told of the app's tools: what was registered, and the metadata where there is some."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import mcp_types as types
import msgspec
from mcp_types.methods import validate_server_result
from mcp_types.version import LATEST_HANDSHAKE_VERSION, LATEST_MODERN_VERSION
from pydantic import ValidationError

from openxr_agentic.mcp.json_objects import read_object
from openxr_agentic.mcp.schemas import input_schema, portable_input_schema, require_valid

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openxr_agentic.host.channel import Tool

log = logging.getLogger(__name__)

_MOST_REASON: Final = 300
_ERAS: Final = (LATEST_HANDSHAKE_VERSION, LATEST_MODERN_VERSION)


class Entry(NamedTuple):
    """A tool as agents see it.

    Attributes:
        source: The tool as the app sent it.
        told: What tools/list says of it.
        enabled: Whether tools/list names it.
    """

    source: Tool
    told: types.Tool
    enabled: bool


class Catalogue:
    """The entries of the app's tools, made once for each tool that is new or has changed."""

    def __init__(self) -> None:
        self._tools: Mapping[str, Tool] = {}
        self._entries: dict[str, Entry] = {}

    def of(self, tools: Mapping[str, Tool]) -> Mapping[str, Entry]:
        """Return an entry for each tool, by name, in their order.

        Args:
            tools: Another mapping whenever anything in it has changed.
        """
        if tools is not self._tools:
            before = self._entries
            self._entries = {name: _kept(before.get(name), tool) or _entry(tool) for name, tool in tools.items()}
            self._tools = tools
        return self._entries


def _kept(entry: Entry | None, tool: Tool) -> Entry | None:
    return entry if entry is not None and entry.source == tool else None


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    """The members of a tool's metadata that agents are told; see ``metadata.h``."""

    title: str | None = None
    annotations: dict[str, Any] | None = None
    input_schema: dict[str, Any] | None = None
    output_schema: dict[str, Any] | None = None
    enabled: bool = True


def _entry(tool: Tool) -> Entry:
    plain = types.Tool(name=tool.name, description=tool.description, input_schema=input_schema(tool.parameters))
    if not tool.metadata:
        return Entry(tool, plain, enabled=True)
    try:
        metadata = msgspec.convert(read_object(tool.metadata), _Metadata)
        told = _told(plain, metadata)
        _require_sendable(told)
    except (msgspec.ValidationError, ValueError, RecursionError) as error:
        # The tool itself works: an agent gets what the extension says of it.
        log.warning("the metadata of tool %r is left out: %s", tool.name, _in_one_line(error))
        return Entry(tool, plain, enabled=True)
    return Entry(tool, told, metadata.enabled)


def _told(plain: types.Tool, metadata: _Metadata) -> types.Tool:
    given, result = metadata.input_schema, metadata.output_schema
    if result is not None and result.get("type") != "object":
        result = None  # until 2025-11-25 the protocol knows no results but objects
    if result is not None:
        require_valid(result)
    return types.Tool(
        name=plain.name,
        title=metadata.title,
        description=plain.description,
        input_schema=plain.input_schema if given is None else portable_input_schema(given),
        output_schema=result,
        annotations=_annotations(metadata.annotations),
    )


def _annotations(given: dict[str, Any] | None) -> types.ToolAnnotations | None:
    # Strict: a hint of "no" must not become True or False by somebody's rule.
    return None if given is None else types.ToolAnnotations.model_validate(given, strict=True)


def _require_sendable(tool: types.Tool) -> None:
    """Check one tool as the protocol will check the whole list, which one bad tool makes unsendable.

    Raises:
        ValueError: Clients of some version could not be sent this tool.
    """
    result = types.ListToolsResult(tools=[tool]).model_dump(mode="json", by_alias=True, exclude_none=True)
    for version in _ERAS:
        validate_server_result("tools/list", version, result)


def _in_one_line(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
    return str(error)[:_MOST_REASON]  # some quote what they are about
