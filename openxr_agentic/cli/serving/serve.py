"""``openxr-agentic serve``: the tools of running apps over MCP."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING

import click

from openxr_agentic.cli.asking.schema_words import shell_word
from openxr_agentic.cli.console import stderr_console
from openxr_agentic.cli.serving.processes import on_end_signals, on_stdin_closed
from openxr_agentic.mcp.apps.fleet import AppFleet
from openxr_agentic.mcp.apps.link import AppLink
from openxr_agentic.mcp.server import AgentServer
from openxr_agentic.mcp.transports.http import Endpoints, serve
from openxr_agentic.mcp.transports.stdio import serve_stdio

if TYPE_CHECKING:
    from openxr_agentic.cli.serving.options import Serving
    from openxr_agentic.mcp.apps.source import ToolSource


def choose_source(app: str | None, *, every_app: bool) -> ToolSource:
    """Return where the tools come from: one app, by name, channel label or process id, or all there are."""
    return AppFleet() if every_app else AppLink(app)


def serve_source(
    source: ToolSource, serving: Serving, *, as_json: bool = False, until_stdin_closes: bool = False
) -> None:
    """Serve until a signal ends the command, or the client of stdin and stdout leaves.

    Args:
        source: Where the tools come from.
        serving: The way in for clients, and how they are answered.
        as_json: Whether the addresses are printed on stdout for another program.
        until_stdin_closes: Whether the end of stdin ends the command too: then it
            never outlives who started it, however that ends.
    """
    asyncio.run(_serve_until_end(source, serving, as_json, until_stdin_closes))


async def _serve_until_end(source: ToolSource, serving: Serving, as_json: bool, until_stdin_closes: bool) -> None:
    stop = asyncio.Event()
    if until_stdin_closes:
        on_stdin_closed(stop.set)
    # Signals first: whoever reads where the server is may end it at once.
    with on_end_signals(lambda number: stop.set()):
        if as_json and serving.listener is not None:
            click.echo(json.dumps(Endpoints.of(serving.listener).as_json()))
        else:
            announce(serving)
        await keep_serving(source, serving, stop)


async def keep_serving(source: ToolSource, serving: Serving, stop: asyncio.Event) -> None:
    """Serve until `stop` is set, or without a listener until the client of stdin and stdout leaves."""
    server = AgentServer(source, serving.options)
    following = asyncio.ensure_future(source.run())
    answering = asyncio.ensure_future(
        serve_stdio(server, stop) if serving.listener is None else serve(server, serving.listener, stop, serving.access)
    )
    # The source never ends by itself; when it fails, serving on would hide that.
    done, _ = await asyncio.wait((following, answering), return_when=asyncio.FIRST_COMPLETED)
    stop.set()
    following.cancel()
    await answering
    if following in done:
        following.result()


def announce(serving: Serving) -> None:
    """Say on stderr where clients find the server, in lines to paste, and what it allows them."""
    if serving.listener is None:
        # Else a program has started the command, and knows.
        if sys.stdin is not None and sys.stdin.isatty():
            _say("serving MCP on stdin and stdout, for a client that starts this command; end with Ctrl-C")
    else:
        _announce_port(Endpoints.of(serving.listener), serving)
    options = serving.options
    if options.as_meta:
        _say("telling agents what the extension itself carries, and no metadata")
    if not options.policy.open:
        _say(f"agents are limited: {options.policy.describe()}")


def _announce_port(endpoints: Endpoints, serving: Serving) -> None:
    stderr_console().print(
        f"openxr-agentic: serving MCP at [bold]{endpoints.http}[/] (HTTP+SSE at {endpoints.sse}); end with Ctrl-C"
    )
    if endpoints.everywhere:
        _say("it listens on every address of this machine, not only on this one")
    if serving.access.token is not None:
        _say("clients must send the token, as the header Authorization: Bearer TOKEN")
    if serving.access.token is None:
        _say(f"for Claude Code: {claude_command(endpoints)}")
    else:
        token = "--token" if serving.token_file is None else f"--token-file {shell_word(str(serving.token_file))}"
        _say(f"for Claude Code, see: openxr-agentic config claude-code --url {endpoints.http} {token}")


def _say(text: str) -> None:
    stderr_console().print(f"openxr-agentic: {text}", markup=False)


def claude_command(endpoints: Endpoints) -> str:
    """Return the command that makes a server without a token known to Claude Code."""
    return f"claude mcp add --transport http openxr {endpoints.http}"
