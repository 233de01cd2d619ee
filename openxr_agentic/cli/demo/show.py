"""``openxr-agentic demo``: an app, its server and an agent, each in a process of its own.

this process (agent) ── MCP ──►  openxr-agentic serve  ── channel ──►  demo_app
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import AsyncExitStack, suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click
from mcp import Client
from rich.markup import escape

from openxr_agentic.cli.asking.client import CLIENT_INFO
from openxr_agentic.cli.console import stdout_console
from openxr_agentic.cli.demo.conversation import SCHEMAS, Conversation
from openxr_agentic.cli.serving.processes import Child, child, on_end_signals
from openxr_agentic.cli.serving.run import app_environment, new_label
from openxr_agentic.cli.serving.serve import claude_command
from openxr_agentic.errors import AgenticError
from openxr_agentic.mcp.transports.access import TOKEN_VARIABLE
from openxr_agentic.mcp.transports.http import Endpoints

if TYPE_CHECKING:
    import signal
    from collections.abc import Coroutine

    from rich.console import Console

LIMIT_SECONDS: Final = 60.0
"""For everything up to the last answer; a slow machine needs a third of it."""

_COMPLAINT_MARK: Final = "Error: "
"""How click begins the line that says what went wrong."""

T = TypeVar("T")


class DemoError(AgenticError, RuntimeError):
    """The demo could not be held to its end."""


def show(port: int, *, keep_serving: bool, as_json: bool = False) -> int:
    """Hold the demo and print it.

    Args:
        port: The server's port; 0 for any free one.
        keep_serving: Whether to serve on after the conversation, until a signal.
        as_json: Whether to print one JSON object instead, when the conversation is over.

    Returns:
        The exit code: 0 when every answer was right, 1 when one was not,
        128 + n when signal n came before the last answer.

    Raises:
        DemoError: A process ended, or nothing happened for too long; the text
            holds what the processes wrote.
    """
    return asyncio.run(_until_signal(_hold(port, keep_serving, as_json)))


async def _until_signal(work: Coroutine[Any, Any, int]) -> int:
    """Await the work; a signal that should end the command cancels it."""
    task = asyncio.ensure_future(work)
    received: list[signal.Signals] = []

    def cancel(number: signal.Signals) -> None:
        received.append(number)
        task.cancel()

    with on_end_signals(cancel):
        try:
            return await task
        except asyncio.CancelledError:
            if not received:
                raise
            return 128 + received[0]


async def _hold(port: int, keep_serving: bool, as_json: bool) -> int:
    console = stdout_console()
    console.quiet = as_json
    label = new_label("demo")
    app_command = [sys.executable, "-m", "openxr_agentic.cli.demo.app"]
    server_command = [sys.executable, "-m", "openxr_agentic", "serve", "--json"]
    server_command += ["--port", str(port), "--app", label]
    # The agent here has no token to send.
    server_environment = {name: value for name, value in os.environ.items() if name != TOKEN_VARIABLE}
    async with AsyncExitStack() as stack:
        app = await stack.enter_async_context(child("app", app_command, app_environment(label)))
        server = await stack.enter_async_context(child("server", server_command, server_environment, pipe_stdout=True))
        endpoints, wrong = await _watched(_converse(console, app, server), app, server, limit=LIMIT_SECONDS)
        if wrong:
            return 1
        if keep_serving:
            _say_how_to_connect(console, endpoints)
            with suppress(asyncio.CancelledError):  # by the signal that is waited for
                await _watched(asyncio.Event().wait(), app, server, limit=None)
    return 0


async def _converse(console: Console, app: Child, server: Child) -> tuple[Endpoints, bool]:
    assert server.process.stdout is not None
    line = await server.process.stdout.readline()
    if not line:
        await asyncio.Event().wait()  # it is ending instead, which `_watched` says
    endpoints = Endpoints(json.loads(line)["port"])
    async with Client(endpoints.http, client_info=CLIENT_INFO) as client:
        # Listening comes first, so that no change between a list and the wait is missed.
        async with client.listen(tools_list_changed=True) as changes:
            while {tool.name for tool in (await client.list_tools()).tools} != set(SCHEMAS):
                await anext(changes)
        console.print(
            f"[bold]openxr-agentic demo[/]\n"
            f"    app     process {app.process.pid}: a headless OpenXR session at 90 Hz\n"
            f"    server  process {server.process.pid}: MCP at {endpoints.http}\n"
            f"    agent   this process: the official MCP client, protocol {client.protocol_version}"
        )
        conversation = Conversation(client, console)
        await conversation.hold()
        if console.quiet:
            told = {"answers": conversation.answers, "wrong": conversation.wrong, "http": endpoints.http}
            click.echo(json.dumps({**told, "protocol": client.protocol_version}))
    for difference in conversation.wrong:
        console.print(f"\n[bold red]Wrong answer[/] to {escape(difference)}")
    if conversation.wrong:
        verb = "was" if len(conversation.wrong) == 1 else "were"
        console.print(f"\n{len(conversation.wrong)} of {conversation.answers} answers {verb} wrong.")
    else:
        console.print(f"\n[bold green]All {conversation.answers} answers were right.[/]")
    return endpoints, bool(conversation.wrong)


async def _watched(work: Coroutine[Any, Any, T], *children: Child, limit: float | None) -> T:
    """Await the work, as long as all children live and the limit is not over.

    Raises:
        DemoError: A child ended, the time is over, or the work failed.
    """
    task = asyncio.ensure_future(work)
    endings = {asyncio.ensure_future(each.process.wait()): each for each in children}
    try:
        await asyncio.wait((task, *endings), timeout=limit, return_when=asyncio.FIRST_COMPLETED)
        ended = [each for ending, each in endings.items() if ending.done()]
        for process in ended:
            # One of this package's own messages, as of a taken port, needs no context.
            if (complaint := process.output(lines=1)).startswith(_COMPLAINT_MARK):
                raise DemoError(complaint.removeprefix(_COMPLAINT_MARK))
        if not ended and task.done() and task.exception() is None:
            return task.result()
        if ended:
            reason = f"the {ended[0].name} ended with exit code {ended[0].process.returncode}"
        elif task.done():
            reason = f"the agent failed: {task.exception()!r}"
        else:
            reason = f"nothing more happened for {limit:.0f} seconds"
        outputs = "".join(f"\n--- the {each.name} wrote:\n{each.output()}" for each in children if each.output())
        raise DemoError(f"The demo did not come to its end: {reason}.{outputs}")
    finally:
        for each in (task, *endings):
            each.cancel()
        await asyncio.gather(task, *endings, return_exceptions=True)


def _say_how_to_connect(console: Console, endpoints: Endpoints) -> None:
    configuration = {"mcpServers": {"openxr": {"type": "http", "url": endpoints.http}}}
    console.print(
        f"\n[bold]Serving on[/] until Ctrl-C. Connect your own client:\n"
        f"    Claude Code    {claude_command(endpoints)}\n"
        f"    most others    {escape(json.dumps(configuration))}\n"
        f"    HTTP+SSE       {endpoints.sse}"
    )
