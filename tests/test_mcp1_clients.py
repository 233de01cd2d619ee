"""The agent's server, seen by clients of mcp 1.x, in front of a fake app. For those of 2.x: test_mcp_server.py."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("mcp")
pytest.importorskip("click")
pytest.importorskip("rich")

from agent_harness import Gate, echo, run, serving, until, until_connected
from cli_harness import environment
from fake_app import NUMBER, Answer, FakeApp, FakeParameter
from mcp1_harness import STDIO, Mcp1Error, mcp1_client, require_mcp1, stdio_command
from mcp_types import INVALID_PARAMS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from mcp1_harness import Mcp1Client

TRANSPORTS = pytest.mark.parametrize("transport", ["http", "sse", STDIO])


@pytest.fixture(autouse=True)
def _with_mcp1() -> None:
    require_mcp1()


@asynccontextmanager
async def client_of(app: FakeApp, folder: Path, transport: str) -> AsyncIterator[Mcp1Client]:
    """Run the app and a server, and connect a client."""
    async with app.running(folder):
        if transport == "stdio":
            async with mcp1_client("stdio", stdio_command(), environment(folder)) as client:
                await until(lambda: app.clients > 0)
                while len(await client.list()) < len(app.tools):  # noqa: ASYNC110 - it asks another process
                    await asyncio.sleep(0.005)
                yield client
        else:
            async with serving() as server:
                await until_connected(server)
                address = server.endpoints.sse if transport == "sse" else server.endpoints.http
                async with mcp1_client(transport, [address]) as client:
                    yield client


@TRANSPORTS
def test_the_handshake_tells_what_the_server_can(folder: Path, transport: str) -> None:
    app = FakeApp()
    app.add("tool", echo)

    async def scenario() -> None:
        async with client_of(app, folder, transport) as client:
            told = client.initialized
        assert told["protocolVersion"] == "2025-11-25"
        assert told["serverInfo"]["name"] == "openxr-agentic"
        assert told["capabilities"]["tools"] == {"listChanged": True}
        # A server of tools alone: what it cannot do it must not announce.
        assert not {"prompts", "resources", "logging", "completions"} & set(told["capabilities"])

    run(scenario())


@TRANSPORTS
def test_tools_are_listed_with_schemas_and_annotations(folder: Path, transport: str) -> None:
    schema = {"type": "object", "properties": {"size": {"type": "number", "minimum": 0}}, "required": ["size"]}
    promised = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
    metadata = {
        "title": "Würfel",
        "annotations": {"readOnlyHint": True, "destructiveHint": False},
        "inputSchema": schema,
        "outputSchema": promised,
    }
    app = FakeApp()
    app.add("told", echo, FakeParameter("size", NUMBER), description="Makes one.", metadata=json.dumps(metadata))
    app.add("plain", echo, FakeParameter("size", NUMBER, "In metres"))
    app.add("bare", echo)

    async def scenario() -> None:
        async with client_of(app, folder, transport) as client:
            tools = {tool.pop("name"): tool for tool in await client.list()}
        assert tools == {
            "told": {
                "title": "Würfel",
                "description": "Makes one.",
                "inputSchema": schema,
                "outputSchema": promised,
                "annotations": {"readOnlyHint": True, "destructiveHint": False},
            },
            "plain": {
                "description": "",
                "inputSchema": {
                    "type": "object",
                    "properties": {"size": {"type": "number", "description": "In metres"}},
                },
            },
            "bare": {"description": "", "inputSchema": {"type": "object", "properties": {}}},
        }

    run(scenario())


@TRANSPORTS
def test_results_come_as_text_as_an_object_as_an_image_and_as_an_error(folder: Path, transport: str) -> None:
    image = "data:image/png;base64,aGVsbG8="
    answers = {
        "object": ('{"id": "cube_1"}', {"outputSchema": {"type": "object", "properties": {"id": {"type": "string"}}}}),
        "image": (image, {}),
        "failed": (Answer("Error: no such cube\nTip: list them", flags=1), {}),
        "broken": ("done", {"outputSchema": {"type": "object"}}),
    }
    app = FakeApp()
    app.add("echo", echo)
    for name, (answer, metadata) in answers.items():

        async def tool(arguments: str, answer: str | Answer = answer) -> str | Answer:
            return answer

        app.add(name, tool, metadata=json.dumps(metadata))

    async def scenario() -> None:
        async with client_of(app, folder, transport) as client:
            await client.list()  # clients check results against what was listed
            echoed = await client.call("echo", {"input": "Grüße, 世界", "big": 9007199254740993})
            got = {name: await client.call(name, {}) for name in answers}
        assert json.loads(echoed["content"][0]["text"]) == {"input": "Grüße, 世界", "big": 9007199254740993}
        assert not echoed["isError"]
        assert got["object"]["structuredContent"] == {"id": "cube_1"}
        assert got["object"]["content"] == [{"type": "text", "text": '{"id": "cube_1"}'}]
        assert got["image"]["content"] == [{"type": "image", "data": "aGVsbG8=", "mimeType": "image/png"}]
        assert got["failed"]["isError"]
        assert got["failed"]["content"][0]["text"] == "Error: no such cube\nTip: list them"
        assert got["broken"]["isError"]
        assert "output schema promises" in got["broken"]["content"][0]["text"]

    run(scenario())


@TRANSPORTS
def test_an_unknown_tool_is_a_protocol_error_that_offers_near_names(folder: Path, transport: str) -> None:
    app = FakeApp()
    app.add("spawn_cube", echo)

    async def scenario() -> None:
        async with client_of(app, folder, transport) as client:
            with pytest.raises(Mcp1Error, match="Did you mean spawn_cube") as caught:
                await client.call("spawn_cub", {})
            assert caught.value.code == INVALID_PARAMS
            assert not (await client.call("spawn_cube", {}))["isError"]

    run(scenario())


@TRANSPORTS
def test_five_megabytes_come_whole(folder: Path, transport: str) -> None:
    text = "é" + "0123456789" * 500_000
    app = FakeApp()

    async def large(arguments: str) -> str:
        return text

    app.add("large", large)

    async def scenario() -> None:
        async with client_of(app, folder, transport) as client:
            assert (await client.call("large", {}))["content"] == [{"type": "text", "text": text}]

    run(scenario())


@TRANSPORTS
def test_a_client_hears_of_tools_that_come_go_and_are_switched(folder: Path, transport: str) -> None:
    app = FakeApp()
    app.add("first", echo)

    async def scenario() -> None:
        async with client_of(app, folder, transport) as client:

            async def names() -> list[str]:
                return [tool["name"] for tool in await client.list()]

            assert await names() == ["first"]
            app.add("second", echo)
            app.announce(times=5)
            heard = await client.hear(1)
            assert await names() == ["first", "second"]
            app.add("second", echo, metadata='{"enabled": false}')
            app.announce()
            heard = await client.hear(heard + 1)
            assert await names() == ["first"]
            app.add("second", echo, description="Another one.", metadata='{"enabled": true}')
            app.announce()
            heard = await client.hear(heard + 1)
            assert await names() == ["first", "second"]
            del app.tools["first"]
            app.announce()
            heard = await client.hear(heard + 1)
            assert await names() == ["second"]
            # A stale list in the client: a call of what is gone is an error, and harms nothing.
            with pytest.raises(Mcp1Error, match="Unknown tool: first"):
                await client.call("first", {})
            assert not (await client.call("second", {}))["isError"]

    run(scenario())


@TRANSPORTS
def test_a_blocked_tool_blocks_neither_ping_nor_another_call(folder: Path, transport: str) -> None:
    app = FakeApp()
    app.add("echo", echo)

    async def scenario() -> None:
        gate = Gate()
        app.add("gate", gate)
        async with client_of(app, folder, transport) as client:
            blocked = await client.start("gate", {})
            await gate.entered.wait()
            await client.ping()
            assert (await client.call("echo", {"n": 1}))["content"][0]["text"] == '{"n": 1}'
            gate.opened.set()
            assert (await client.finish(blocked))["content"][0]["text"] == "opened"

    run(scenario())


@TRANSPORTS
def test_a_call_that_is_cancelled_is_withdrawn_from_the_app_and_the_client_is_served(
    folder: Path, transport: str
) -> None:
    app = FakeApp()
    app.add("echo", echo)

    async def scenario() -> None:
        gate = Gate()
        app.add("gate", gate)
        async with client_of(app, folder, transport) as client:
            blocked = await client.start("gate", {})
            await gate.entered.wait()
            await client.cancel(blocked)
            await until(lambda: len(app.cancelled) == 1)
            assert not (await client.call("echo", {}))["isError"]

    run(scenario())
