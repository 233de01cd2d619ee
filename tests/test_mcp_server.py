"""The agent's server, seen by official MCP clients, in front of a fake app."""

from __future__ import annotations

import asyncio
import json
import os

import pytest

pytest.importorskip("mcp")


from typing import TYPE_CHECKING

import httpx2
from agent_harness import Gate, Serving, echo, run, serving, text_of, until, until_connected
from fake_app import (
    ARRAY,
    BOOLEAN,
    CLOSING,
    FAILED,
    NUMBER,
    OBJECT,
    REFUSED,
    TIMED_OUT,
    Answer,
    FakeApp,
    FakeParameter,
)
from mcp import MCPError
from mcp_types import INVALID_PARAMS

if TYPE_CHECKING:
    from pathlib import Path

MODERN_CALL = """{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
    "name": "tool", "arguments": ARGUMENTS, "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}}}}"""
"""A call as no client of the package would send it."""

TRANSPORTS = pytest.mark.parametrize("transport", ["http", "sse"])
ERAS = pytest.mark.parametrize("mode", ["legacy", "auto"])


@TRANSPORTS
@ERAS
def test_an_agent_lists_and_calls_the_tools_of_the_app(folder: Path, transport: str, mode: str) -> None:
    app = FakeApp()
    app.add("MyApp_Echo", echo, FakeParameter("input", required=True), description="Echoes.")

    async def scenario() -> None:
        async with app.running(folder), serving() as server:
            await until_connected(server)
            async with server.client(transport, mode) as client:
                (tool,) = (await client.list_tools()).tools
                assert tool.name == "MyApp_Echo"
                assert tool.description == "Echoes."
                assert tool.input_schema == {
                    "type": "object",
                    "properties": {"input": {"type": "string"}},
                    "required": ["input"],
                }
                result = await client.call_tool("MyApp_Echo", {"input": "Grüße, 世界"})
                assert text_of(result) == '{"input": "Grüße, 世界"}'
                assert not result.is_error

    run(scenario())


def test_every_parameter_type_becomes_its_json_schema(folder: Path) -> None:
    whole = '{"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]}'
    properties = '{"x": {"type": "number"}}'
    app = FakeApp()
    app.add(
        "tool",
        echo,
        FakeParameter("flag", BOOLEAN, "On or off"),
        FakeParameter("points", ARRAY, item_type=NUMBER),
        FakeParameter("rows", ARRAY, item_type=ARRAY),
        FakeParameter("whole", OBJECT, object_properties=whole),
        FakeParameter("map", OBJECT, object_properties=properties),
        FakeParameter("type", OBJECT, object_properties='{"type": {"type": "string"}}'),
        FakeParameter("bare", OBJECT),
        FakeParameter("broken", OBJECT, "Kept", required=True, object_properties="{oops"),
    )

    async def scenario() -> None:
        async with app.running(folder), serving() as server:
            await until_connected(server)
            async with server.client() as client:
                (tool,) = (await client.list_tools()).tools
        x = {"type": "number"}
        assert tool.input_schema == {
            "type": "object",
            "properties": {
                "flag": {"type": "boolean", "description": "On or off"},
                "points": {"type": "array", "items": {"type": "number"}},
                "rows": {"type": "array", "items": {"type": "array", "items": {}}},
                "whole": {"type": "object", "properties": {"x": x}, "required": ["x"]},
                "map": {"type": "object", "properties": {"x": x}},
                "type": {"type": "object", "properties": {"type": {"type": "string"}}},
                "bare": {"type": "object"},
                "broken": {"type": "object", "description": "Kept"},
            },
            "required": ["broken"],
        }

    run(scenario())


@TRANSPORTS
@ERAS
def test_numbers_beyond_a_double_reach_the_tool_exactly(folder: Path, transport: str, mode: str) -> None:
    app = FakeApp()
    app.add("tool", echo)
    arguments = {"big": 9007199254740993, "bigger": 10**40, "small": 1e-300, "nul": "a\0b"}

    async def scenario() -> None:
        async with app.running(folder), serving() as server:
            await until_connected(server)
            async with server.client(transport, mode) as client:
                result = await client.call_tool("tool", arguments)
        assert json.loads(text_of(result)) == arguments

    run(scenario())


