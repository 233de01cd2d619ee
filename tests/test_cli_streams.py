"""stdout and stderr that are closed, full, or read by nobody: the work goes on, or one line says why not."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("mcp")
pytest.importorskip("click")
pytest.importorskip("rich")


from agent_harness import echo, run, text_of, until
from cli_harness import COMMAND, environment, finished, line_with, started
from fake_app import FakeApp
from mcp import Client

from openxr_agentic.cli import log
from openxr_agentic.cli.streams import MOST_WAITING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

APP = [sys.executable, "-c", "import sys; sys.exit(7)"]


@contextmanager
def serving(*arguments: str, env: dict[str, str], stderr: int) -> Iterator[subprocess.Popen[bytes]]:
    """Start ``serve --json`` with a stderr of the test's own."""
    words = [*COMMAND, "serve", "--port", "0", "--json", *arguments]
    process = subprocess.Popen(words, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


async def address_of(process: subprocess.Popen[bytes]) -> str:
    assert process.stdout is not None
    addresses = json.loads(await asyncio.to_thread(process.stdout.readline))
    return str(addresses["http"])


async def ends_with(process: subprocess.Popen[bytes], number: signal.Signals) -> int:
    process.send_signal(number)
    await until(lambda: process.poll() is not None)
    return process.returncode


def fill(pipe: int) -> None:
    """Write until a pipe takes no more."""
    os.set_blocking(pipe, False)
    with suppress(BlockingIOError):
        while os.write(pipe, b"x" * 512):
            pass
    os.set_blocking(pipe, True)


@pytest.mark.parametrize("which", [(), ("--all",)])
@pytest.mark.parametrize("way", ["left", "full", "unread"])
def test_serve_goes_on_whatever_becomes_of_stderr(folder: Path, way: str, which: tuple[str, ...]) -> None:
    """The app's coming and going is said there, and so is what is wrong with a tool's metadata."""
    app = FakeApp(name="Game")
    app.add("tool", echo, metadata='{"title": 5}')
    read_end, write_end = os.pipe()
    if way == "full":
        os.close(write_end)
        write_end = os.open("/dev/full", os.O_WRONLY)
    if way == "unread":
        fill(write_end)

    async def scenario() -> None:
        with serving(*which, env=environment(folder), stderr=write_end) as server:
            os.close(write_end)
            if way == "left":
                os.close(read_end)
            address = await address_of(server)
            for _ in range(2):
                async with app.running(folder):
                    await until(lambda: app.clients > 0)
                    async with Client(address) as client:
                        name = "Game__tool" if which else "tool"
                        while name not in [tool.name for tool in (await client.list_tools()).tools]:
                            pass
                        assert text_of(await client.call_tool(name, {})) == "{}"
                await until(lambda: app.clients == 0)
            assert await ends_with(server, signal.SIGTERM) == 0

    run(scenario())
    if way != "left":
        os.close(read_end)


@pytest.mark.parametrize("redirection", [">&-", "2>&-", "2>/dev/full", ">&- 2>&-", "2> >(exit)", ">/dev/full"])
def test_run_gives_the_apps_exit_code_whatever_its_streams_are(folder: Path, redirection: str) -> None:
    words = ["bash", "-c", f'exec "$@" {redirection}', "-", *COMMAND, "run", "--port", "0", "--", *APP]
    done = subprocess.run(words, env=environment(folder), stderr=subprocess.PIPE, check=False)
    assert done.returncode == 7
    assert b"Traceback" not in done.stderr
    assert b"Exception" not in done.stderr


@pytest.mark.parametrize("redirection", [">&-", ">/dev/full"])
@pytest.mark.parametrize(
    "command", ["apps --json", "serve --port 0 --json", "check --json nobody", "--version", "--help"]
)
def test_a_result_that_cannot_be_written_is_one_line_and_exit_code_1(
    folder: Path, command: str, redirection: str
) -> None:
    words = ["bash", "-c", f'exec "$@" {redirection}', "-", *COMMAND, *command.split()]
    done = subprocess.run(words, env=environment(folder), stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("Error: cannot write to standard output: ")


@pytest.mark.parametrize("streams", [">/dev/full 2>&1", ">&- 2>&-", ">/dev/full 2>&-", ">&- 2>/dev/full"])
@pytest.mark.parametrize("command", ["apps --json", "call --app nobody tool", "serve --port 0 --json"])
def test_where_nothing_can_be_said_the_exit_code_says_it(folder: Path, command: str, streams: str) -> None:
    words = ["bash", "-c", f'exec "$@" {streams}', "-", *COMMAND, *command.split()]
    assert subprocess.run(words, env=environment(folder), check=False).returncode == 1


def test_serve_needs_no_stdout(folder: Path) -> None:
    async def scenario() -> None:
        words = ["bash", "-c", 'exec "$@" >&-', "-", *COMMAND, "serve", "--port", "0"]
        server = await asyncio.create_subprocess_exec(*words, env=environment(folder), stderr=asyncio.subprocess.PIPE)
        await line_with(server.stderr, "waiting for an app")
        server.terminate()
        _, stderr = await server.communicate()
        assert (server.returncode, stderr) == (0, b"")

    run(scenario())


def test_messages_that_nobody_reads_are_dropped_and_counted(folder: Path) -> None:
    program = (
        "import sys; from openxr_agentic.cli.streams import guard_streams, stderr_in_background; guard_streams()\n"
        "with stderr_in_background():\n"
        f"    for number in range({2 * MOST_WAITING}): print('x' * 100, file=sys.stderr)\n"
        "    print(flush=True); input()\n"
    )
    read_end, write_end = os.pipe()
    fcntl.fcntl(write_end, fcntl.F_SETPIPE_SZ, 4096)  # some ten lines
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        env=environment(folder),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=write_end,
    )
    os.close(write_end)
    with process, open(read_end, encoding="utf-8") as stderr:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.readline()  # everything is printed
        process.stdin.write(b"\n")
        process.stdin.flush()
        lines = stderr.read().splitlines()
    told = [line for line in lines if line != "x" * 100]
    assert told
    assert all(line.startswith("openxr-agentic: messages that nobody read in time are lost: ") for line in told)
    assert len(lines) - len(told) + sum(int(line.split()[-1]) for line in told) == 2 * MOST_WAITING


def half_a_request(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        head = "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        connection.sendall(
            f"{head}Accept: application/json, text/event-stream\r\nContent-Length: 9\r\n\r\nabc".encode()
        )


@pytest.mark.parametrize("debugging", [False, True])
def test_what_other_packages_log_is_few_lines_and_no_traceback(folder: Path, debugging: bool) -> None:
    async def scenario() -> None:
        env = environment(folder, **({log.DEBUG_VARIABLE: "1"} if debugging else {}))
        async with started("serve", "--port", "0", "--json", env=env) as server:
            assert server.stdout is not None
            port = json.loads(await server.stdout.readline())["port"]
            for _ in range(20):
                half_a_request(port)
            with socket.create_connection(("127.0.0.1", port)) as connection:  # a warning for each
                head = b"POST /messages/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                connection.sendall(head + b"Content-Length: 0\r\n\r\n")
                assert b" 400 " in await asyncio.to_thread(connection.recv, 4096)
            assert server.stderr is not None
            said = b""
            while b"ClientDisconnect" not in said:
                said += await server.stderr.readline()
            server.terminate()
            said += (await server.communicate())[1]
            assert (b"Traceback" in said) == debugging
            assert (b"session_id" in said) == debugging
            if not debugging:
                assert len(said.splitlines()) == 2, said  # "waiting for an app" is the other one

    run(scenario())


def test_a_name_cannot_make_a_line_or_a_colour_of_its_own_in_the_log(folder: Path) -> None:
    evil = "\x1b]0;title\x07\u202e\x9b"
    app = FakeApp(name="Evil\nopenxr-agentic: forged " + evil)
    schema = {"type": "object", "properties": {evil: {}}, "required": [evil], "additionalProperties": False}
    app.add("tool", echo, metadata=json.dumps({"inputSchema": schema}))

    async def scenario() -> None:
        async with app.running(folder), started("serve", "--port", "0", env=environment(folder)) as server:
            line = await line_with(server.stderr, "connected to")
            assert r"Evil\nopenxr-agentic: forged \x1b]0;title\x07\u202e\x9b (process" in line
            for words in (("tools", "--app", "another"), ("call", "tool", "--app", app.name, "another=1")):
                code, _, stderr = await finished(*words, env=environment(folder))
                assert code in (1, 2)
                assert not set(stderr) & set("\x1b\x07\u202e\x9b")
                assert "\nopenxr-agentic: forged" not in stderr
                assert r"\x1b]0;title\x07\u202e\x9b" in stderr

    run(scenario())
