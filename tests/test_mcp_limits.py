"""What agents may do, and what is written down of it: policy and audit log, through a server with official clients."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("mcp")

from agent_harness import Gate, echo, run, serving, serving_all, text_of, until, until_connected
from fake_app import FAILED, TIMED_OUT, Answer, FakeApp
from mcp import MCPError

from openxr_agentic.mcp.answering.options import ServerOptions
from openxr_agentic.mcp.limits.audit import AuditLog
from openxr_agentic.mcp.limits.policy import Policy
from openxr_agentic.mcp.server import ABSENCE_KEY

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from mcp import Client

TRANSPORTS = pytest.mark.parametrize("transport", ["http", "sse"])


def cubes() -> FakeApp:
    """An app whose tools differ in groups and annotations."""
    app = FakeApp()
    app.add("list_cubes", echo, metadata='{"annotations": {"readOnlyHint": true}, "groups": ["scene"]}')
    app.add("delete_cube", echo, metadata='{"annotations": {"destructiveHint": true}, "groups": ["scene", "admin"]}')
    app.add("plain", echo)
    app.add("broken", echo, metadata="{oops")
    return app


@asynccontextmanager
async def limited(folder: Path, app: FakeApp, **rules: Any) -> AsyncIterator[Client]:
    async with app.running(folder), serving(options=ServerOptions(policy=Policy.load(**rules))) as server:
        await until_connected(server)
        async with server.client() as client:
            yield client


async def names(client: Client) -> list[str]:
    return [tool.name for tool in (await client.list_tools()).tools]


@pytest.mark.parametrize(
    ("rules", "allowed"),
    [
        ({}, ["list_cubes", "delete_cube", "plain", "broken"]),
        ({"deny": ["delete_*"]}, ["list_cubes", "plain", "broken"]),
        ({"deny": ["group:admin"]}, ["list_cubes", "plain"]),
        ({"allow": ["*_cubes", "plain"]}, ["list_cubes", "plain"]),
        ({"read_only": True}, ["list_cubes"]),
    ],
)
def test_a_denied_tool_is_not_listed_and_a_call_of_it_is_refused_with_the_reason(
    folder: Path, rules: dict[str, Any], allowed: list[str]
) -> None:
    app = cubes()

    async def scenario() -> None:
        async with limited(folder, app, **rules) as client:
            assert await names(client) == allowed
            for name in app.tools:
                result = await client.call_tool(name, {})
                assert result.is_error == (name not in allowed)
                if result.is_error:
                    assert text_of(result).startswith(f"Error: {name} was not called, for the server refuses this: ")
            assert [name for name, _ in app.calls] == allowed
            for name in set(app.tools) - set(allowed):
                with pytest.raises(MCPError) as caught:  # no hint to what is denied
                    await client.call_tool(name + "x", {})
                assert f"Did you mean {name}" not in str(caught.value)

    run(scenario())


def test_a_policy_reads_metadata_also_where_agents_are_not_told_it(folder: Path) -> None:
    options = ServerOptions(policy=Policy.load(deny=["group:admin"]), as_meta=True)

    async def scenario() -> None:
        async with cubes().running(folder), serving(options=options) as server:
            await until_connected(server)
            async with server.client() as client:
                assert await names(client) == ["list_cubes", "plain"]

    run(scenario())


def test_a_tool_that_turns_into_a_denied_one_is_denied_at_once(folder: Path) -> None:
    app = cubes()

    async def scenario() -> None:
        async with limited(folder, app, deny=["group:admin"]) as client:
            async with client.listen(tools_list_changed=True) as changes:
                app.add("plain", echo, metadata='{"groups": ["admin"]}')
                app.announce()
                await anext(changes)
            assert (await client.call_tool("plain", {})).is_error
            assert app.calls == []

    run(scenario())


def test_a_tool_is_judged_by_what_its_app_says_when_it_is_called(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The app has changed its mind, and not announced it; or it does not answer when it is asked."""
    monkeypatch.setattr("openxr_agentic.mcp.apps.link.REFRESH_SECONDS", 0.2)
    app = cubes()

    async def scenario() -> None:
        async with limited(folder, app, read_only=True) as client:
            assert not (await client.call_tool("list_cubes", {})).is_error
            app.add("list_cubes", echo, metadata='{"annotations": {"readOnlyHint": false}}')
            assert "read-only" in text_of(await client.call_tool("list_cubes", {}))
            app.add("list_cubes", echo, metadata='{"annotations": {"readOnlyHint": true}}')
            app.mute = True
            assert "policy cannot be kept" in text_of(await client.call_tool("list_cubes", {}))
            assert len(app.calls) == 1

    run(scenario())


def test_an_app_that_does_not_answer_holds_up_no_call_of_another_under_a_policy(folder: Path) -> None:
    hung, app = cubes(), cubes()
    hung.name, app.name, app.pid = "Hung", "Game", os.getppid()

    async def scenario() -> None:
        options = ServerOptions(policy=Policy.load(read_only=True))
        async with hung.running(folder), app.running(folder), serving_all(options) as (fleet, client):
            await until(lambda: len(fleet.offers) == 8)
            hung.mute = True
            assert not (await client.call_tool("Game__list_cubes", {})).is_error
            assert "policy cannot be kept" in text_of(await client.call_tool("Hung__list_cubes", {}))
            assert hung.calls == []

    run(scenario())