def test_arguments_that_no_channel_can_carry_are_an_error_result_and_the_server_lives(
    folder: Path,
) -> None:
    app = FakeApp()
    app.add("tool", echo)

    async def scenario() -> None:
        async with app.running(folder), serving() as server:
            await until_connected(server)
            async with httpx2.AsyncClient() as browser, server.client() as client:
                for arguments in ('{"x": 1e400}', '{"x": NaN}', r'{"x": "\ud800"}'):
                    answer = await browser.post(
                        server.endpoints.http,
                        headers={
                            "Content-Type": "application/json",
                            "Accept": "application/json, text/event-stream",
                            "MCP-Protocol-Version": client.protocol_version,
                            "Mcp-Method": "tools/call",
                            "Mcp-Name": "tool",
                        },
                        content=MODERN_CALL.replace("ARGUMENTS", arguments),
                    )
                    result = answer.json()["result"]
                    assert result["isError"], arguments
                    assert "tool was not called" in result["content"][0]["text"]
                assert not (await client.call_tool("tool", {})).is_error
        assert app.calls == [("tool", "{}")]

    run(scenario())


@TRANSPORTS
def test_a_call_without_arguments_reaches_the_tool_as_an_empty_object(folder: Path, transport: str) -> None:
    app = FakeApp()
    app.add("tool", echo)

    async def scenario() -> None:
        async with app.running(folder), serving() as server:
            await until_connected(server)
            async with server.client(transport) as client:
                assert text_of(await client.call_tool("tool")) == "{}"

    run(scenario())


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Answer("Error: no such cube\nTip: list them"), ["no such cube", "Tip: list them"]),
        (Answer("It returned -2.", FAILED, -2), ["returned -2. (XR_ERROR_RUNTIME_FAILURE)", "Tip:"]),
        (Answer("the app does not call xrWaitFrame", TIMED_OUT), ["xrWaitFrame", "never runs"]),
        (Answer("the instance is being destroyed", CLOSING), ["destroyed", "started again"]),
        (Answer("64 calls wait", REFUSED), ["64 calls wait", "then call again"]),
    ],
)
def test_a_call_that_failed_is_an_error_result_that_says_what_to_do(
    folder: Path, answer: Answer, words: list[str]
) -> None:
    app = FakeApp()

    async def tool(arguments: str) -> Answer:
        return answer

    app.add("tool", tool)

    async def scenario() -> None:
        async with app.running(folder), serving() as server:
            await until_connected(server)
            async with server.client() as client:
                result = await client.call_tool("tool", {})
        assert result.is_error
        assert text_of(result).startswith("Error: ")
        for word in words:
            assert word in text_of(result)

    run(scenario())


def test_a_request_that_the_app_refuses_is_an_error_result_with_its_reason(folder: Path) -> None:
    app = FakeApp()

    async def tool(arguments: str) -> str:
        raise ValueError("the answer is longer than a frame can be")

    app.add("tool", tool)

    async def scenario() -> None:
        async with app.running(folder), serving() as server:
            await until_connected(server)
            async with server.client() as client:
                result = await client.call_tool("tool", {})
                assert result.is_error
                assert "longer than a frame" in text_of(result)
        assert app.seen == 1  # the connection was kept

    run(scenario())


@TRANSPORTS
@ERAS
def test_an_unknown_tool_is_a_protocol_error_that_offers_near_names(folder: Path, transport: str, mode: str) -> None:
    app = FakeApp()
    app.add("spawn_cube", echo)

    async def scenario() -> None:
        async with app.running(folder), serving() as server:
            await until_connected(server)
            async with server.client(transport, mode) as client:
                with pytest.raises(MCPError, match=r"Did you mean spawn_cube\?"):
                    await client.call_tool("cube", {})
                with pytest.raises(MCPError, match="Did you mean spawn_cube") as caught:
                    await client.call_tool("spawn_cub", {})
                assert caught.value.code == INVALID_PARAMS
                assert not (await client.call_tool("spawn_cube", {})).is_error

    run(scenario())


