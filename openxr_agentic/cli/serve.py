"""``openxr-agentic serve``: the tools of a running app over MCP."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from openxr_agentic.cli.console import stderr_console
from openxr_agentic.cli.processes import on_end_signals
from openxr_agentic.mcp.app_link import AppLink
from openxr_agentic.mcp.server import AgentServer
from openxr_agentic.mcp.transports import Endpoints, serve

if TYPE_CHECKING:
    import socket


def serve_app(listener: socket.socket, app: str | None, *, as_json: bool) -> None:
    """Serve one app until a signal ends the command.

    Args:
        listener: The server's socket.
        app: Name, channel label or process id of the app; None for the only one.
        as_json: Whether the addresses are printed on stdout for another program.
    """
    endpoints = Endpoints.of(listener)
    if as_json:
        click.echo(json.dumps(endpoints.as_json()))
    else:
        announce(endpoints)
    # Where asyncio cannot handle signals itself, Ctrl-C comes as an exception.
    with suppress(KeyboardInterrupt):
        asyncio.run(_serve_until_signal(listener, app))


async def _serve_until_signal(listener: socket.socket, app: str | None) -> None:
    stop = asyncio.Event()
    with on_end_signals(lambda number: stop.set()):
        await serve_link(AppLink(app), listener, stop)


async def serve_link(link: AppLink, listener: socket.socket, stop: asyncio.Event) -> None:
    """Serve one link's app until `stop` is set."""
    following = asyncio.ensure_future(link.run())
    serving = asyncio.ensure_future(serve(AgentServer(link), listener, stop))
    # The link never ends by itself; when it fails, serving on would hide that.
    done, _ = await asyncio.wait((following, serving), return_when=asyncio.FIRST_COMPLETED)
    stop.set()
    following.cancel()
    await serving
    if following in done:
        following.result()


def announce(endpoints: Endpoints) -> None:
    """Say on stderr where clients find the server, in lines to paste."""
    stderr_console().print(
        f"openxr-agentic: serving MCP at [bold]{endpoints.http}[/] (HTTP+SSE at {endpoints.sse}); end with Ctrl-C\n"
        f"openxr-agentic: for Claude Code: {claude_command(endpoints)}"
    )


def claude_command(endpoints: Endpoints) -> str:
    """Return the command that makes the server known to Claude Code."""
    return f"claude mcp add --transport http openxr {endpoints.http}"
