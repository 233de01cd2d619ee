"""``openxr-agentic tools``: what an agent sees."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from openxr_agentic.cli.asking.schema_words import properties_of, signature
from openxr_agentic.cli.console import json_text, one_line, printable, stderr_console, stdout_console

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcp import Client
    from mcp_types import Tool
    from rich.console import Console

    from openxr_agentic.cli.asking.targets import Target

LIST_SECONDS: Final = 30.0
_MOST_PAGES: Final = 1000
"""A server that never ends its list must not hold the command for ever."""

# MCP's hints, as people say them when they are true, and when they are false.
_HINTS: Final = {
    "readOnlyHint": ("read-only", "changes things"),
    "destructiveHint": ("destructive", "not destructive"),
    "idempotentHint": ("idempotent", "not idempotent"),
    "openWorldHint": ("open world", "closed world"),
}


ABSENCE: Final = "openxr-agentic/absence"
"""In what our server adds to a list: why it holds few tools or none, for people."""


class Listed(NamedTuple):
    """What a server lists.

    Attributes:
        tools: The tools.
        absence: Why there are few or none, in its words; empty: it does not say.
    """

    tools: list[Tool]
    absence: str


async def list_all(client: Client) -> list[Tool]:
    """Return all tools that a server lists, page by page."""
    return (await list_with_absence(client)).tools


async def list_with_absence(client: Client) -> Listed:
    """Return all tools that a server lists, page by page, and why there are no more of them."""
    listed: list[Tool] = []
    absence = ""
    cursor: str | None = None
    for _ in range(_MOST_PAGES):
        page = await client.list_tools(cursor=cursor)
        listed += page.tools
        said = (page.meta or {}).get(ABSENCE)
        absence = said if isinstance(said, str) else absence
        cursor = page.next_cursor
        if cursor is None:
            break
    return Listed(listed, absence)


def as_listed(tool: Tool) -> dict[str, Any]:
    """Return a tool as tools/list has it."""
    told: dict[str, Any] = tool.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return told


def show_tools(target: Target, *, as_json: bool) -> None:
    """Print the tools that a server or an app offers on stdout.

    Args:
        target: Who is asked.
        as_json: As the JSON array that tools/list gives.

    Raises:
        AgentClientError: It gave no list.
    """
    from openxr_agentic.cli.asking.client import ask

    listed = ask(target, list_with_absence, LIST_SECONDS)
    tools = [as_listed(tool) for tool in listed.tools]
    if as_json:
        click.echo(json_text(tools, indent=2))
    else:
        print_tools(stdout_console(), tools)
    if not tools and not as_json:
        stderr_console().print(f"{target.name} offers no tools now.", markup=False)
    if listed.absence:
        stderr_console().print(f"openxr-agentic: {printable(listed.absence)}", markup=False)


def print_tools(
    console: Console, tools: Sequence[Mapping[str, Any]], notes: Mapping[str, str] = MappingProxyType({})
) -> None:
    """Print tools for people: signature, title and hints, description, and each argument's own description.

    Args:
        console: Where to.
        tools: As tools/list has them; from any server, so nothing but a name is taken for granted.
        notes: By a tool's name, what else to say of it.
    """
    for number, tool in enumerate(tools):
        if number:
            console.print()
        schema = tool.get("inputSchema")
        schema = schema if isinstance(schema, Mapping) else {}
        console.print(one_line(signature(str(tool.get("name")), schema)), style="bold cyan", markup=False)
        if note := notes.get(str(tool.get("name"))):
            console.print(f"    {printable(note)}", style="yellow", markup=False)
        for line in _about(tool):
            console.print(f"    {line}", markup=False)
        for name, of_argument in properties_of(schema).items():
            description = of_argument.get("description")
            if description:
                words = printable(str(description)).replace("\n", "\n        ")
                console.print(f"      {one_line(name)}: {words}", style="dim", markup=False)


def _about(tool: Mapping[str, Any]) -> Iterable[str]:
    annotations = tool.get("annotations")
    annotations = annotations if isinstance(annotations, Mapping) else {}
    description = printable(str(tool.get("description") or ""))
    title = printable(str(tool.get("title") or annotations.get("title") or ""))
    hints = ", ".join(
        words[0] if annotations[hint] else words[1]
        for hint, words in _HINTS.items()
        if isinstance(annotations.get(hint), bool)
    )
    # A title that is made of the description says nothing new.
    shown_title = title if title and not description.startswith(title) else ""
    head = " ".join(filter(None, (shown_title, f"[{hints}]" if hints else "")))
    if head:
        yield head
    if description != tool.get("name"):  # what a tool without one has instead
        yield from description.splitlines()
