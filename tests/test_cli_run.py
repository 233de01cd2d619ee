"""``openxr-agentic run -- COMMAND``: the app's exit code, its signals, its tools."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

pytest.importorskip("mcp")
pytest.importorskip("click")
pytest.importorskip("rich")

from typing import TYPE_CHECKING

from agent_harness import run
from cli_harness import COMMAND, environment, finished, line_with, started
from mcp import Client

from openxr_agentic.host import manifest_path

if TYPE_CHECKING:
    from collections.abc import Iterator

ANY_PORT = ("run", "--port", "0", "--")


@pytest.fixture
def folder() -> Iterator[Path]:
    """A runtime folder of this test's own, with a path short enough for a socket."""
    with TemporaryDirectory() as name:
        yield Path(name)


def python(script: str) -> list[str]:
    """A command that runs a script."""
    return [sys.executable, "-c", script]


@pytest.mark.parametrize("code", [0, 1, 2, 7, 255])
def test_the_exit_code_is_that_of_the_command(folder: Path, code: int) -> None:
    async def scenario() -> None:
        command = python(f"import sys; print('out'); sys.exit({code})")
        ended = await finished(*ANY_PORT, *command, env=environment(folder))
        assert ended[:2] == (code, "out\n")

    run(scenario())


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM, signal.SIGINT])
def test_a_command_that_a_signal_ended_gives_128_and_its_number(folder: Path, number: signal.Signals) -> None:
    async def scenario() -> None:
        script = (
            "import os, resource, signal\n"
            "resource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n"
            f"signal.signal({int(number)}, signal.SIG_DFL)\n"
            if number != signal.SIGKILL
            else "import os\n"
        ) + f"os.kill(os.getpid(), {int(number)})"
        code, _, stderr = await finished(*ANY_PORT, *python(script), env=environment(folder))
        assert code == 128 + number
        assert "Traceback" not in stderr

    run(scenario())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_is_passed_on_and_the_app_ends_in_its_own_way(folder: Path, number: signal.Signals) -> None:
    script = (
        "import signal, sys, time\n"
        f"signal.signal({int(number)}, lambda *_: (print('cleaned up', flush=True), sys.exit(5)))\n"
        "print('ready', flush=True)\n"
        "while True: time.sleep(60)\n"
    )

    async def scenario() -> None:
        async with started(*ANY_PORT, *python(script), env=environment(folder)) as process:
            await line_with(process.stdout, "ready")
            process.send_signal(number)
            stdout, stderr = await process.communicate()
        assert process.returncode == 5
        assert stdout == b"cleaned up\n"
        assert b"Traceback" not in stderr

    run(scenario())


def test_a_second_interrupt_kills_an_app_that_ignores_the_first(folder: Path) -> None:
    script = (
        "import signal, time\n"
        "signal.signal(signal.SIGINT, lambda *_: print('ignored', flush=True))\n"
        "print('ready', flush=True)\n"
        "while True: time.sleep(60)\n"
    )

    async def scenario() -> None:
        async with started(*ANY_PORT, *python(script), env=environment(folder)) as process:
            await line_with(process.stdout, "ready")
            process.send_signal(signal.SIGINT)
            await line_with(process.stdout, "ignored")
            process.send_signal(signal.SIGINT)
            await process.communicate()
            assert process.returncode == 128 + signal.SIGKILL

    run(scenario())


def test_a_ctrl_c_in_the_terminal_reaches_the_app_once(folder: Path) -> None:
    script = (
        "import signal, sys\n"
        "count = 0\n"
        "def interrupted(*_):\n"
        "    global count\n"
        "    count += 1\n"
        "    signal.signal(signal.SIGALRM, lambda *_: (print('interrupts:', count), sys.exit(5)))\n"
        "    signal.setitimer(signal.ITIMER_REAL, 0.5)  # leaves time for a second one\n"
        "signal.signal(signal.SIGINT, interrupted)\n"
        "print('ready')\n"
        "while True: signal.pause()\n"
    )
    # A session's leader that opens a terminal has it as its controlling terminal.
    in_terminal = "import os, sys; os.open(os.ttyname(0), os.O_RDWR); os.execv(sys.argv[1], sys.argv[1:])"
    master, slave = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", in_terminal, *COMMAND, *ANY_PORT, *python(script)],
        env=environment(folder),
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
    )
    os.close(slave)
    with open(master, "rb", buffering=0) as terminal:
        shown = b""
        while b"ready" not in shown:
            shown += terminal.read(1000) or b""
        os.write(master, b"\x03")
        with suppress(OSError):  # how a terminal ends on Linux
            while more := terminal.read(1000):
                shown += more
    assert process.wait() == 5
    assert b"interrupts: 1" in shown
    assert b"Traceback" not in shown


def test_the_tools_of_the_app_are_served_with_the_mock_runtime_selected(folder: Path) -> None:
    async def scenario() -> None:
        command = [sys.executable, "-m", "fake_app"]
        async with started(*ANY_PORT, *command, env=environment(folder)) as process:
            said = await line_with(process.stderr, "serving MCP at")
            url = re.search(r"http://\S+/mcp", said)
            assert url is not None
            await line_with(process.stderr, "connected to Fake App")
            async with Client(url[0]) as client:
                result = await client.call_tool("runtime", {})
                assert result.content[0].text == str(manifest_path())  # type: ignore[union-attr]

    run(scenario())


def test_each_run_serves_its_own_app_only(folder: Path) -> None:
    async def scenario() -> None:
        command = [sys.executable, "-m", "fake_app"]
        env = environment(folder)
        async with started(*ANY_PORT, *command, env=env) as one, started(*ANY_PORT, *command, env=env) as two:
            first = await line_with(one.stderr, "connected to Fake App")
            second = await line_with(two.stderr, "connected to Fake App")
        assert first != second  # the lines name the processes

    run(scenario())


def test_a_command_that_is_not_there_or_no_program_gives_127_or_126(folder: Path) -> None:
    async def scenario() -> None:
        env = environment(folder)
        code, _, stderr = await finished(*ANY_PORT, "./no-such-program", env=env)
        assert code == 127
        assert "cannot run ./no-such-program" in stderr
        text = folder / "text"
        text.write_text("no program")
        code, _, stderr = await finished(*ANY_PORT, str(text), env=env)
        assert code == 126
        assert f"cannot run {text}" in stderr

    run(scenario())


def test_a_taken_port_is_said_before_the_command_is_started(folder: Path) -> None:
    async def scenario() -> None:
        with socket.create_server(("127.0.0.1", 0)) as holder:
            port = str(holder.getsockname()[1])
            command = python("print('started')")
            ended = await finished("run", "--port", port, "--", *command, env=environment(folder))
        code, stdout, stderr = ended
        assert (code, stdout) == (125, "")
        assert f"Port {port} is taken" in stderr

    run(scenario())


def test_options_of_the_command_are_left_to_it_without_the_dashes(folder: Path) -> None:
    async def scenario() -> None:
        command = [sys.executable, "-c", "import sys; print(sys.argv[1:])", "--port", "--help"]
        ended = await finished("run", "--port", "0", *command, env=environment(folder))
        assert ended[:2] == (0, "['--port', '--help']\n")

    run(scenario())


def test_the_environment_of_the_user_reaches_the_command(folder: Path) -> None:
    async def scenario() -> None:
        command = python("import os; print(os.environ['KEPT'], os.getcwd())")
        _, stdout, _ = await finished(*ANY_PORT, *command, env=environment(folder, KEPT="yes"))
        assert stdout == f"yes {os.getcwd()}\n"

    run(scenario())
