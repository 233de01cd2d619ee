"""``openxr-agentic serve``: the tools of a running app over MCP."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from openxr_agentic.cli.console import stderr_console
from openxr_agentic.cli.processes import on_end_signals
from openxr_agentic.mcp.access import TOKEN_VARIABLE
from openxr_agentic.mcp.app_link import AppLink
from openxr_agentic.mcp.server import AgentServer
from openxr_agentic.mcp.transports import Endpoints, serve

if TYPE_CHECKING:
    import socket

    from openxr_agentic.mcp.access import Access


def serve_app(listener: socket.socket, app: str | None, *, as_json: bool, access: Access | None = None) -> None:
    """Serve one app until a signal ends the command.

    Args:
        listener: The server's socket.
        app: Name, channel label or process id of the app; None for the only one.
        as_json: Whether the addresses are printed on stdout for another program.
        access: What requests must have; as for `transports.serve`.
    """
    endpoints = Endpoints.of(listener)
    if as_json:
        click.echo(json.dumps(endpoints.as_json()))
    else:
        announce(endpoints, access)
    # Where asyncio cannot handle signals itself, Ctrl-C comes as an exception.
    with suppress(KeyboardInterrupt):
        asyncio.run(_serve_until_signal(listener, app, access))


async def _serve_until_signal(listener: socket.socket, app: str | None, access: Access | None) -> None:
    stop = asyncio.Event()
    with on_end_signals(lambda number: stop.set()):
        await serve_link(AppLink(app), listener, stop, access)


async def serve_link(link: AppLink, listener: socket.socket, stop: asyncio.Event, access: Access | None = None) -> None:
    """Serve one link's app until `stop` is set; `access` is as for `transports.serve`."""
    following = asyncio.ensure_future(link.run())
    serving = asyncio.ensure_future(serve(AgentServer(link), listener, stop, access))
    # The link never ends by itself; when it fails, serving on would hide that.
    done, _ = await asyncio.wait((following, serving), return_when=asyncio.FIRST_COMPLETED)
    stop.set()
    following.cancel()
    await serving
    if following in done:
        following.result()


def announce(endpoints: Endpoints, access: Access | None = None) -> None:
    """Say on stderr where clients find the server, in lines to paste."""
    with_token = access is not None and access.token is not None
    console = stderr_console()
    console.print(
        f"openxr-agentic: serving MCP at [bold]{endpoints.http}[/] (HTTP+SSE at {endpoints.sse}); end with Ctrl-C",
    )
    if endpoints.everywhere:
        console.print("openxr-agentic: it listens on every address of this machine, not only on this one")
    if with_token:
        console.print("openxr-agentic: clients must send the token, as the header Authorization: Bearer TOKEN")
    console.print(f"openxr-agentic: for Claude Code: {claude_command(endpoints, with_token=with_token)}", markup=False)


def claude_command(endpoints: Endpoints, *, with_token: bool = False) -> str:
    """Return the command that makes the server known to Claude Code.

    Args:
        endpoints: Where the server is.
        with_token: Whether it asks for a token, which the command takes from the shell's variable.
    """
    header = f' --header "Authorization: Bearer ${TOKEN_VARIABLE}"' if with_token else ""
    return f"claude mcp add --transport http openxr {endpoints.http}{header}"
