"""MCP on stdin and stdout: ``serve --stdio`` and ``run --stdio``."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import json
import os
import signal
import socket
import sys
from pathlib import Path

import pytest

pytest.importorskip("mcp")
pytest.importorskip("click")
pytest.importorskip("rich")

from typing import TYPE_CHECKING

from agent_harness import Gate, echo, run, text_of, until
from cli_harness import environment, finished, line_with, started
from fake_app import FakeApp, FakeParameter
from mcp import Client
from mcp.client.sse import sse_client
from stdio_harness import LINE_LIMIT, MODERN, client, pipes

from openxr_agentic.host import manifest_path
from openxr_agentic.testing import MockRuntime

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

ERAS = pytest.mark.parametrize("mode", ["legacy", "auto"])
SERVE = ("serve", "--stdio")
RUN = ("run", "--stdio", "--")

APP = '''
"""An app that writes to its stdout in every way there is, and offers a few tools."""

import ctypes
import os
import sys
import threading

import xr

import openxr_agentic as agentic
from openxr_agentic.cli.demo.headless import frames

registry = agentic.ToolRegistry(prefix="Loud_", settings=False)
libc = ctypes.CDLL(None)
libc.puts.argtypes = [ctypes.c_char_p]
libc.fflush.argtypes = [ctypes.c_void_p]


def shout(words):
    print(words, "by print", flush=True)
    os.write(1, f"{words} by write\\n".encode())
    libc.puts(f"{words} by puts".encode())
    libc.fflush(None)
    sys.stdout.write(words + " without an end of line")
    sys.stdout.flush()


@registry.tool
def main_thread(words: str) -> str:
    """Shout, on the main thread."""
    shout(words)
    return words + ", done"


@registry.tool(main_thread=False, annotations={"readOnlyHint": True})
def any_thread(count: int = 1) -> list[str]:
    """Shout, on any thread."""
    shout("worker")
    return [str(number) for number in range(count)]


@registry.tool(main_thread=False)
def broken() -> str:
    """Fail."""
    raise agentic.ToolError("It is broken.", tip="Do not call it.")


if __name__ == "__main__":
    shout("start")
    print("stdin:", repr(sys.stdin.read() if os.environ.get("READ_STDIN") else None), file=sys.stderr, flush=True)
    extensions = agentic.enable_extension([xr.MND_HEADLESS_EXTENSION_NAME], required=True)
    instance = xr.create_instance(xr.InstanceCreateInfo(enabled_extension_names=extensions))
    with registry.attach(instance):
        for _ in frames(instance, threading.Event()):
            pass
'''


@pytest.fixture
def loud(folder: Path) -> Path:
    """An app on the real path that prints whatever it can."""
    path = folder / "loud_app.py"
    path.write_text(APP)
    return path


def python(script: str) -> list[str]:
    return [sys.executable, "-c", script]


@contextlib.asynccontextmanager
async def standalone(app: Path, env: dict[str, str]) -> AsyncIterator[asyncio.subprocess.Process]:
    """The app by itself on the mock runtime, with its channel open."""
    opened = {**env, "XR_RUNTIME_JSON": str(manifest_path()), "OPENXR_AGENTIC_CHANNEL": "1"}
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(app), env=opened, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        yield process
    finally:
        process.kill()
        await process.wait()


@ERAS
def test_an_official_client_that_starts_the_server_lists_and_calls_the_tools(folder: Path, mode: str) -> None:
    app = FakeApp()
    app.add("MyApp_Echo", echo, FakeParameter("input", required=True), description="Echoes.")

    async def scenario() -> None:
        async with app.running(folder), client(*SERVE, env=environment(folder), mode=mode) as agent:
            while not (tools := (await agent.list_tools()).tools):
                pass  # each turn asks the server, which is looking for the app
            assert [tool.name for tool in tools] == ["MyApp_Echo"]
            assert (
                text_of(await agent.call_tool("MyApp_Echo", {"input": "Grüße an 世界"})) == '{"input": "Grüße an 世界"}'
            )

    run(scenario())


def test_a_client_of_the_handshake_era_hears_of_a_changed_list_on_stdio(folder: Path) -> None:
    app = FakeApp()
    changed = asyncio.Event()

    async def inbox(message: object) -> None:
        if type(message).__name__ == "ToolListChangedNotification":
            changed.set()

    async def scenario() -> None:
        async with (
            app.running(folder),
            client(*SERVE, env=environment(folder), mode="legacy", on_message=inbox) as agent,
        ):
            await until(lambda: app.clients == 1)
            await agent.list_tools()
            app.add("late", echo)
            app.announce()
            await changed.wait()
            assert [tool.name for tool in (await agent.list_tools()).tools] == ["late"]

    run(scenario())


def test_a_client_of_the_later_era_hears_of_a_changed_list_on_stdio_where_it_listens(folder: Path) -> None:
    app = FakeApp()

    async def scenario() -> None:
        async with app.running(folder), client(*SERVE, env=environment(folder)) as agent:
            await until(lambda: app.clients == 1)
            async with agent.listen(tools_list_changed=True) as changes:
                app.add("late", echo)
                app.announce()
                await anext(changes)
                assert [tool.name for tool in (await agent.list_tools()).tools] == ["late"]

    run(scenario())


# ---- nothing but messages on stdout (cases.md 4.8) ----


def test_whatever_the_app_prints_stdout_holds_nothing_but_messages_under_run(folder: Path, loud: Path) -> None:
    async def scenario() -> None:
        async with pipes(*RUN, sys.executable, str(loud), env=environment(folder, READ_STDIN="1")) as server:
            await server.tools_with("Loud_broken")
            assert await server.call("Loud_main_thread", words="frame") == "frame, done"
            assert json.loads(await server.call("Loud_any_thread")) == ["0"]
            code, stderr = await server.leave()
            assert code == 0
        for words in ("start", "frame", "worker"):
            for way in ("by print", "by write", "by puts", "without an end of line"):
                assert f"{words} {way}".encode() in stderr
        assert b"stdin: ''" in stderr
        assert b"Traceback" not in stderr

    run(scenario())


# The server's own process prints too: it is what a dependency, or a hook of the user's, might do there.
LOUD_SERVER = """
import ctypes, os, subprocess, sys, warnings
from openxr_agentic.mcp import server

