"""One registry behind every door: clients of mcp 1.x and 2.x, every transport, the whole path down to the registry.

The app is `doors_app`, on the mock runtime under ``openxr-agentic run``; a server that speaks stdio finds it too.
"""

from __future__ import annotations

import asyncio
import json
import re
import signal
import subprocess
import sys
import time
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

pytest.importorskip("mcp")
pytest.importorskip("click")
pytest.importorskip("rich")
pytest.importorskip("xr", exc_type=Exception)

import doors_app
from agent_harness import run
from cli_harness import COMMAND, environment, started
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client
from mcp1_harness import STDIO, Mcp1Client, Mcp1Error, mcp1_client, require_mcp1, stdio_command
from mcp_types import INVALID_PARAMS

from openxr_agentic.results.encode import encode_result

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

CLIENTS = pytest.mark.parametrize(
    ("version", "transport", "mode"),
    [
        *[("2.x", transport, mode) for transport in ("http", "sse") for mode in ("auto", "legacy")],
        *[("1.x", transport, "legacy") for transport in ("http", "sse")],
        *[
            pytest.param(version, *STDIO.values, mode, marks=STDIO.marks)
            for version, mode in (("2.x", "auto"), ("2.x", "legacy"), ("1.x", "legacy"))
        ],
    ],
)


class Served(NamedTuple):
    """A running app and its server."""

    http: str
    sse: str
    environment: dict[str, str]


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    """The app under ``openxr-agentic run``, for all tests of this module."""
    with TemporaryDirectory() as name:
        env, log = environment(Path(name)), Path(name) / "log"
        command = [*COMMAND, "run", "--port", "0", "--", sys.executable, doors_app.__file__]
        with log.open("w", encoding="utf-8") as stderr:
            process = subprocess.Popen(command, env=env, stderr=stderr)
        try:
            while len(urls := re.findall(r"http://[^\s)]+/(?:mcp|sse)\b", log.read_text(encoding="utf-8"))) < 2:
                assert process.poll() is None, log.read_text(encoding="utf-8")
                time.sleep(0.02)
            yield Served(urls[0], urls[1], env)
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(60)


class Client2:
    """A client of mcp 2.x, with what `Mcp1Client` can do."""

    def __init__(self) -> None:
        self.client: Client | None = None
        self.listening = asyncio.Event()
        self._changes = 0
        self._changed = asyncio.Event()

    async def note_message(self, message: object) -> None:
        if getattr(message, "method", "") == "notifications/tools/list_changed":
            self.note_change()

    async def note_response(self, response: Any) -> None:
        # As in mcp1_client: before this stream is open, notifications are lost.
        if response.request.method == "GET":
            self.listening.set()

    def note_change(self) -> None:
        self._changes += 1
        self._changed.set()

    async def list(self) -> list[dict[str, Any]]:
        return [tool.model_dump(by_alias=True, exclude_none=True) for tool in (await self.client.list_tools()).tools]

    async def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        try:
            result = await self.client.call_tool(name, arguments)
        except MCPError as error:
            raise Mcp1Error(error.code, str(error)) from error
        return result.model_dump(by_alias=True, exclude_none=True)

    async def hear(self, changes: int) -> int:
        while self._changes < changes:
            self._changed.clear()
            await self._changed.wait()
        return self._changes


@asynccontextmanager
async def client_of(served: Served, version: str, transport: str, mode: str) -> AsyncIterator[Mcp1Client | Client2]:
    """Connect a client, and wait until the server knows the app's tools."""
    async with AsyncExitStack() as stack:
        if version == "1.x":
            require_mcp1()
            address = stdio_command() if transport == "stdio" else [getattr(served, transport)]
            client = await stack.enter_async_context(mcp1_client(transport, address, served.environment))
        else:
            client = await _client2(served, transport, mode, stack)
        while "Doors_change" not in [tool["name"] for tool in await client.list()]:  # noqa: ASYNC110 - another process's
            await asyncio.sleep(0.01)
        yield client


async def _client2(served: Served, transport: str, mode: str, stack: AsyncExitStack) -> Client2:
    client = Client2()
    if transport == "stdio":
        command, *arguments = stdio_command()
        server = stdio_client(StdioServerParameters(command=command, args=arguments, env=served.environment))
    elif transport == "sse":
        server = sse_client(served.sse)
    else:
        http = await stack.enter_async_context(create_mcp_http_client())
        http.event_hooks["response"].append(client.note_response)
        server = streamable_http_client(served.http, http_client=http)
    client.client = await stack.enter_async_context(Client(server, mode=mode, message_handler=client.note_message))
    if mode == "auto":
        events = await stack.enter_async_context(client.client.listen(tools_list_changed=True))

        async def follow() -> None:
            async for _ in events:
                client.note_change()

        stack.callback(asyncio.ensure_future(follow()).cancel)
    elif transport == "http":
        await client.listening.wait()
    return client


def text_of(result: dict[str, Any]) -> str:
    """The text of a result that must hold exactly one text item."""
    (item,) = result["content"]
    assert item["type"] == "text"
    return item["text"]


