"""An agent's client, the server, the channel, the host, and a registry that changes while they talk."""

from __future__ import annotations

import asyncio
import json
import threading
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("mcp")

from agent_harness import run, serving, text_of, until, until_connected
from mcp import MCPError

import openxr_agentic as agentic

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from agent_harness import Serving
    from mcp import Client
    from mcp_types import ServerNotification

    from openxr_agentic.testing import Agent

ERAS = pytest.mark.parametrize("mode", ["legacy", "auto"])
TRANSPORTS = pytest.mark.parametrize("transport", ["http", "sse"])


@pytest.fixture
def app(folder: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Agent:
    """The app's end: an instance on the mock runtime in this process, and its channel."""
    monkeypatch.setenv("OPENXR_AGENTIC_CHANNEL", "1")
    agent: Agent = request.getfixturevalue("agent")
    return agent


class Changes:
    """Waits for list_changed, in the way of the client's era."""

    def __init__(self, client: Client, heard: asyncio.Queue[str]) -> None:
        self._client = client
        self._heard = heard

    async def next(self) -> None:
        await self._heard.get()

    async def names(self) -> list[str]:
        return [tool.name for tool in (await self._client.list_tools()).tools]


@asynccontextmanager
async def connected(server: Serving, transport: str, mode: str) -> AsyncIterator[tuple[Client, Changes]]:
    """A client that hears of changes, whatever its era."""
    heard: asyncio.Queue[str] = asyncio.Queue()

    async def on_message(message: ServerNotification | Exception | Any) -> None:
        if getattr(message, "method", "") == "notifications/tools/list_changed":
            heard.put_nowait("changed")

    async with server.client(transport, mode, on_message) as client:
        if mode == "legacy":
            yield client, Changes(client, heard)
            return
        async with client.listen(tools_list_changed=True) as events:

            async def listen() -> None:
                async for _ in events:
                    heard.put_nowait("changed")

            listening = asyncio.ensure_future(listen())
            try:
                yield client, Changes(client, heard)
            finally:
                listening.cancel()


def spawn(count: int = 1) -> dict[str, int]:
    """Spawn cubes."""
    return {"cubes": count}


@TRANSPORTS
@ERAS
def test_every_change_of_the_registry_is_told_and_the_list_agrees(app: Agent, transport: str, mode: str) -> None:
    registry = agentic.ToolRegistry(settings=False)
    registry.register("spawn", spawn, main_thread=False)
    app.attach(registry)

    def replace() -> None:
        registry.register("made", lambda: "two", description="Two.", main_thread=False, override=True)

    steps: list[tuple[str, Callable[[], Any], list[str]]] = [
        ("add", lambda: registry.register("made", spawn, main_thread=False), ["spawn", "made"]),
        ("disable", lambda: registry.set_enabled("spawn", False), ["made"]),
        ("enable", lambda: registry.set_enabled("spawn", True), ["spawn", "made"]),
        ("override", replace, ["spawn", "made"]),
        ("remove", lambda: registry.unregister("made"), ["spawn"]),
    ]

    async def scenario() -> None:
        async with serving() as server:
            await until_connected(server)
            async with connected(server, transport, mode) as (client, changes):
                assert await changes.names() == ["spawn"]
                for what, change, names in steps:
                    change()
                    await changes.next()
                    assert await changes.names() == names, what
                    if what == "override":
                        assert text_of(await client.call_tool("made", {})) == "two"
                with pytest.raises(MCPError, match="Unknown tool: mad"):
                    await client.call_tool("mad", {})
                gone = await client.call_tool("made", {})  # from a list that is no longer true
                assert gone.is_error
                assert "made" in text_of(gone)
                assert json.loads(text_of(await client.call_tool("spawn", {"count": 2}))) == {"cubes": 2}

    run(scenario())


def test_many_changes_at_once_are_told_as_few(app: Agent) -> None:
    registry = agentic.ToolRegistry(settings=False)
    app.attach(registry)

    async def scenario() -> None:
        async with serving() as server:
            await until_connected(server)
            heard = 0

            async def on_message(message: Any) -> None:
                nonlocal heard
                heard += getattr(message, "method", "") == "notifications/tools/list_changed"

            async with server.client("http", "legacy", on_message) as client:
                await client.list_tools()
                for number in range(100):
                    registry.register(f"tool_{number}", spawn, main_thread=False)
                await until(lambda: len(server.link.offers) == 100 and heard > 0)
                assert heard < 20
                assert len((await client.list_tools()).tools) == 100

    run(scenario())


def test_what_went_wrong_decides_between_a_result_and_a_protocol_error(app: Agent) -> None:
    registry = agentic.ToolRegistry(settings=False)

    @registry.tool(main_thread=False)
    def fail() -> str:
        """Fail."""
        raise agentic.ToolError("no such cube", tip="List them.")

    registry.register("spawn", spawn, main_thread=False)
    app.attach(registry)

    async def scenario() -> None:
        async with serving() as server:
            await until_connected(server)
            async with server.client() as client:
                with pytest.raises(MCPError, match="Did you mean spawn"):
                    await client.call_tool("spawn_", {})
                raised = await client.call_tool("fail", {})
                assert (raised.is_error, text_of(raised)) == (True, "Error: no such cube\nTip: List them.")
                bad = await client.call_tool("spawn", {"count": "many"})
                assert bad.is_error
                assert "count: got" in text_of(bad)
                assert not (await client.call_tool("spawn", {"count": 3})).is_error

    run(scenario())


def test_a_tool_that_blocks_holds_up_neither_ping_nor_list_nor_other_tools(app: Agent) -> None:
    registry = agentic.ToolRegistry(settings=False)
    entered, opened = threading.Event(), threading.Event()

    @registry.tool(main_thread=False)
    def block() -> str:
        """Block."""
        entered.set()
        opened.wait()
        return "opened"

    registry.register("spawn", spawn, main_thread=False)
    app.attach(registry)

    async def scenario() -> None:
        async with serving() as server:
            await until_connected(server)
            async with server.client(mode="legacy") as client, server.client("sse") as other:
                blocked = asyncio.ensure_future(client.call_tool("block", {}))
                await until(entered.is_set)
                await client.session.send_ping()
                assert len((await client.list_tools()).tools) == 2
                for each in (client, other):
                    assert not (await each.call_tool("spawn", {})).is_error
                assert not blocked.done()
                opened.set()
                assert text_of(await blocked) == "opened"

    try:
        run(scenario())
    finally:
        opened.set()


def test_five_megabytes_come_whole_through_everything(app: Agent) -> None:
    registry = agentic.ToolRegistry(settings=False)
    big = "é\n" * 1_700_000

    @registry.tool(main_thread=False)
    def much() -> str:
        """Return much."""
        return big

    app.attach(registry)

    async def scenario() -> None:
        async with serving() as server:
            await until_connected(server)
            # In an event stream the package's own client takes no message of more than 1 MiB; here it gets none.
            async with server.client("http", "auto") as client:
                assert text_of(await client.call_tool("much", {})) == big

    run(scenario())
