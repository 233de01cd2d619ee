"""``openxr-agentic demo``: the real app, the real server, the official client."""

from __future__ import annotations

import json
import re
import signal
import socket
import sys
import uuid

import pytest

pytest.importorskip("mcp")
pytest.importorskip("click")
pytest.importorskip("rich")

import asyncio
from typing import TYPE_CHECKING

from agent_harness import run, until
from cli_harness import environment, finished, line_with, processes_with, started
from mcp import Client

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def env(folder: Path) -> Iterator[dict[str, str]]:
    """The environment of a demo, after which no process of it may be left."""
    mark = uuid.uuid4().hex
    yield environment(folder, DEMO_TEST_MARK=mark)
    assert processes_with(mark) == []
    assert list(folder.rglob("*.sock")) == []


def test_the_demo_prints_the_conversation_and_ends_with_all_answers_right(
    env: dict[str, str],
) -> None:
    async def scenario() -> None:
        code, stdout, stderr = await finished("demo", env=env)
        assert (code, stderr) == (0, "")
        assert "\x1b" not in stdout  # no control codes when piped
        for words in (
            "create_cube(name?: string, position: number[], orientation?: number[], scale?: number[])",
            'Agent calls MyApp_Echo {"input": "Grüße an 世界"}',
            "Hello from an OpenXR app written in Python!",
            '"scale": [0.05, 0.05, 0.05]',
            "Error: position must be an array of 3 numbers",
            "Round trips",
        ):
            assert words in stdout
        assert re.fullmatch(r"All \d+ answers were right\.", stdout.splitlines()[-1])

    run(scenario())


def test_a_wrong_answer_is_shown_and_fails_the_demo(env: dict[str, str]) -> None:
    script = (
        "import sys; from dataclasses import replace\n"
        "from openxr_agentic.cli import main\n"
        "from openxr_agentic.cli.demo import conversation\n"
        "first, *others = conversation.STEPS\n"
        "conversation.STEPS = (replace(first, answer='Good evening!'), *others)\n"
        "sys.argv = ['openxr-agentic', 'demo']\n"
        "main()\n"
    )

    async def scenario() -> None:
        code, stdout, stderr = await _script(script, env)
        assert (code, stderr) == (1, "")
        assert "Wrong answer to MyApp_HelloWorld" in stdout
        assert "right: ('Good evening!', False)" in stdout
        assert "given: ('Hello from an OpenXR app written in Python!', False)" in stdout
        assert re.fullmatch(r"1 of \d+ answers was wrong\.", stdout.splitlines()[-1])

    run(scenario())


def test_a_taken_port_is_said_plainly(env: dict[str, str]) -> None:
    async def scenario() -> None:
        with socket.create_server(("127.0.0.1", 0)) as holder:
            port = holder.getsockname()[1]
            code, stdout, stderr = await finished("demo", "--port", str(port), env=env)
        assert (code, stdout) == (1, "")
        assert stderr.startswith(f"Error: Port {port} is taken")
        assert len(stderr.splitlines()) == 1

    run(scenario())


def test_an_app_that_ends_early_fails_the_demo_with_what_it_wrote(env: dict[str, str]) -> None:
    script = (
        "import sys\n"
        "from openxr_agentic.cli import main\n"
        "from openxr_agentic.cli.demo import show as demo\n"
        "demo.app_environment = lambda label: {'PATH': '', 'PYTHONPATH': '/nonexistent'}\n"
        "sys.argv = ['openxr-agentic', 'demo']\n"
        "main()\n"
    )

    async def scenario() -> None:
        code, _, stderr = await _script(script, env)
        assert code == 1
        assert "the app ended with exit code 1" in stderr
        assert "the app wrote:" in stderr
        assert "openxr_agentic" in stderr  # what Python says of the module that it misses

    run(scenario())


def test_an_app_that_never_offers_tools_ends_the_demo_after_its_limit(env: dict[str, str]) -> None:
    script = (
        "import sys\n"
        "from openxr_agentic.cli import main\n"
        "from openxr_agentic.cli.demo import show as demo\n"
        "complete = demo.app_environment\n"
        "demo.app_environment = lambda label: {**complete(label), 'OPENXR_AGENTIC_CHANNEL': ''}\n"
        "demo.LIMIT_SECONDS = 2\n"
        "sys.argv = ['openxr-agentic', 'demo']\n"
        "main()\n"
    )

    async def scenario() -> None:
        code, _, stderr = await _script(script, env)
        assert code == 1
        assert "nothing more happened for 2 seconds" in stderr

    run(scenario())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_during_the_conversation_ends_all_processes(env: dict[str, str], number: signal.Signals) -> None:
    async def scenario() -> None:
        async with started("demo", env=env) as demo:
            await line_with(demo.stdout, "Agent lists the tools")
            demo.send_signal(number)
            _, stderr = await demo.communicate()
        assert demo.returncode == 128 + number
        assert stderr == b""

    run(scenario())


def test_a_signal_before_anything_is_printed_ends_all_processes(env: dict[str, str]) -> None:
    async def scenario() -> None:
        async with started("demo", env=env) as demo:
            await until(lambda: len(processes_with(env["DEMO_TEST_MARK"])) == 3)
            demo.send_signal(signal.SIGINT)
            _, stderr = await demo.communicate()
        assert demo.returncode == 128 + signal.SIGINT
        assert stderr == b""

    run(scenario())


def test_demo_serve_serves_on_and_says_how_to_connect(env: dict[str, str]) -> None:
    async def scenario() -> None:
        async with started("demo", "--serve", "--port", "0", env=env) as demo:
            await line_with(demo.stdout, "Serving on")
            for_claude = await line_with(demo.stdout, "claude mcp add --transport http openxr ")
            url = for_claude.split()[-1]
            for_others = await line_with(demo.stdout, "mcpServers")
            configuration = json.loads(for_others[for_others.index("{") :])
            assert configuration["mcpServers"]["openxr"]["url"] == url
            async with Client(url) as client:
                result = await client.call_tool("MyApp_HelloWorld", {})
                assert not result.is_error
            demo.send_signal(signal.SIGINT)
            _, stderr = await demo.communicate()
        assert demo.returncode == 0
        assert stderr == b""

    run(scenario())


async def _script(script: str, env: dict[str, str]) -> tuple[int, str, str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        script,
        env=env,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    stdout, stderr = await process.communicate()
    assert process.returncode is not None
    return process.returncode, stdout.decode(), stderr.decode()


def test_the_demo_prints_one_object_when_asked_and_needs_no_token_of_the_users(env: dict[str, str]) -> None:
    async def scenario() -> None:
        code, stdout, stderr = await finished("demo", "--json", env={**env, "OPENXR_AGENTIC_TOKEN": "x" * 40})
        assert (code, stderr) == (0, "")
        told = json.loads(stdout)
        assert told["answers"] > 100
        assert (told["wrong"], set(told)) == ([], {"answers", "wrong", "http", "protocol"})

    run(scenario())
