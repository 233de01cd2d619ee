"""``openxr-agentic call``: calls a tool as an agent does."""

from __future__ import annotations

import base64
import binascii
import json
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from openxr_agentic.cli.asking.arguments import Pair, pairs_of, typed_arguments
from openxr_agentic.cli.asking.client import ask
from openxr_agentic.cli.asking.tools import as_listed, list_all
from openxr_agentic.cli.console import json_text, printable
from openxr_agentic.errors import AgenticError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mcp import Client
    from mcp_types import CallToolResult

    from openxr_agentic.cli.asking.schema_words import Schema
    from openxr_agentic.cli.asking.targets import Target

TOOL_FAILED: Final = 3
"""The exit code when the answer is an error: the tool's own, or why it was not run."""

_WITHDRAWN: Final = "The call is withdrawn: if it still waits, it never runs; if it runs already, it runs on."
_NOT_CALLED: Final = "Nothing was called."

_UNITS: Final = ("bytes", "KiB", "MiB", "GiB")
_STEP: Final = 1024


class OutputError(AgenticError, OSError):
    """A result could not be saved."""


class Request(NamedTuple):
    """What to call.

    Attributes:
        tool: The tool's name.
        pairs: Arguments as ``key=value``; their types come from the tool's schema.
        arguments: Arguments as they are sent, instead of `pairs`.
        seconds: How long the answer may take.
    """

    tool: str
    pairs: Sequence[Pair]
    arguments: dict[str, Any] | None
    seconds: float


def call_tool(target: Target, request: Request, *, as_json: bool, output: Path | None) -> int:
    """Call a tool and print its result on stdout.

    Args:
        target: Who is asked.
        request: What to call.
        as_json: Print the whole result as MCP has it.
        output: File for the result's first data that is no text, or for its text where all is text.

    Returns:
        The exit code: 0, or 3 when the answer is an error, the tool's own or the server's.

    Raises:
        AgentClientError: There was no answer, or the server refused the call.
        BadArgumentsError: The arguments do not fit the tool's schema; it was not called.
        OutputError: The file cannot be written, and nothing was called; or the result could not be saved, and
            was printed.
    """
    if output is not None:
        _require_writable(output)
    asked: list[Schema] = []

    async def question(client: Client) -> CallToolResult:
        return await _call(client, request, asked)

    result = ask(target, question, request.seconds, lambda: _WITHDRAWN if asked else _NOT_CALLED)
    told = result.model_dump(mode="json", by_alias=True, exclude_unset=True)
    if as_json:
        click.echo(json_text(told, indent=2))
    else:
        _print(told, saved=output is not None)
        if result.is_error and request.arguments is None:
            _translate_tip(told, asked[0])
    if output is not None:
        _save(told, output)
    return TOOL_FAILED if result.is_error else 0


async def _call(client: Client, request: Request, asked: list[Schema]) -> CallToolResult:
    """Call the tool; its input schema is in `asked` from the moment at which it is called."""
    tool = next((tool for tool in await list_all(client) if tool.name == request.tool), None)
    # One that is not listed is called all the same: the server knows best, and has the near names.
    schema = as_listed(tool)["inputSchema"] if tool is not None else {}
    arguments = request.arguments
    if arguments is None:
        arguments = typed_arguments(request.tool, request.pairs, schema)
    asked.append(schema)
    return await client.call_tool(request.tool, arguments)


# ---------------------------------------------------------------- what is printed


def _print(told: dict[str, Any], *, saved: bool) -> None:
    items = told.get("content") or []
    # As bytes: a console would wrap, colour and interpret what a tool says. To a program they are what the tool
    # sent; a terminal would obey what it is sent.
    stdout, shown = sys.stdout.buffer, printable if sys.stdout.isatty() else str
    for item in items:
        text = item["text"] if item.get("type") == "text" else _described(item, saved=saved)
        stdout.write(_line(shown(text)))
    if not items and "structuredContent" in told:
        click.echo(json_text(told["structuredContent"]))
    stdout.flush()


def _translate_tip(told: dict[str, Any], schema: Schema) -> None:
    """Where an error tells agents in JSON which arguments would fit, say on stderr how people type them."""
    text = "".join(item["text"] for item in told.get("content") or [] if item.get("type") == "text")
    tip = text.partition("\nTip: ")[2]
    try:
        values, _ = json.JSONDecoder().raw_decode(tip, tip.index("{"))
    except (ValueError, RecursionError):
        return
    if typed := pairs_of(values, schema):
        click.echo(f"openxr-agentic: typed here, that is {printable(typed)}", err=True)


def _line(text: str) -> bytes:
    return (text if text.endswith("\n") else text + "\n").encode("utf-8", "backslashreplace")


def _described(item: dict[str, Any], *, saved: bool) -> str:
    kind = str(item.get("type"))
    if kind == "resource_link":
        words = [f"link: {item.get('uri')}", item.get("mimeType"), item.get("title") or item.get("name")]
        return printable(f"[{', '.join(str(word) for word in words if word)}]")
    source = item.get("resource", item)
    words = [f"{kind}: {source['uri']}" if "uri" in source else kind, source.get("mimeType") or "no type"]
    data = _data(item)
    size = "no usable data" if data is None else _size(len(data))
    hint = "" if saved or data is None else "; --output FILE saves it"
    return printable(f"[{', '.join(map(str, words))}, {size}{hint}]")


def _data(item: dict[str, Any]) -> bytes | None:
    """Return the bytes that an item carries; None: none, or none that can be read."""
    if item.get("type") == "text":
        return str(item.get("text", "")).encode("utf-8", "backslashreplace")
    source = item.get("resource", item)
    if isinstance(source.get("text"), str):
        return str(source["text"]).encode("utf-8", "backslashreplace")
    encoded = source.get("data", source.get("blob"))
    if not isinstance(encoded, str):
        return None
    try:
        return base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return None


def _size(count: int) -> str:
    if count == 1:
        return "1 byte"
    size, unit = float(count), 0
    while size >= _STEP and unit < len(_UNITS) - 1:
        size, unit = size / _STEP, unit + 1
    return f"{count} bytes" if unit == 0 else f"{size:.1f} {_UNITS[unit]}"


def _require_writable(output: Path) -> None:
    """Say now what would keep the result from being saved; a file that is there stays as it is."""
    there = output.exists()
    if there and not output.is_file() and not output.is_dir():
        return  # a pipe, say, that waits for its reader
    try:
        output.open("ab").close()
    except OSError as error:
        raise OutputError(f"Nothing was called: {output} cannot be written: {error.strerror}.") from error
    if not there:
        with suppress(OSError):
            output.unlink()


def _save(told: dict[str, Any], output: Path) -> None:
    items = sorted(told.get("content") or [], key=lambda item: item.get("type") == "text")
    data = next((found for item in items if (found := _data(item)) is not None), None)
    if data is None:
        raise OutputError(f"Nothing was saved to {output}: the result has no data.")
    try:
        output.write_bytes(data)
    except OSError as error:
        raise OutputError(f"Cannot write {output}: {error.strerror}.") from error
    click.echo(f"openxr-agentic: saved {_size(len(data))} to {output}.", err=True)
