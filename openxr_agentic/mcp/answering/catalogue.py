"""What an agent is told of the app's tools: what was registered, and the metadata where there is some."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import mcp_types as types
import msgspec
from mcp_types.methods import validate_server_result
from mcp_types.version import LATEST_HANDSHAKE_VERSION, LATEST_MODERN_VERSION
from pydantic import ValidationError

from openxr_agentic.mcp.answering.json_objects import read_object
from openxr_agentic.mcp.answering.schemas import ResultCheck, input_schema, portable_input_schema, result_check
from openxr_agentic.mcp.limits.policy import Subject

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openxr_agentic.mcp.apps.source import Offer
    from openxr_agentic.mcp.limits.policy import Policy

log = logging.getLogger(__name__)

_MOST_REASON: Final = 300
_ERAS: Final = (LATEST_HANDSHAKE_VERSION, LATEST_MODERN_VERSION)


class Entry(NamedTuple):
    """A tool as agents see it.

    Attributes:
        offer: The tool as its app offers it.
        told: What tools/list says of it.
        enabled: Whether its app wants it listed.
        refusal: Why the server's policy denies it, in words; None: it does not.
        marks_errors: Whether its app's mark alone says that a result is an error.
        check_result: Says what is wrong with a result by the output schema that agents
            are told; None: they are told none.
    """

    offer: Offer
    told: types.Tool
    enabled: bool
    refusal: str | None
    marks_errors: bool
    check_result: ResultCheck | None = None

    @property
    def listed(self) -> bool:
        """Whether tools/list names it."""
        return self.enabled and self.refusal is None


class Catalogue:
    """The entries of all tools, made once for each tool that is new or has changed.

    Args:
        policy: Which tools are denied.
        as_meta: Tell what the extension carries, and nothing of the metadata; only the policy still reads it.
    """

    def __init__(self, policy: Policy, *, as_meta: bool) -> None:
        self._policy = policy
        self._as_meta = as_meta
        self._offers: Mapping[str, Offer] = {}
        self._entries: dict[str, Entry] = {}

    def of(self, offers: Mapping[str, Offer]) -> Mapping[str, Entry]:
        """Return an entry for each tool, by the name that agents see, in their order.

        Args:
            offers: Another mapping whenever anything in it has changed.
        """
        if offers is not self._offers:
            before = self._entries
            self._entries = {
                name: _kept(before.get(name), offer) or self._entry(name, offer) for name, offer in offers.items()
            }
            self._offers = offers
        return self._entries

    def _entry(self, name: str, offer: Offer) -> Entry:
        tool = offer.tool
        plain = types.Tool(name=name, description=tool.description, input_schema=input_schema(tool.parameters))
        told, metadata, readable, check = plain, _Metadata(), True, None
        if tool.metadata:
            try:
                metadata = msgspec.convert(read_object(tool.metadata), _Metadata)
                told = _told(plain, metadata)
                _require_sendable(told)
                check = None if told.output_schema is None else result_check(told.output_schema)
            except Exception as error:  # noqa: BLE001 - an app may send anything, and one tool must not hide the others
                # The tool itself works: an agent gets what the extension says of it.
                log.warning("the metadata of tool %r is left out: %s", name, _in_one_line(error))
                told, metadata, readable, check = plain, _Metadata(), False, None
        subject = Subject(tool.name, metadata.groups, metadata.annotations or {}, readable, offer.app)
        refusal = self._policy.refusal(subject)
        if self._as_meta:
            return Entry(offer, plain, True, refusal, False)
        return Entry(offer, told, metadata.enabled, refusal, bool(tool.metadata), check)


def _kept(entry: Entry | None, offer: Offer) -> Entry | None:
    return entry if entry is not None and entry.offer == offer else None


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    """The members of a tool's metadata that agents are told; see ``metadata.h``."""

    title: str | None = None
    annotations: dict[str, Any] | None = None
    groups: tuple[str, ...] = ()
    input_schema: dict[str, Any] | None = None
    output_schema: dict[str, Any] | None = None
    enabled: bool = True


def _told(plain: types.Tool, metadata: _Metadata) -> types.Tool:
    given, result = metadata.input_schema, metadata.output_schema
    if result is not None and result.get("type") != "object":
        result = None  # until 2025-11-25 the protocol knows no results but objects
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