@TRANSPORTS
def test_a_blocked_tool_blocks_neither_ping_nor_other_calls_nor_other_clients(folder: Path, transport: str) -> None:
    app = FakeApp()
    app.add("echo", echo)

    async def scenario() -> None:
        gate = Gate()
        app.add("gate", gate)
        async with app.running(folder), serving() as server:
            await until_connected(server)
            async with (
                server.client(transport, "legacy") as first,
                server.client(transport) as second,
            ):
                blocked = asyncio.ensure_future(first.call_tool("gate", {}))
                await gate.entered.wait()
                await first.session.send_ping()
                assert text_of(await first.call_tool("echo", {"n": 1})) == '{"n": 1}'
                assert text_of(await second.call_tool("echo", {"n": 2})) == '{"n": 2}'
                assert not blocked.done()
                gate.opened.set()
                assert text_of(await blocked) == "opened"

    run(scenario())


@TRANSPORTS
@ERAS
def test_a_call_that_the_client_gives_up_is_withdrawn_from_the_app(folder: Path, transport: str, mode: str) -> None:
    app = FakeApp()

    async def scenario() -> None:
        gate = Gate()
        app.add("gate", gate)
        async with app.running(folder), serving() as server:
            await until_connected(server)
            async with server.client(transport, mode) as client:
                call = asyncio.ensure_future(client.call_tool("gate", {}))
                await gate.entered.wait()
                call.cancel()
                await until(lambda: len(app.cancelled) == 1)

    run(scenario())


def test_a_client_that_vanishes_during_a_call_frees_it_and_others_are_served(folder: Path) -> None:
    app = FakeApp()
    app.add("echo", echo)

    async def scenario() -> None:
        gate = Gate()
        app.add("gate", gate)

        async def vanish(server: Serving) -> None:
            async with server.client("sse", "legacy") as client:
                await client.call_tool("gate", {})

        async with app.running(folder), serving() as server:
            await until_connected(server)
            gone = asyncio.ensure_future(vanish(server))
            await gate.entered.wait()
            gone.cancel()
            await until(lambda: len(app.cancelled) == 1)
            async with server.client() as client:
                assert not (await client.call_tool("echo", {})).is_error

    run(scenario())


class Inbox:
    """Counts the list_changed notifications that a client of the handshake era got."""

    def __init__(self) -> None:
        self.changes = 0

    async def __call__(self, message: object) -> None:
        if getattr(message, "method", "") == "notifications/tools/list_changed":
            self.changes += 1


@TRANSPORTS
def test_a_client_of_the_handshake_era_hears_of_a_changed_list_once(folder: Path, transport: str) -> None:
    app = FakeApp()
    app.add("first", echo)

    async def scenario() -> None:
        inbox, other = Inbox(), Inbox()
        async with app.running(folder), serving() as server:
            await until_connected(server)
            async with (
                server.client(transport, "legacy", inbox) as client,
                server.client(transport, "legacy", other) as second,
            ):
                assert client.server_capabilities.tools is not None
                assert client.server_capabilities.tools.list_changed
                for each in (client, second, client):
                    await each.list_tools()
                app.add("second", echo)
                app.announce(times=5)
                await until(lambda: inbox.changes >= 1 and other.changes >= 1)
                app.announce()  # nothing is different this time
                # An answer that was asked for later arrives later on the same stream.
                names = [tool.name for tool in (await client.list_tools()).tools]
                assert names == ["first", "second"]
                assert (inbox.changes, other.changes) == (1, 1)

    run(scenario())