class Loud(server.AgentServer):
    async def _list_tools(self, *arguments):
        print("server by print", flush=True)
        os.write(1, b"server by write\\n")
        libc = ctypes.CDLL(None)
        libc.puts(b"server by puts")
        libc.fflush(None)
        subprocess.run(["echo", "server by a child"], check=True)
        print("stdin:", repr(sys.stdin.read()), file=sys.stderr, flush=True)
        warnings.warn("server by a warning")
        return await super()._list_tools(*arguments)

server.AgentServer = Loud
from openxr_agentic.cli import main
main()
"""


def test_whatever_prints_in_the_server_or_the_app_stdout_holds_nothing_but_messages_under_serve(
    folder: Path, loud: Path
) -> None:
    async def scenario() -> None:
        env = environment(folder)
        command = (sys.executable, "-c", LOUD_SERVER)
        async with standalone(loud, env), pipes(*SERVE, env=env, command=command) as server:
            await server.tools_with("Loud_broken")
            assert await server.call("Loud_main_thread", words="frame") == "frame, done"
            code, stderr = await server.leave()
            assert code == 0
        for way in ("by print", "by write", "by puts", "by a child", "by a warning"):
            assert f"server {way}".encode() in stderr
        assert b"stdin: ''" in stderr

    run(scenario())


# ---- one registry everywhere (cases.md 5.4), and again after a restart (5.2) ----

CALLS = [
    ("Loud_main_thread", {"words": "Grüße"}),
    ("Loud_any_thread", {"count": 3}),
    ("Loud_any_thread", {"count": "many"}),
    ("Loud_broken", {}),
]


async def seen_by(agent: Client) -> dict[str, object]:
    """What an agent gets: the list, and the results of some calls."""
    while len(tools := (await agent.list_tools()).tools) < 3:
        pass  # the app registers at its own pace
    results = [await agent.call_tool(name, arguments) for name, arguments in CALLS]
    return {
        "tools": [(tool.name, tool.description, tool.input_schema) for tool in tools],
        "results": [(text_of(result), bool(result.is_error)) for result in results],
    }


def seen_on_the_mock_runtime(app: Path) -> dict[str, object]:
    """The same, of the same registry, in this process and without MCP."""
    spec = importlib.util.spec_from_file_location("loud_app", app)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["loud_app"] = module
    try:
        spec.loader.exec_module(module)
        with MockRuntime() as runtime:
            instance = runtime.create_instance()
            with module.registry.attach(instance, get_instance_proc_addr=runtime.get_instance_proc_addr):
                tools = runtime.tools()
                answers = [runtime.call_result(name, arguments) for name, arguments in CALLS]
            runtime.destroy_instance(instance)
    finally:
        del sys.modules["loud_app"]
    return {
        "tools": [(tool.name, tool.description, (tool.metadata or {})["inputSchema"]) for tool in tools],
        "results": [(answer.text, answer.error) for answer in answers],
    }


def test_one_registry_is_the_same_on_stdio_on_http_on_sse_and_on_the_mock_runtime(folder: Path, loud: Path) -> None:
    async def scenario() -> list[dict[str, object]]:
        env = environment(folder)
        async with standalone(loud, env), started("serve", "--port", "0", "--json", env=env) as server:
            assert server.stdout is not None
            addresses = json.loads(await server.stdout.readline())
            seen = []
            for agent in (client(*SERVE, env=env), Client(addresses["http"]), Client(sse_client(addresses["sse"]))):
                async with agent:
                    seen.append(await seen_by(agent))
        async with client(*RUN, sys.executable, str(loud), env=env) as agent:
            seen.append(await seen_by(agent))
        return seen

    first, *others = run(scenario())
    assert [each == first for each in others] == [True] * 3
    assert seen_on_the_mock_runtime(loud) == first


def test_a_new_server_and_a_new_client_have_the_full_list_without_a_new_start_of_the_app(
    folder: Path, loud: Path
) -> None:
    async def scenario() -> None:
        env = environment(folder)
        async with standalone(loud, env) as app:
            seen = []
            for _ in range(2):
                async with client(*SERVE, env=env) as agent:
                    seen.append(await seen_by(agent))
                async with started("serve", "--port", "0", "--json", env=env) as server:
                    assert server.stdout is not None
                    async with Client(json.loads(await server.stdout.readline())["http"]) as agent:
                        seen.append(await seen_by(agent))
            assert app.returncode is None
        assert [each == seen[0] for each in seen] == [True] * 4

    run(scenario())


# ---- its end ----


def test_a_call_that_runs_when_stdin_closes_is_withdrawn_and_serve_ends_with_success(folder: Path) -> None:
    app, gate = FakeApp(), Gate()
    app.add("gate", gate)

    async def scenario() -> None:
        async with app.running(folder), pipes(*SERVE, env=environment(folder)) as server:
            await server.tools_with("gate")
            await server.ask("tools/call", name="gate", arguments={})
            await gate.entered.wait()
            code, stderr = await server.leave()
            assert code == 0
            assert b"Traceback" not in stderr
            await until(lambda: len(app.cancelled) == 1)

    run(scenario())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_serve_on_stdio_while_the_client_is_still_there(folder: Path, number: signal.Signals) -> None:
    app = FakeApp()
    app.add("tool", echo)

    async def scenario() -> None:
        async with app.running(folder), pipes(*SERVE, env=environment(folder)) as server:
            await server.tools_with("tool")
            server.process.send_signal(number)
            code, stderr = await server.end()
            assert code == 0
            assert b"Traceback" not in stderr

    run(scenario())


def test_a_client_that_does_not_read_holds_up_neither_a_signal_nor_the_app(folder: Path) -> None:
    app = FakeApp()

    async def huge(arguments: str) -> str:
        return "x" * 5_000_000

    app.add("huge", huge)

    async def scenario() -> None:
        async with app.running(folder), pipes(*SERVE, env=environment(folder)) as server:
            await server.tools_with("huge")
            # The harness' own reader takes some of it; the pipe and the rest are full.
            assert server.process.stdout is not None
            server.process.stdout._transport.pause_reading()  # type: ignore[attr-defined]
            for _ in range(3):
                await server.ask("tools/call", name="huge", arguments={})
            await until(lambda: len(app.calls) == 3)
            server.process.send_signal(signal.SIGTERM)
            await until(lambda: server.process.returncode is not None)  # `wait` would wait for the pipe's end too
            assert server.process.returncode == 0

    run(scenario())


def test_a_client_that_closes_its_end_of_stdout_has_left(folder: Path) -> None:
    app = FakeApp()
    app.add("tool", echo)

    async def scenario() -> None:
        read_end, write_end = os.pipe()
        async with app.running(folder):
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                *("-m", "openxr_agentic", *SERVE),
                env=environment(folder),
                stdin=asyncio.subprocess.PIPE,
                stdout=write_end,
            )
            os.close(write_end)
            os.close(read_end)
            assert process.stdin is not None
            process.stdin.write(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
            assert await process.wait() == 0
            process.stdin.close()

    run(scenario())


def test_run_on_stdio_ends_the_app_when_the_client_leaves_and_that_is_success(folder: Path) -> None:
    async def scenario() -> None:
        async with pipes(*RUN, sys.executable, "-m", "fake_app", env=environment(folder)) as server:
            await server.tools_with("runtime")
            code, stderr = await server.leave()
        assert code == 0
        assert b"was ended by" not in stderr
        assert b"Traceback" not in stderr

    run(scenario())


READY = "print('ready', file=sys.stderr, flush=True)\nwhile True: signal.pause()\n"


def test_the_exit_code_of_an_app_that_ends_in_its_own_way_is_kept_when_the_client_leaves(folder: Path) -> None:
    script = "import signal, sys\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(5))\n" + READY

    async def scenario() -> None:
        async with pipes(*RUN, *python(script), env=environment(folder)) as server:
            await line_with(server.process.stderr, "ready")
            assert (await server.leave())[0] == 5

    run(scenario())


def test_an_app_that_does_not_end_when_the_client_leaves_is_killed(folder: Path) -> None:
    stubborn = "import signal, sys\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + READY
    impatient = (
        "from openxr_agentic.cli import main\n"
        "from openxr_agentic.cli.serving import processes\n"
        "processes.END_SECONDS = 0.2\n"
        "main()\n"
    )

    async def scenario() -> None:
        command = (sys.executable, "-c", impatient)
        async with pipes(*RUN, *python(stubborn), env=environment(folder), command=command) as server:
            await line_with(server.process.stderr, "ready")
            code, stderr = await server.leave()
            assert code == 0
            assert b"did not end within" in stderr

    run(scenario())


@pytest.mark.parametrize("code", [0, 3])
def test_run_on_stdio_ends_with_the_app_and_its_exit_code(folder: Path, code: int) -> None:
    async def scenario() -> None:
        async with pipes(*RUN, *python(f"import sys; sys.exit({code})"), env=environment(folder)) as server:
            assert (await server.end())[0] == code

    run(scenario())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_run_on_stdio_passes_a_signal_on_to_the_app(folder: Path, number: signal.Signals) -> None:
    script = f"import signal, sys\nsignal.signal({int(number)}, lambda *_: sys.exit(5))\n" + READY

    async def scenario() -> None:
        async with pipes(*RUN, *python(script), env=environment(folder)) as server:
            await line_with(server.process.stderr, "ready")
            server.process.send_signal(number)
            assert (await server.end())[0] == 5

    run(scenario())


# ---- what is on the wire ----


@ERAS
def test_text_is_utf8_whatever_the_locale(folder: Path, mode: str) -> None:
    app = FakeApp()
    app.add("echo", echo, description="Grüße an 世界 🙂")

    async def scenario() -> None:
        env = environment(folder, LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0", PYTHONIOENCODING="ascii")
        async with app.running(folder), client(*SERVE, env=env, mode=mode) as agent:
            while not (tools := (await agent.list_tools()).tools):
                pass
            assert tools[0].description == "Grüße an 世界 🙂"
            assert text_of(await agent.call_tool("echo", {"input": "世界\n🙂\u2028"})) == '{"input": "世界\\n🙂\u2028"}'

    run(scenario())


def test_a_result_and_arguments_of_five_megabytes_pass_whole(folder: Path) -> None:
    app = FakeApp()
    app.add("echo", echo)
    text = "0123456789abcdé\n" * 330_000

    async def scenario() -> None:
        async with app.running(folder), pipes(*SERVE, env=environment(folder)) as server:
            await server.tools_with("echo")
            assert json.loads(await server.call("echo", input=text)) == {"input": text}

    run(scenario())


def test_many_calls_overlap_and_each_gets_its_own_answer(folder: Path) -> None:
    app, gate = FakeApp(), Gate()
    app.add("gate", gate)
    app.add("echo", echo)

    async def scenario() -> None:
        async with app.running(folder), client(*SERVE, env=environment(folder)) as agent:
            while len((await agent.list_tools()).tools) < 2:
                pass
            waiting = asyncio.ensure_future(agent.call_tool("gate", {}))
            await gate.entered.wait()
            results = await asyncio.gather(*(agent.call_tool("echo", {"n": n}) for n in range(200)))
            assert [json.loads(text_of(result))["n"] for result in results] == list(range(200))
            gate.opened.set()
            assert text_of(await waiting) == "opened"

    run(scenario())


def test_two_requests_of_one_id_at_the_same_time_have_one_answer(folder: Path) -> None:
    app, gate = FakeApp(), Gate()
    app.add("gate", gate)
    app.add("echo", echo)

    async def scenario() -> None:
        async with app.running(folder), pipes(*SERVE, env=environment(folder)) as server:
            await server.tools_with("echo")
            for tool in ("gate", "echo"):
                params = {"name": tool, "arguments": {}, "_meta": MODERN}
                message = {"jsonrpc": "2.0", "id": "twice", "method": "tools/call", "params": params}
                await server.write(json.dumps(message).encode())
                await until(lambda wanted=tool: any(called == wanted for called, _ in app.calls))
            await server.answer("twice")
            gate.opened.set()
            assert server.process.stdin is not None
            server.process.stdin.close()
            assert server.process.stdout is not None
            assert not [line for line in (await server.process.stdout.read()).splitlines() if b"twice" in line]
            assert await server.process.wait() == 0

    run(scenario())


def test_descriptors_that_do_not_block_are_waited_for(folder: Path) -> None:
    """A parent on node.js gives both ends of a socket, and has made them so."""
    app = FakeApp()
    app.add("echo", echo)

    async def scenario() -> None:
        ours, theirs = socket.socketpair()
        theirs.setblocking(False)
        async with app.running(folder):
            words = [sys.executable, "-m", "openxr_agentic", *SERVE]
            server = await asyncio.create_subprocess_exec(*words, env=environment(folder), stdin=theirs, stdout=theirs)
            theirs.close()
            reader, writer = await asyncio.open_connection(sock=ours, limit=LINE_LIMIT)
            await until(lambda: app.clients > 0)
            arguments = {"text": "x" * 5_000_000}  # many times what the socket holds
            params = {"name": "echo", "arguments": arguments, "_meta": MODERN}
            message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
            writer.write(json.dumps(message).encode() + b"\n")
            (item,) = json.loads(await reader.readline())["result"]["content"]
            assert json.loads(item["text"]) == arguments
            writer.close()
            assert await server.wait() == 0

    run(scenario())


def test_lines_that_are_no_messages_are_answered_with_errors_and_nothing_else_happens(folder: Path) -> None:
    app = FakeApp()
    app.add("tool", echo)
    garbage = {
        b"hello": (-32700, None),
        b'{"jsonrpc": "2.0", "id": 7, "met': (-32700, None),
        b"\xff\xfe\x00": (-32700, None),
        b"[" * 100_000: (-32700, None),
        b"17": (-32600, None),
        b"[]": (-32600, None),
        b'{"id": 8}': (-32600, 8),
        b'{"jsonrpc": "1.0", "id": "nine", "method": "ping"}': (-32600, "nine"),
        b'{"id": [1]}': (-32600, None),
    }

    async def scenario() -> None:
        async with app.running(folder), pipes(*SERVE, env=environment(folder)) as server:
            for line, (code, identifier) in garbage.items():
                await server.write(b"")
                await server.write(line)
                answer = await server.answer(identifier)
                assert answer["error"]["code"] == code, line
            assert await server.tools_with("tool") == ["tool"]
            code, stderr = await server.leave()
            assert code == 0
            assert stderr.count(b"no JSON-RPC message") == 1
            assert b"Traceback" not in stderr

    run(scenario())


# ---- wrong usage ----


@pytest.mark.parametrize(("command", "option"), [("serve", "--port"), ("serve", "--json"), ("run", "--port")])
def test_stdio_goes_with_no_option_that_concerns_a_port(folder: Path, command: str, option: str) -> None:
    async def scenario() -> None:
        more = ("--port", "0") if option == "--port" else (option,)
        app = ("--", "true") if command == "run" else ()
        code, stdout, stderr = await finished(command, "--stdio", *more, *app, env=environment(folder))
        assert (code, stdout) == (2, "")
        assert f"{option} cannot go with it" in stderr

    run(scenario())


def test_a_closed_stream_is_an_error_that_says_what_stdio_is_for(folder: Path) -> None:
    async def scenario() -> None:
        for redirection in ("<&-", ">&-"):
            script = f'"$0" -m openxr_agentic serve --stdio {redirection}'
            process = await asyncio.create_subprocess_exec(
                *("/bin/sh", "-c", script, sys.executable),
                env=environment(folder),
                stdin=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
            )
            _, stderr = await process.communicate()
            assert process.returncode == 1
            assert b"Error: Standard input or output is closed" in stderr
            assert b"Traceback" not in stderr

    run(scenario())


def tcp_sockets_of(pid: int) -> list[str]:
    links = [os.readlink(entry) for entry in Path(f"/proc/{pid}/fd").iterdir()]
    inodes = [link[8:-1] for link in links if link.startswith("socket:")]
    tables = Path("/proc/net/tcp").read_text() + Path("/proc/net/tcp6").read_text()
    return [row for row in tables.splitlines() if row.split()[9] in inodes]


def test_no_port_is_opened_for_a_client_on_stdio(folder: Path) -> None:
    async def scenario() -> None:
        env = environment(folder, AGENTICXR_MCP_PORT="no port at all")
        async with pipes(*SERVE, env=env) as server:
            await server.result("tools/list")
            assert not tcp_sockets_of(server.process.pid)

    run(scenario())