@CLIENTS
def test_every_client_is_told_what_the_registry_says(served: Served, version: str, transport: str, mode: str) -> None:
    async def scenario() -> None:
        async with client_of(served, version, transport, mode) as client:
            tools = {tool["name"]: tool for tool in await client.list()}
        offered = {info.name: info for info in doors_app.registry.available_tools()}
        assert set(tools) == set(offered)
        assert "Doors_secret" not in tools
        for name, tool in tools.items():
            info = offered[name]
            assert tool["inputSchema"] == info.input_schema
            assert tool.get("outputSchema") == info.output_schema
            assert tool["title"] == info.title
            assert tool["description"] == info.description
            assert tool.get("annotations", {}) == info.annotations
        assert tools["Doors_make_cube"]["outputSchema"]["properties"].keys() == {"position", "size"}
        assert tools["Doors_make_cube"]["annotations"] == {"destructiveHint": False}

    run(scenario())


@CLIENTS
def test_every_client_gets_what_the_registry_answers(served: Served, version: str, transport: str, mode: str) -> None:
    async def scenario() -> None:
        async with client_of(served, version, transport, mode) as client:
            for name, arguments in (
                ("Doors_make_cube", {"position": [0, 1.5, -2]}),
                ("Doors_repeat", {"text": "Grüße, 世界 \U0001f600"}),
            ):
                result = await client.call(name, arguments)
                expected = encode_result(doors_app.registry.execute(name, arguments))
                assert text_of(result).encode() == (expected if isinstance(expected, bytes) else expected.encode())
                assert not result["isError"]
                if name == "Doors_make_cube":
                    assert result["structuredContent"] == json.loads(expected)
            screenshot = doors_app.take_screenshot()
            (item,) = (await client.call("Doors_take_screenshot", {}))["content"]
            assert (item["type"], item["mimeType"]) == ("image", "image/png")
            assert f"data:image/png;base64,{item['data']}" == screenshot.data_url()

    run(scenario())


@CLIENTS
def test_every_client_can_tell_what_failed(served: Served, version: str, transport: str, mode: str) -> None:
    async def scenario() -> None:
        async with client_of(served, version, transport, mode) as client:
            for name, arguments, words in (
                ("Doors_open_vault", {}, r"^Error: The vault is locked\.\nTip: Find the key\.$"),
                ("Doors_crash", {}, r"^Error: Doors_crash failed: RuntimeError: a bug$"),
                ("Doors_make_cube", {"position": [0, 1]}, r"^Error: Doors_make_cube was not run: .*position"),
            ):
                result = await client.call(name, arguments)
                assert result["isError"], name
                assert re.search(words, text_of(result), re.DOTALL), text_of(result)
            for name in ("Doors_repat", "Doors_secret"):
                with pytest.raises(Mcp1Error, match=f"Unknown tool: {name}.*Did you mean Doors_repeat") as caught:
                    await client.call(name, {"text": "a"})
                assert caught.value.code == INVALID_PARAMS
            assert text_of(await client.call("Doors_repeat", {"text": "still there"})) == "still there"

    run(scenario())


@CLIENTS
def test_every_client_hears_of_each_change_and_the_list_agrees(
    served: Served, version: str, transport: str, mode: str
) -> None:
    async def scenario() -> None:
        async with client_of(served, version, transport, mode) as client:

            async def after(what: str) -> dict[str, Any] | None:
                """Make a change, wait until it is heard of, and return what is listed of the tool."""
                heard = await client.hear(0)
                await client.call("Doors_change", {"what": what})
                await client.hear(heard + 1)
                return next((tool for tool in await client.list() if tool["name"] == "Doors_visitor"), None)

            try:
                assert (await after("add"))["title"] == "Say who is the first."
                assert text_of(await client.call("Doors_visitor", {})) == "first"
                assert await after("disable") is None
                assert "disabled" in text_of(await client.call("Doors_visitor", {}))
                assert await after("enable") is not None
                assert (await after("override"))["title"] == "Say who is the second."
                assert text_of(await client.call("Doors_visitor", {})) == "second"
                assert await after("remove") is None
                refused = await client.call("Doors_visitor", {})
                assert refused["isError"]
                assert "was not run" in text_of(refused)
            finally:
                await client.call("Doors_change", {"what": "remove"})  # for the tests that follow one that failed

    run(scenario())


# Clients of 2.x drop a connection on which an event of more than 1 MiB comes; a whole answer in JSON may be larger.
@pytest.mark.parametrize(
    ("version", "transport", "mode"), [("2.x", "http", "auto"), ("1.x", "http", "legacy"), ("1.x", "sse", "legacy")]
)
def test_an_image_of_five_megabytes_comes_whole(served: Served, version: str, transport: str, mode: str) -> None:
    async def scenario() -> None:
        async with client_of(served, version, transport, mode) as client:
            (item,) = (await client.call("Doors_take_screenshot", {"more_bytes": 5_000_000}))["content"]
        assert f"data:image/png;base64,{item['data']}" == doors_app.take_screenshot(5_000_000).data_url()

    run(scenario())


def test_a_server_that_is_started_anew_lists_the_tools_of_the_app_that_went_on(served: Served) -> None:
    async def scenario() -> None:
        for _ in range(2):
            async with started("serve", "--port", "0", "--json", env=served.environment) as server:
                assert server.stdout is not None
                http = json.loads(await server.stdout.readline())["http"]
                async with client_of(served._replace(http=http), "2.x", "http", "auto") as client:
                    names = [tool["name"] for tool in await client.list()]
            assert set(names) == {info.name for info in doors_app.registry.available_tools()}

    run(scenario())
