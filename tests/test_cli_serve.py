"""``openxr-agentic serve``, as a process, in front of a fake app."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys

import pytest

pytest.importorskip("mcp")
pytest.importorskip("click")
pytest.importorskip("rich")


from typing import TYPE_CHECKING

from agent_harness import echo, run, until
from cli_harness import COMMAND, environment, finished, line_with, started
from fake_app import FakeApp
from mcp import Client

if TYPE_CHECKING:
    from pathlib import Path


def test_serve_prints_its_addresses_as_json_and_serves_there(folder: Path) -> None:
    app = FakeApp(name="Cube World")
    app.add("tool", echo)

    async def scenario() -> None:
        env = environment(folder)
        async with (
            app.running(folder),
            started("serve", "--port", "0", "--json", env=env) as server,
        ):
            assert server.stdout is not None
            addresses = json.loads(await server.stdout.readline())
            assert addresses["http"] == f"http://127.0.0.1:{addresses['port']}/mcp"
            assert addresses["sse"] == f"http://127.0.0.1:{addresses['port']}/sse"
            await line_with(server.stderr, "connected to Cube World")
            async with Client(addresses["http"]) as client:
                assert [tool.name for tool in (await client.list_tools()).tools] == ["tool"]

    run(scenario())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_serve_with_success_and_without_a_traceback(folder: Path, number: signal.Signals) -> None:
    async def scenario() -> None:
        async with started("serve", "--port", "0", "--json", env=environment(folder)) as server:
            assert server.stdout is not None
            address = json.loads(await server.stdout.readline())["http"]
            async with Client(address) as client:  # a client that is connected must not hold it up
                await client.list_tools()
                server.send_signal(number)
                _, stderr = await server.communicate()
            assert server.returncode == 0
            (line,) = stderr.decode().splitlines()
            assert "waiting for an app" in line

    run(scenario())


def test_serve_follows_the_app_that_is_asked_for(folder: Path) -> None:
    one = FakeApp(name="One")
    two = FakeApp(name="Two", pid=os.getppid())

    async def scenario() -> None:
        env = environment(folder)
        async with one.running(folder), two.running(folder):
            async with started("serve", "--port", "0", "--app", "Two", env=env) as server:
                await line_with(server.stderr, "connected to Two")
            async with started("serve", "--port", "0", env=env) as server:
                complaint = await line_with(server.stderr, "Several apps")
                assert "One" in complaint
                assert "--app" in complaint

    run(scenario())


def test_serve_says_what_it_waits_for_and_how_to_start_it(folder: Path) -> None:
    app = FakeApp(name="Cube World")

    async def scenario() -> None:
        for option, named in (((), "waiting for an app: start one"), (("--app", "Cube World"), "the app Cube World:")):
            async with started("serve", "--port", "0", *option, env=environment(folder)) as server:
                said = await line_with(server.stderr, "waiting for")
                assert named in said
                assert "OPENXR_AGENTIC_CHANNEL=1" in said
                assert "openxr-agentic run -- COMMAND" in said
                async with app.running(folder):
                    found = await line_with(server.stderr, "Cube World")
                    assert "connected to Cube World" in found

    run(scenario())


@pytest.mark.parametrize(("count", "words"), [(0, "0 tools stay"), (1, "1 tool stays"), (2, "2 tools stay")])
def test_serve_counts_the_tools_in_good_grammar(folder: Path, count: int, words: str) -> None:
    app = FakeApp(name="Cube World")
    for number in range(count):
        app.add(f"tool_{number}", echo)

    async def scenario() -> None:
        async with started("serve", "--port", "0", env=environment(folder)) as server:
            async with app.running(folder):
                await line_with(server.stderr, "connected to")
            assert words in await line_with(server.stderr, "went away")

    run(scenario())


@pytest.mark.parametrize(
    "page", [(), *((name,) for name in ("run", "serve", "demo", "apps", "tools", "call", "check", "config"))]
)
def test_the_help_shows_no_escape_and_keeps_to_the_width_of_a_terminal(folder: Path, page: tuple[str, ...]) -> None:
    async def scenario() -> str:
        code, stdout, stderr = await finished(*page, "--help", env=environment(folder, COLUMNS="80"))
        assert (code, stderr) == (0, "")
        return stdout

    shown = run(scenario())
    assert "\\" not in shown
    assert "\b" not in shown
    assert max(map(len, shown.splitlines())) <= 80
    if page == ("run",):
        lines = [line.strip() for line in shown.splitlines()]
        for line in ("125  the server could not start", "127  COMMAND was not found"):
            assert line in lines


def test_serve_says_when_the_app_goes_and_comes_back(folder: Path) -> None:
    app = FakeApp(name="Cube World")

    async def scenario() -> None:
        async with started("serve", "--port", "0", env=environment(folder)) as server:
            for _ in range(2):
                async with app.running(folder):
                    await line_with(server.stderr, "connected to Cube World")
                    await until(lambda: app.clients == 1)
                await line_with(server.stderr, "Cube World went away")

    run(scenario())


@pytest.mark.parametrize("value", ["abc", "70000", "80", "-1", "8_720", "\uff19\uff10\uff10\uff10", "1e4", "9" * 5000])
def test_a_port_that_is_none_is_an_error_that_names_value_range_and_default(folder: Path, value: str) -> None:
    async def scenario() -> None:
        env = environment(folder, AGENTICXR_MCP_PORT=value)
        code, stdout, stderr = await finished("serve", env=env)
        assert (code, stdout) == (2, "")
        for words in ("AGENTICXR_MCP_PORT", value, "1024 to 65535", "8720"):
            assert words in stderr
        assert "Traceback" not in stderr
        code, _, stderr = await finished("serve", f"--port={value}", env=environment(folder))
        assert code == 2
        assert f"--port is '{value}'" in stderr

    run(scenario())


def test_a_port_from_the_environment_is_used_and_the_option_wins(folder: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]

    async def scenario() -> None:
        env = environment(folder, AGENTICXR_MCP_PORT=str(port))
        async with started("serve", "--json", env=env) as server:
            assert server.stdout is not None
            assert json.loads(await server.stdout.readline())["port"] == port
            async with started("serve", "--json", "--port", "0", env=env) as other:
                assert other.stdout is not None
                assert json.loads(await other.stdout.readline())["port"] != port

    run(scenario())


def test_a_taken_port_is_an_error_that_names_it_and_its_holder(folder: Path) -> None:
    async def scenario() -> None:
        with socket.create_server(("127.0.0.1", 0)) as holder:
            port = holder.getsockname()[1]
            code, _, stderr = await finished("serve", "--port", str(port), env=environment(folder))
        assert code == 1
        assert f"Port {port} is taken" in stderr
        assert "--port" in stderr
        if sys.platform == "linux":
            assert f"(process {os.getpid()})" in stderr

    run(scenario())


def test_without_the_extras_the_command_says_what_to_install() -> None:
    script = (
        "import sys\n"
        "sys.modules.update(dict.fromkeys({missing!r}))\n"
        "import importlib.util as util\n"
        "found = util.find_spec\n"
        "import openxr_agentic.cli as cli\n"
        "cli.find_spec = lambda name: None if name in {missing!r} else found(name)\n"
        "sys.argv = ['openxr-agentic', 'serve']\n"
        "cli.main()\n"
    )
    for missing in (["click", "rich"], ["mcp"], ["uvicorn"]):
        ended = subprocess.run(
            [sys.executable, "-c", script.format(missing=missing)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 1
        assert " and ".join(missing) in ended.stderr
        assert "pip install 'openxr-agentic[cli,mcp]'" in ended.stderr
        assert "Traceback" not in ended.stderr


def test_the_command_line_is_imported_without_the_mcp_package() -> None:
    script = "import sys, openxr_agentic.cli; print('mcp' in sys.modules, 'click' in sys.modules)"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ended.stdout.split() == ["False", "False"]


def test_a_server_that_ends_with_its_stdin_waits_for_that_also_where_it_is_non_blocking(folder: Path) -> None:
    """As a program on node.js gives it."""
    stdin, held = os.pipe()
    os.set_blocking(stdin, False)
    words = [*COMMAND, "serve", "--json", "--port", "0", "--until-stdin-closes"]
    with subprocess.Popen(words, env=environment(folder), stdin=stdin, stdout=subprocess.PIPE, text=True) as server:
        os.close(stdin)
        assert server.stdout is not None
        addresses = json.loads(server.stdout.readline())

        async def scenario() -> None:
            for _ in range(3):
                async with Client(addresses["http"]) as client:
                    assert (await client.list_tools()).tools == []

        try:
            run(scenario())
        finally:
            os.close(held)
        assert server.wait(60) == 0