@TRANSPORTS
def test_a_client_of_the_later_era_hears_of_a_changed_list_where_it_listens(folder: Path, transport: str) -> None:
    app = FakeApp()
    app.add("first", echo)

    async def scenario() -> None:
        async with app.running(folder), serving() as server:
            await until_connected(server)
            async with server.client(transport) as client:
                assert client.server_capabilities.tools is not None
                assert client.server_capabilities.tools.list_changed
                async with client.listen(tools_list_changed=True) as changes:
                    app.add("second", echo)
                    app.announce(times=5)
                    await anext(changes)
                    names = [tool.name for tool in (await client.list_tools()).tools]
                    assert names == ["first", "second"]

    run(scenario())


def test_no_connection_leaves_a_subscription_behind(folder: Path) -> None:
    app = FakeApp()
    app.add("tool", echo)

    async def scenario() -> None:
        async with app.running(folder), serving() as server:
            await until_connected(server)

            async def visit(transport: str) -> None:
                async with server.client(transport, "legacy") as client:
                    await client.list_tools()

            before = asyncio.all_tasks()
            await visit("sse")
            # What the packages start once for a process, not for a connection.
            await until(lambda: len(asyncio.all_tasks() - before) <= 1)
            for transport in ("http", "sse") * 3:
                await visit(transport)
            await until(lambda: len(asyncio.all_tasks() - before) <= 1)

    run(scenario())


def test_the_server_waits_for_an_app_that_is_not_there_yet(folder: Path) -> None:
    app = FakeApp()
    app.add("tool", echo)

    async def scenario() -> None:
        async with serving() as server, server.client() as client:
            assert (await client.list_tools()).tools == []
            with pytest.raises(MCPError, match="No app was found yet"):
                await client.call_tool("tool", {})
            async with client.listen(tools_list_changed=True) as changes, app.running(folder):
                await anext(changes)
                assert [tool.name for tool in (await client.list_tools()).tools] == ["tool"]
                assert text_of(await client.call_tool("tool", {})) == "{}"

    run(scenario())


def test_the_tools_of_an_app_that_left_stay_listed_and_a_call_says_that_it_is_away(
    folder: Path,
) -> None:
    app = FakeApp(name="Cube World")
    app.add("tool", echo)

    async def scenario() -> None:
        async with serving() as server, server.client() as client:
            async with app.running(folder):
                await until_connected(server)
            await until(lambda: not server.link.connected)
            assert [tool.name for tool in (await client.list_tools()).tools] == ["tool"]
            result = await client.call_tool("tool", {})
            assert result.is_error
            assert text_of(result).startswith("Error: The app Cube World is not running.")
            async with app.running(folder):
                await until_connected(server)
                assert text_of(await client.call_tool("tool", {})) == "{}"

    run(scenario())