def test_of_several_apps_rules_look_at_the_tools_own_names_and_at_the_app(folder: Path) -> None:
    app = cubes()
    app.name = "Game"
    everything = ["Game__list_cubes", "Game__delete_cube", "Game__plain", "Game__broken"]

    async def scenario() -> None:
        async with app.running(folder):
            for deny, left in (("delete_*", [name for name in everything if "delete" not in name]), ("app:Game", [])):
                async with serving_all(ServerOptions(policy=Policy.load(deny=[deny]))) as (fleet, client):
                    await until(lambda fleet=fleet: len(fleet.offers) == 4)
                    assert await names(client) == left
                    assert (await client.call_tool("Game__delete_cube", {})).is_error

    run(scenario())


# ---- the audit log


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


@TRANSPORTS
def test_every_call_is_one_line_however_it_ended(folder: Path, tmp_path: Path, transport: str) -> None:
    app = cubes()
    gate = Gate()
    app.add("wait", gate)
    for name, answer in (
        ("fail", Answer("Error: no")),
        ("crash", Answer("It returned -2.", FAILED, -2)),
        ("late", Answer("too late", TIMED_OUT)),
    ):

        async def tool(arguments: str, answer: Answer = answer) -> Answer:
            return answer

        app.add(name, tool)
    file = tmp_path / "audit.jsonl"
    audit = AuditLog(file)

    async def scenario() -> None:
        options = ServerOptions(policy=Policy.load(deny=["delete_*"]), audit=audit)
        async with serving(options=options) as server:
            async with app.running(folder):
                await until_connected(server)
                async with server.client(transport, "legacy") as client:
                    await client.call_tool("plain", {"é": "\n"})
                    for name in ("fail", "crash", "late", "delete_cube"):
                        assert (await client.call_tool(name, {})).is_error
                    with pytest.raises(MCPError):
                        await client.call_tool("nothing", {})
                    waiting = asyncio.ensure_future(client.call_tool("wait", {}))
                    await gate.entered.wait()
                    waiting.cancel()
                    with suppress(asyncio.CancelledError):
                        await waiting
                    await until(lambda: bool(app.cancelled))
            await until(lambda: not server.link.connected)
            async with server.client(transport) as client:
                assert (await client.call_tool("plain", {})).is_error

    run(scenario())
    audit.close()
    told = lines(file)
    assert [(line["tool"], line["outcome"]) for line in told] == [
        ("plain", "ok"),
        ("fail", "tool_error"),
        ("crash", "failed"),
        ("late", "timed_out"),
        ("delete_cube", "denied"),
        ("nothing", "unknown_tool"),
        ("wait", "cancelled"),
        ("plain", "app_away"),
    ]
    assert {line["transport"] for line in told} == {transport}
    assert all(line["client"].startswith("mcp ") for line in told)
    assert {line["app"] for line in told if line["outcome"] != "unknown_tool"} == {"Fake App"}
    assert told[0]["arguments_sha256"] == hashlib.sha256('{"é": "\n"}'.replace("\n", "\\n").encode()).hexdigest()
    assert "delete" in told[4]["error"]
    assert all(line["duration_ms"] >= 0 for line in told)


def test_a_call_whose_client_vanished_is_written_down_too(folder: Path, tmp_path: Path) -> None:
    app, gate = FakeApp(), Gate()
    app.add("wait", gate)
    file = tmp_path / "audit.jsonl"
    audit = AuditLog(file)

    async def scenario() -> None:
        async with app.running(folder), serving(options=ServerOptions(audit=audit)) as server:
            await until_connected(server)
            client = server.client("sse")
            await client.__aenter__()
            waiting = asyncio.ensure_future(client.call_tool("wait", {}))
            await gate.entered.wait()
            with suppress(BaseException):
                await client.__aexit__(None, None, None)
            with suppress(BaseException):
                await waiting
            await until(lambda: bool(app.cancelled))

    run(scenario())
    audit.close()
    assert [line["outcome"] for line in lines(file)] == ["cancelled"]


# ---- why there is less to see than somebody expects


async def why(client: Client) -> str:
    return str(((await client.list_tools()).meta or {}).get(ABSENCE_KEY, ""))


def test_a_list_says_what_is_kept_from_agents_but_not_by_name(folder: Path) -> None:
    app = cubes()
    app.add("off", echo, metadata='{"enabled": false}')

    async def scenario() -> None:
        async with limited(folder, app, deny=["delete_*"]) as client:
            told = await why(client)
            assert "server's policy: 1." in told
            assert "Disabled by the app: 1." in told
            assert not any(name in told for name in app.tools)
        async with limited(folder, cubes()) as client:
            assert await why(client) == ""

    run(scenario())


def test_an_empty_list_says_why(folder: Path) -> None:
    one, two = FakeApp(name="One"), FakeApp(name="Two", pid=os.getppid())

    async def scenario() -> None:
        async with serving() as server, server.client() as client:
            assert await why(client) == "No app was found yet."
            async with one.running(folder):
                await until_connected(server)
                assert await why(client) == "The app One is there, and has registered no tools."
            await until(lambda: not server.link.connected)
            assert await why(client) == "The app One is not running."
        async with one.running(folder), two.running(folder), serving() as server, server.client() as client:
            await until(lambda: "Several apps" in server.link.absence)
            assert "Choose one" in await why(client)

    run(scenario())
