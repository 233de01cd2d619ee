"""``openxr-agentic run -- COMMAND``: the app's exit code, its signals, its tools."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager, suppress
from dataclasses import dataclass

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
    from io import FileIO
    from pathlib import Path

ANY_PORT = ("run", "--port", "0", "--")


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


# Apps here do not print: a signal that comes while "ready" is being printed would print inside of that, which Python
# refuses.
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_is_passed_on_and_the_app_ends_in_its_own_way(folder: Path, number: signal.Signals) -> None:
    script = (
        "import os, signal, sys, time\n"
        f"signal.signal({int(number)}, lambda *_: (os.write(1, b'cleaned up\\n'), sys.exit(5)))\n"
        "os.write(1, b'ready\\n')\n"
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


def test_the_app_gets_each_interrupt_and_the_third_kills_it(folder: Path) -> None:
    script = (
        "import os, signal, time\n"
        "signal.signal(signal.SIGINT, lambda *_: os.write(1, b'ignored\\n'))\n"
        "os.write(1, b'ready\\n')\n"
        "while True: time.sleep(60)\n"
    )

    async def scenario() -> None:
        async with started(*ANY_PORT, *python(script), env=environment(folder)) as process:
            await line_with(process.stdout, "ready")
            process.send_signal(signal.SIGINT)
            await line_with(process.stdout, "ignored")
            said = await line_with(process.stderr, "waiting for the app to end")
            assert "Ctrl-C again interrupts it once more, a third one kills it" in said
            process.send_signal(signal.SIGINT)
            await line_with(process.stdout, "ignored")
            said = await line_with(process.stderr, "waiting for the app to end")
            assert "Ctrl-C again kills it" in said
            process.send_signal(signal.SIGINT)
            _, stderr = await process.communicate()
            assert process.returncode == 128 + signal.SIGKILL
            assert b"the app was ended by SIGKILL" in stderr

    run(scenario())


COUNTING = (
    "import os, signal, sys\n"
    "count = 0\n"
    "def interrupted(*_):\n"
    "    global count\n"
    "    count += 1\n"
    "    os.write(1, b'interrupted\\n')\n"
    "def ended(*_):\n"
    "    os.write(1, b'interrupts: %d\\n' % count)\n"
    "    sys.exit(5)\n"
    "signal.signal(signal.SIGINT, interrupted)\n"
    "signal.signal(signal.SIGTERM, ended)\n"
    "os.write(1, b'ready\\n')\n"
    "while True: signal.pause()\n"
)


@dataclass
class InTerminal:
    """``run`` in the foreground of a terminal of its own."""

    process: subprocess.Popen[bytes]
    terminal: FileIO
    shown: bytes = b""

    def until(self, words: bytes) -> None:
        """Read what the terminal shows up to and with `words`."""
        while words not in self.shown:
            more = self.terminal.read(1000)
            assert more
            self.shown += more
        self.shown = self.shown.partition(words)[2]

    def rest(self) -> bytes:
        """Read to the end."""
        with suppress(OSError):  # how a terminal ends on Linux
            while more := self.terminal.read(1000):
                self.shown += more
        return self.shown

    def press_ctrl_c(self) -> None:
        self.terminal.write(b"\x03")


@contextmanager
def in_terminal(folder: Path, *command: str) -> Iterator[InTerminal]:
    # A session's leader that opens a terminal has it as its controlling terminal.
    opening = "import os, sys; os.open(os.ttyname(0), os.O_RDWR); os.execv(sys.argv[1], sys.argv[1:])"
    master, slave = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", opening, *COMMAND, *ANY_PORT, *command],
        env=environment(folder),
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
    )
    os.close(slave)
    try:
        with open(master, "r+b", buffering=0) as terminal:
            yield InTerminal(process, terminal)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_each_ctrl_c_in_the_terminal_reaches_the_app_once(folder: Path) -> None:
    with in_terminal(folder, *python(COUNTING)) as it:
        it.until(b"ready")
        for _ in range(2):
            it.press_ctrl_c()
            it.until(b"waiting for the app to end")
        it.process.send_signal(signal.SIGTERM)
        shown = it.rest()
        assert it.process.wait() == 5
    assert b"interrupts: 2" in shown
    assert b"Traceback" not in shown


def test_an_interrupt_to_run_alone_reaches_the_app_also_in_the_foreground_of_a_terminal(folder: Path) -> None:
    with in_terminal(folder, *python(COUNTING)) as it:
        it.until(b"ready")
        for _ in range(2):
            it.process.send_signal(signal.SIGINT)
            it.until(b"interrupted")
            it.until(b"waiting for the app to end")
        it.process.send_signal(signal.SIGTERM)
        shown = it.rest()
        assert it.process.wait() == 5
    assert b"interrupts: 2" in shown


def test_a_ctrl_c_in_the_terminal_reaches_an_app_that_left_the_process_group(folder: Path) -> None:
    with in_terminal(folder, *python("import os; os.setpgid(0, 0)\n" + COUNTING)) as it:
        it.until(b"ready")
        it.press_ctrl_c()
        it.until(b"interrupted")
        it.process.send_signal(signal.SIGTERM)  # killing the group would not reach the app
        it.rest()
        assert it.process.wait() == 5


def test_without_a_witness_the_app_gets_the_interrupt_all_the_same(folder: Path) -> None:
    # Nothing is on this PATH, not even what tells a Ctrl-C in the terminal from another interrupt.
    async def scenario() -> None:
        env = environment(folder, PATH=str(folder))
        async with started(*ANY_PORT, *python(COUNTING), env=env) as process:
            await line_with(process.stdout, "ready")
            process.send_signal(signal.SIGINT)
            await line_with(process.stdout, "interrupted")

    run(scenario())


def test_an_interrupt_during_a_tool_on_the_main_thread_gives_130(folder: Path) -> None:
    script = (
        "import threading, time, xr\n"
        "import openxr_agentic as agentic\n"
        "from openxr_agentic.cli.demo.headless import frames\n"
        "def work(arguments):\n"
        "    print('working', flush=True)\n"
        "    while True: time.sleep(0.01)\n"
        "extensions = agentic.enable_extension([xr.MND_HEADLESS_EXTENSION_NAME], required=True)\n"
        "instance = xr.create_instance(xr.InstanceCreateInfo(enabled_extension_names=extensions))\n"
        "with agentic.AgenticExtension(instance) as extension:\n"
        "    extension.register_tool('work', 'Works.', None, work)\n"
        "    for _ in frames(instance, threading.Event()): pass\n"
    )

    async def scenario() -> None:
        async with started(*ANY_PORT, *python(script), env=environment(folder)) as process:
            said = await line_with(process.stderr, "serving MCP at")
            url = re.search(r"http://\S+/mcp", said)
            assert url is not None
            await line_with(process.stderr, "connected to")
            async with Client(url[0]) as client:
                calling = asyncio.ensure_future(client.call_tool("work", {}))
                await line_with(process.stdout, "working")
                process.send_signal(signal.SIGINT)
                _, stderr = await process.communicate()
                calling.cancel()
            assert process.returncode == 128 + signal.SIGINT
            assert b"KeyboardInterrupt" in stderr
            assert b"was ended by" not in stderr

    run(scenario())


@pytest.mark.parametrize("code", [0, 3])
def test_nothing_is_said_of_an_app_with_tools_that_ends_by_itself(folder: Path, code: int) -> None:
    script = (
        "import asyncio, os, signal, sys\n"
        "from pathlib import Path\n"
        "from fake_app import FakeApp\n"
        "async def main():\n"
        "    ending = asyncio.Event()\n"
        "    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, ending.set)\n"
        "    app = FakeApp(label=os.environ['OPENXR_AGENTIC_CHANNEL'])\n"
        "    async with app.running(Path(os.environ['XDG_RUNTIME_DIR'])):\n"
        "        await ending.wait()\n"
        "    await asyncio.sleep(0.5)  # as an app does that has more to tear down than OpenXR\n"
        "asyncio.run(main())\n"
        f"sys.exit({code})\n"
    )

    async def scenario() -> None:
        async with started(*ANY_PORT, *python(script), env=environment(folder)) as process:
            said = await line_with(process.stderr, "connected to Fake App")
            pid = re.search(r"process (\d+)", said)
            assert pid is not None
            os.kill(int(pid[1]), signal.SIGUSR1)
            _, stderr = await process.communicate()
        assert process.returncode == code
        assert stderr == b""

    run(scenario())


def test_a_crash_of_the_app_is_said_by_the_name_of_its_signal(folder: Path) -> None:
    async def scenario() -> None:
        script = "import os, resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0)); os.abort()"
        code, _, stderr = await finished(*ANY_PORT, *python(script), env=environment(folder))
        assert code == 128 + signal.SIGABRT
        assert "the app was ended by SIGABRT" in stderr

    run(scenario())


def test_run_says_where_clients_find_it_in_lines_to_paste(folder: Path) -> None:
    async def scenario() -> None:
        _, _, stderr = await finished(*ANY_PORT, *python(""), env=environment(folder))
        url = re.search(r"http://\S+/mcp", stderr)
        assert url is not None
        assert url[0].replace("/mcp", "/sse") in stderr
        assert f"claude mcp add --transport http openxr {url[0]}\n" in stderr

    run(scenario())


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
        assert stderr.startswith("Error: cannot run ./no-such-program")  # before any word of serving
        text = folder / "text"
        text.write_text("no program")
        code, _, stderr = await finished(*ANY_PORT, str(text), env=env)
        assert code == 126
        assert stderr.startswith(f"Error: cannot run {text}")

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


def test_an_interrupt_that_comes_while_the_app_is_being_started_reaches_it(folder: Path) -> None:
    """The app starts, and is interrupted, before `run` gets on: as on a machine that is busy."""
    program = (
        "import asyncio, os, signal, sys\n"
        "start = asyncio.create_subprocess_exec\n"
        "async def start_and_be_interrupted(*words, **options):\n"
        "    app = await start(*words, **{**options, 'stdout': asyncio.subprocess.PIPE})\n"
        "    await app.stdout.readline()\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    await asyncio.sleep(0)\n"
        "    return app\n"
        "asyncio.create_subprocess_exec = start_and_be_interrupted\n"
        "from openxr_agentic.cli import main\n"
        "sys.argv[1:] = ['run', '--port', '0', '--', sys.executable, '-c', sys.argv[1]]\n"
        "main()\n"
    )
    script = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGINT, lambda *_: sys.exit(5))\n"
        "print('ready', flush=True)\n"
        "while True: time.sleep(60)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program, script], env=environment(folder), capture_output=True, text=True, check=False
    )
    assert (ended.returncode, "Traceback" in ended.stderr) == (5, False), ended.stderr


def test_an_app_that_never_offered_tools_is_said_to_have_ended_without(folder: Path) -> None:
    code, _, stderr = run(finished(*ANY_PORT, *python("pass"), env=environment(folder)))
    assert code == 0
    assert "ended without an OpenXR instance with the extension" in stderr
    assert stderr.count("openxr-agentic run -- openxr-agentic doctor") == 1


def test_where_no_runtime_can_be_loaded_the_doctor_is_named_behind_the_apps_own_words(folder: Path) -> None:
    command = python("import sys; sys.exit('no runtime')")
    code, _, stderr = run(finished("run", "--layer", *ANY_PORT[1:], *command, env=environment(folder)))
    assert code == 1
    assert "openxr-agentic run --layer -- openxr-agentic doctor" in stderr.partition("no runtime\n")[2]


def test_the_doctor_itself_is_no_app_without_tools(folder: Path) -> None:
    _, stdout, stderr = run(finished(*ANY_PORT, *COMMAND, "doctor", env=environment(folder)))
    assert "Active runtime" in stdout
    assert "agents saw no tools" not in stderr


@pytest.mark.parametrize(("options", "who"), [((), "the mock runtime"), (("--layer",), "this package's layer")])
def test_numbers_for_another_host_are_kept_from_the_app_and_that_is_said(
    folder: Path, options: tuple[str, ...], who: str
) -> None:
    """A host of this package refuses them; so the app's tools are there all the same."""
    pytest.importorskip("xr", exc_type=Exception)
    script = (
        "import openxr_agentic as agentic, xr\n"
        "names = agentic.enable_extension([], required=True)\n"
        "instance = xr.create_instance(xr.InstanceCreateInfo(enabled_extension_names=names))\n"
        "registry = agentic.ToolRegistry()\n"
        "registry.register('tool', lambda x: x, 'A tool.')\n"
        "print(registry.attach(instance).status().attached)\n"
        "registry.close()\n"
        "xr.destroy_instance(instance)\n"
    )
    numbers = folder / "numbers.json"
    numbers.write_text('{"XR_TYPE_AGENTIC_EXTERNAL_TOOL_PARAMETER_METAX1": 1000123000}', encoding="utf-8")
    mock = {"XR_RUNTIME_JSON": str(manifest_path()), "OPENXR_AGENTIC_MOCK_EXTENSION": str(int(not options))}
    for given in (str(numbers), numbers.read_text(encoding="utf-8"), " "):
        env = environment(folder, OPENXR_AGENTIC_NUMBERS=given, **mock)
        _, stdout, stderr = run(finished("run", *options, *ANY_PORT[1:], *python(script), env=env))
        assert stdout == "True\n", stderr
        assert stderr.count("OPENXR_AGENTIC_NUMBERS is kept from the app") == bool(given.strip())
        assert who in stderr or not given.strip()