def test_a_server_that_ends_with_its_app_promises_no_restart(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def closing(arguments: str) -> Answer:
        return Answer("the instance is being destroyed", CLOSING)

    app = FakeApp(label="run-0123")
    app.add("tool", closing)

    async def scenario() -> None:
        async with serving("run-0123", ends_with_app=True) as server, server.client() as client:
            with pytest.raises(MCPError, match="The app offers no tools yet"):
                await client.call_tool("tool", {})
            async with app.running(folder):
                await until_connected(server)
                ending = text_of(await client.call_tool("tool", {}))
            await until(lambda: not server.link.connected)
            away = text_of(await client.call_tool("tool", {}))
        assert away.startswith("Error: The app has closed its OpenXR instance.")
        for text in (ending, away):
            assert "This server ends with the app." in text
            assert "come back when" not in text
            assert "run-0123" not in text

    with caplog.at_level("INFO", "openxr_agentic"):
        run(scenario())
    assert [message.split(" (")[0] for message in caplog.messages if "Fake App" in message] == ["connected to Fake App"]
    assert "waiting for" not in caplog.text


def test_an_app_that_leaves_during_a_call_is_an_error_result(folder: Path) -> None:
    app = FakeApp()

    async def scenario() -> None:
        gate = Gate()
        app.add("gate", gate)
        async with serving() as server, server.client() as client:
            async with app.running(folder):
                await until_connected(server)
                call = asyncio.ensure_future(client.call_tool("gate", {}))
                await gate.entered.wait()
            result = await call
            assert result.is_error
            assert "left before it answered" in text_of(result)

    run(scenario())


def test_among_several_apps_the_chosen_one_is_served(folder: Path) -> None:
    one = FakeApp(name="One", label="first")
    two = FakeApp(name="Two", label="second", pid=os.getppid())
    one.add("of_one", echo)
    two.add("of_two", echo)

    async def scenario() -> None:
        async with one.running(folder), two.running(folder):
            for wanted, tool in (
                ("One", "of_one"),
                ("second", "of_two"),
                (str(one.pid), "of_one"),
                (str(two.pid), "of_two"),
            ):
                async with serving(wanted) as server:
                    await until_connected(server)
                    assert list(server.link.offers) == [tool]

    run(scenario())


def test_a_call_says_when_several_apps_are_there_and_none_is_chosen(folder: Path) -> None:
    one = FakeApp(name="One")
    two = FakeApp(name="Two", pid=os.getppid())

    async def scenario() -> None:
        async with one.running(folder), two.running(folder), serving() as server, server.client() as client:
            await until(lambda: one.seen > 1 and two.seen > 1)
            assert (await client.list_tools()).tools == []
            with pytest.raises(MCPError, match=r"Several apps offer tools: \w+ .*, \w+ .*--app"):
                await client.call_tool("tool", {})

    run(scenario())


def test_another_app_does_not_take_the_place_of_one_that_left(folder: Path) -> None:
    one = FakeApp(name="One")
    two = FakeApp(name="Two", pid=os.getppid())
    one.add("of_one", echo)
    two.add("of_two", echo)

    async def scenario() -> None:
        async with serving() as server:
            async with one.running(folder):
                await until_connected(server)
            await until(lambda: not server.link.connected)
            async with two.running(folder):
                await until(lambda: two.seen > 0)
                assert list(server.link.offers) == ["of_one"]
                async with one.running(folder):
                    await until_connected(server)
                    assert list(server.link.offers) == ["of_one"]

    run(scenario())


@pytest.mark.parametrize("path", ["/mcp", "/sse", "/messages/"])
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Host": "evil.example:8720"}, 421),
        ({"Host": "127.0.0.1.evil.example:8720"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
    ],
)
def test_a_foreign_host_or_origin_is_refused_on_every_path(
    folder: Path, path: str, headers: dict[str, str], status: int
) -> None:
    async def scenario() -> None:
        async with serving() as server, httpx2.AsyncClient() as browser:
            url = f"http://127.0.0.1:{server.endpoints.port}{path}"
            method = "GET" if path == "/sse" else "POST"
            json_headers = {**headers, "Content-Type": "application/json"}
            answer = await browser.request(method, url, headers=json_headers)
            assert answer.status_code == status

    run(scenario())


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
def test_every_loopback_name_is_accepted_with_an_origin_of_its_own(folder: Path, host: str) -> None:
    async def scenario() -> None:
        async with serving() as server, httpx2.AsyncClient() as browser:
            port = server.endpoints.port
            headers = {"Host": f"{host}:{port}", "Origin": f"http://{host}:{port}"}
            url = f"http://127.0.0.1:{port}/sse"
            async with browser.stream("GET", url, headers=headers) as answer:
                assert answer.status_code == 200

    run(scenario())


def test_the_server_listens_on_loopback_only(folder: Path) -> None:
    async def scenario() -> None:
        async with serving() as server:
            _, writer = await asyncio.open_connection("127.0.0.1", server.endpoints.port)
            writer.close()
            with pytest.raises(ConnectionRefusedError):
                await asyncio.open_connection("127.0.0.2", server.endpoints.port)

    run(scenario())


def test_the_server_ends_while_clients_hold_their_streams_open(folder: Path) -> None:
    async def scenario() -> None:
        async with httpx2.AsyncClient() as browser:
            async with serving() as server:
                url = server.endpoints.sse
                stream = await browser.send(browser.build_request("GET", url), stream=True)
                assert stream.status_code == 200
            await stream.aclose()

    run(scenario())
