"""The options of `serve` and `run` that decide what agents may do, from the command line to an official client."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("mcp")
pytest.importorskip("click")
pytest.importorskip("rich")

from agent_harness import echo, run, text_of
from cli_harness import environment, finished, line_with, started
from fake_app import FakeApp
from mcp import Client

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


def cubes(name: str = "Game", pid: int | None = None) -> FakeApp:
    app = FakeApp(name=name, pid=pid or os.getpid())
    reads = '{"title": "List", "annotations": {"readOnlyHint": true}, "groups": ["scene"]}'
    app.add("list_cubes", echo, metadata=reads)
    app.add("delete_cube", echo, metadata='{"groups": ["admin"]}')
    return app


@asynccontextmanager
async def agent(folder: Path, *options: str, tools: int = 1) -> AsyncIterator[Client]:
    """An official client of `serve` with these options, which sees the apps' tools."""
    async with started("serve", "--json", "--port", "0", *options, env=environment(folder)) as server:
        assert server.stdout is not None
        addresses = json.loads(await server.stdout.readline())
        async with Client(addresses["http"]) as client:
            while len((await client.list_tools()).tools) < tools:  # noqa: ASYNC110 - another process's
                await asyncio.sleep(0.01)
            yield client


async def names(client: Client) -> list[str]:
    return [tool.name for tool in (await client.list_tools()).tools]


@pytest.mark.parametrize(
    "options",
    [
        ["--read-only"],
        ["--deny", "delete_*"],
        ["--deny", "group:admin", "--deny", "nothing"],
        ["--allow", "annotation:readOnlyHint"],
        ["--policy", "POLICY"],
    ],
)
def test_agents_are_limited_to_what_the_options_say(folder: Path, options: list[str]) -> None:
    policy = folder / "policy.toml"
    policy.write_text('deny = ["group:admin"]\n')
    words = [str(policy) if word == "POLICY" else word for word in options]

    async def scenario() -> None:
        app = cubes()
        async with app.running(folder), agent(folder, *words) as client:
            assert await names(client) == ["list_cubes"]
            assert (await client.call_tool("delete_cube", {})).is_error
            assert not (await client.call_tool("list_cubes", {})).is_error
            assert [tool for tool, _ in app.calls] == ["list_cubes"]

    run(scenario())


def test_all_apps_are_served_when_asked_for(folder: Path) -> None:
    async def scenario() -> None:
        game, editor = cubes(), cubes("Editor", os.getppid())
        async with game.running(folder), editor.running(folder), agent(folder, "--all", tools=4) as client:
            assert {name.partition("__")[0] for name in await names(client)} == {"Game", "Editor"}
            assert text_of(await client.call_tool("Editor__list_cubes", {"a": 1})) == '{"a": 1}'

    run(scenario())


def test_as_meta_tells_no_metadata(folder: Path) -> None:
    async def scenario() -> None:
        async with cubes().running(folder), agent(folder, "--as-meta", tools=2) as client:
            assert {tool.title for tool in (await client.list_tools()).tools} == {None}

    run(scenario())


def test_results_are_cut_and_calls_timed_as_the_options_say(folder: Path) -> None:
    async def scenario() -> None:
        app = cubes()
        async with app.running(folder), agent(folder, "--max-result-bytes", "300", "--call-timeout", "2.5") as client:
            result = await client.call_tool("list_cubes", {"text": "x" * 1000})
            assert len(text_of(result)) == 300
            assert app.timeouts == [2500]

    run(scenario())


