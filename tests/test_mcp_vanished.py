"""Clients that vanish without a word in the middle of a call (case 4.13): raw sockets, since no proper client does."""

from __future__ import annotations

import asyncio
import json
import re
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("mcp")

from agent_harness import Gate, echo, run, serving, text_of, until, until_connected
from fake_app import FakeApp
from mcp_types.version import LATEST_MODERN_VERSION

if TYPE_CHECKING:
    from pathlib import Path

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}},
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
MODERN = {
    "io.modelcontextprotocol/protocolVersion": LATEST_MODERN_VERSION,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "x", "version": "1"},
}


def post(path: str, message: dict[str, Any], **headers: str) -> bytes:
    body = json.dumps(message).encode()
    lines = [
        f"POST {path} HTTP/1.1",
        "Host: 127.0.0.1",
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
        f"Content-Length: {len(body)}",
        *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items()),
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body


async def read_until(reader: asyncio.StreamReader, pattern: bytes) -> re.Match[bytes]:
    seen = b""
    while not (found := re.search(pattern, seen)):
        more = await reader.read(65536)
        assert more, seen
        seen += more
    return found


def gate_call() -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "gate", "arguments": {}}}


async def send(port: int, message: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(message)
    return reader, writer


async def call_over_handshake_http(port: int) -> asyncio.StreamWriter:
    reader, writer = await send(port, post("/mcp", INITIALIZE))
    session = (await read_until(reader, rb"(?i)mcp-session-id: (\w+)"))[1].decode()
    writer.close()
    _, writer = await send(port, post("/mcp", gate_call(), Mcp_Session_Id=session))
    return writer


async def call_over_modern_http(port: int) -> asyncio.StreamWriter:
    message = gate_call()
    message["params"]["_meta"] = MODERN
    headers = {"MCP_Protocol_Version": LATEST_MODERN_VERSION, "Mcp_Method": "tools/call", "Mcp_Name": "gate"}
    _, writer = await send(port, post("/mcp", message, **headers))
    return writer


async def call_over_sse(port: int) -> asyncio.StreamWriter:
    reader, stream = await send(port, b"GET /sse HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    path = (await read_until(reader, rb"data: (/\S+)"))[1].decode()
    for message in (INITIALIZE, INITIALIZED, gate_call()):
        answer, writer = await send(port, post(path, message, Connection="close"))
        await read_until(answer, rb"HTTP/1.1 202")
        writer.close()
    return stream


@pytest.mark.parametrize("start", [call_over_handshake_http, call_over_modern_http, call_over_sse])
def test_a_client_that_vanishes_frees_its_call_and_others_are_served(folder: Path, start: Any) -> None:
    app, gate = FakeApp(), Gate()
    app.add("gate", gate)
    app.add("echo", echo)

    async def scenario() -> None:
        async with app.running(folder), serving() as server:
            await until_connected(server)
            stream = await start(server.endpoints.port)
            await gate.entered.wait()
            stream.transport.abort()
            await until(lambda: len(app.cancelled) == 1)
            for transport in ("http", "sse"):
                async with server.client(transport) as client:
                    assert text_of(await client.call_tool("echo", {})) == "{}"

    run(scenario())


def test_a_client_that_says_initialized_again_hears_of_a_change_once(folder: Path) -> None:
    app = FakeApp()

    async def scenario() -> None:
        async with app.running(folder), serving() as server:
            await until_connected(server)
            port = server.endpoints.port
            reader, stream = await send(port, b"GET /sse HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            path = (await read_until(reader, rb"data: (/\S+)"))[1].decode()
            ping = {"jsonrpc": "2.0", "id": 9, "method": "ping"}
            for message in (INITIALIZE, INITIALIZED, INITIALIZED, INITIALIZED):
                answer, writer = await send(port, post(path, message, Connection="close"))
                await read_until(answer, rb"HTTP/1.1 202")
                writer.close()
            await read_until(reader, rb'"id":1')
            app.add("tool", echo)
            app.announce()
            await until(lambda: "tool" in server.link.offers)
            answer, writer = await send(port, post(path, ping, Connection="close"))
            seen = (await read_until(reader, rb'(?s)(.*)"id":9'))[1]
            assert seen.count(b"list_changed") == 1
            for each in (writer, stream):
                each.transport.abort()

    run(scenario())
