"""The processes of `benchmarks.mcp`, and which core each has.

this process (agent) ── MCP ──►  openxr-agentic serve  ── channel ──►  app
                     ── MCP ──►  plain server
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.mcp.rounds import BrokenError
from openxr_agentic.cli.serving.processes import Child, child
from openxr_agentic.cli.serving.run import app_environment, new_label
from openxr_agentic.host.channel import App, find_apps

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcp import Client
    from mcp_types import Tool

LIMIT_SECONDS = 60.0
POLL_SECONDS = 0.02

THIS_PROCESS = 0


class Cores(NamedTuple):
    """Two cores; the same one where there is no other, None where the system does not say."""

    one: int | None
    other: int | None


def two_cores() -> Cores:
    """Return two cores that this process may use."""
    if not hasattr(os, "sched_getaffinity"):
        return Cores(None, None)
    usable = sorted(os.sched_getaffinity(THIS_PROCESS))
    return Cores(usable[0], usable[-1])


def place(process: int, core: int | None) -> None:
    """Let a process, and what it starts from then on, run on one core alone.

    In real time where the system allows that: then other programs take nothing from anybody here. All processes
    are placed alike.
    """
    if core is None:
        return
    os.sched_setaffinity(process, {core})
    with suppress(PermissionError):
        os.sched_setscheduler(process, os.SCHED_RR, os.sched_param(1))


def real_time() -> bool:
    """Tell whether this process, once placed, runs in real time."""
    return hasattr(os, "sched_getscheduler") and os.sched_getscheduler(THIS_PROCESS) == os.SCHED_RR


class Ours(NamedTuple):
    """An app with our server before it.

    Attributes:
        url: The server's.
        app: The app's process.
        channel: The app's control channel.
    """

    url: str
    app: Child
    channel: App


@asynccontextmanager
async def ours(mode: str, *, app_core: int | None, server_core: int | None) -> AsyncIterator[Ours]:
    """Run `benchmarks.mcp.app` and ``openxr-agentic serve`` until the block ends."""
    label = new_label("benchmark")
    app_command = [sys.executable, "-m", "benchmarks.mcp.app", mode]
    server_command = [sys.executable, "-m", "openxr_agentic", "serve", "--json", "--port", "0", "--app", label]
    async with child("app", app_command, app_environment(label), pipe_stdout=True) as app:
        place(app.process.pid, app_core)
        async with child("server", server_command, pipe_stdout=True) as server:
            place(server.process.pid, server_core)
            endpoints = json.loads(await _first_line(server))
            yield Ours(endpoints["http"], app, await _channel_of(app))


@asynccontextmanager
async def plain(tool: Tool, *, structured: bool, look_up: bool, core: int | None) -> AsyncIterator[str]:
    """Run `benchmarks.mcp.plain_server` until the block ends, and give its URL."""
    listed = tool.model_dump_json(by_alias=True, exclude_none=True)
    flags = [str(int(flag)) for flag in (structured, look_up)]
    command = [sys.executable, "-m", "benchmarks.mcp.plain_server", listed, *flags]
    async with child("plain server", command, pipe_stdout=True) as server:
        place(server.process.pid, core)
        yield f"http://127.0.0.1:{int(await _first_line(server))}/mcp"


async def _first_line(started: Child) -> bytes:
    assert started.process.stdout is not None
    line = await asyncio.wait_for(started.process.stdout.readline(), LIMIT_SECONDS)
    if not line:
        await started.process.wait()
        raise BrokenError(f"the {started.name} ended at once:\n{started.output()}")
    return line


async def _channel_of(app: Child) -> App:
    while app.process.returncode is None:
        for found in find_apps():
            if found.pid == app.process.pid:
                return found
        await asyncio.sleep(POLL_SECONDS)
    raise BrokenError(f"the app ended at once:\n{app.output()}")


async def listed_tool(client: Client, name: str) -> Tool:
    """Return a tool as soon as the server lists it."""
    while True:
        for tool in (await client.list_tools()).tools:
            if tool.name == name:
                return tool
        await asyncio.sleep(POLL_SECONDS)