@pytest.mark.parametrize(("keep", "key"), [("digest", "arguments_sha256"), ("text", "arguments"), ("none", None)])
def test_each_call_is_in_the_audit_log_when_the_server_has_ended(folder: Path, keep: str, key: str | None) -> None:
    log = folder / "audit.jsonl"

    async def scenario() -> None:
        options = ["--audit-log", str(log), "--audit-arguments", keep, "--deny", "delete_*"]
        command = ["serve", "--json", "--port", "0", *options]
        async with cubes().running(folder), started(*command, env=environment(folder)) as server:
            assert server.stdout is not None
            addresses = json.loads(await server.stdout.readline())
            async with Client(addresses["http"]) as client:
                await until_listed(client)
                await client.call_tool("list_cubes", {"a": "secret"})
                await client.call_tool("delete_cube", {})
            server.send_signal(signal.SIGTERM)
            assert await server.wait() == 0

    run(scenario())
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(line["tool"], line["outcome"]) for line in lines] == [("list_cubes", "ok"), ("delete_cube", "denied")]
    kept = {"arguments_sha256", "arguments"} & set(lines[0])
    assert kept == ({key} if key else set())
    assert ("secret" in log.read_text()) == (keep == "text")


async def until_listed(client: Client) -> None:
    while not (await client.list_tools()).tools:  # noqa: ASYNC110 - another process's
        await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--call-timeout", "0"], 2, "more than 0"),
        (["--call-timeout", "nan"], 2, "more than 0"),
        (["--call-timeout", "soon"], 2, "not a valid float"),
        (["--max-result-bytes", "10"], 2, "at least 256"),
        (["--stdio", "--port", "8720"], 2, "--port cannot go with it"),
        (["--stdio", "--token-file", "x"], 2, "--token-file cannot go with it"),
        (["--stdio", "--host", "::1"], 2, "--host cannot go with it"),
        (["--policy", "missing.toml"], 2, "missing.toml cannot be read"),
        (["--deny", "annotation:readonly"], 2, "did you mean 'readOnlyHint'"),
        (["--audit-log", "no/such/folder/audit.jsonl"], 1, "cannot be written"),
        (["--host", "0.0.0.0"], 2, "OPENXR_AGENTIC_TOKEN"),
    ],
)
@pytest.mark.parametrize("command", ["serve", "run"])
def test_an_option_that_cannot_be_meant_is_an_error_that_says_why(
    folder: Path, command: str, options: list[str], code: int, words: str
) -> None:
    more = ["--", sys.executable, "-c", "print('started')"] if command == "run" else []
    env = environment(folder)
    env.pop("OPENXR_AGENTIC_TOKEN", None)

    async def scenario() -> tuple[int, str, str]:
        return await finished(command, "--port", "0", *options, *more, env=env)

    if "--stdio" in options:

        async def scenario() -> tuple[int, str, str]:
            return await finished(command, *options, *more, env=env)

    ended, stdout, stderr = run(scenario())
    assert words in " ".join(stderr.split())
    assert "Traceback" not in stderr
    assert stdout == ""
    assert ended == (125 if command == "run" and code == 1 else code)


def test_one_app_and_all_of_them_cannot_both_be_asked_for(folder: Path) -> None:
    code, _, stderr = run(finished("serve", "--app", "x", "--all", env=environment(folder)))
    assert (code, "Give one of --app and --all" in stderr) == (2, True)


def test_a_limited_server_says_so_when_it_starts(folder: Path) -> None:
    async def scenario() -> None:
        options = ["--port", "0", "--read-only", "--deny", "group:admin", "--as-meta"]
        async with started("serve", *options, env=environment(folder)) as server:
            assert "no metadata" in await line_with(server.stderr, "no metadata")
            assert "read-only, 1 deny rule" in await line_with(server.stderr, "limited")

    run(scenario())


def test_run_tells_its_addresses_as_one_object_on_stderr(folder: Path) -> None:
    async def scenario() -> Any:
        return await finished(
            "run", "--port", "0", "--json", "--", sys.executable, "-c", "print(1)", env=environment(folder)
        )

    code, stdout, stderr = run(scenario())
    assert (code, stdout) == (0, "1\n")
    assert set(json.loads(stderr.splitlines()[0])) >= {"port", "http", "sse"}
