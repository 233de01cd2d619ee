"""``start_server``: the agent's server, started by real apps, each a process of its own."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import sys
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from textwrap import dedent

import pytest

pytest.importorskip("mcp")
pytest.importorskip("click")
pytest.importorskip("rich")

from typing import TYPE_CHECKING, Any

from agent_harness import run, text_of, until
from cli_harness import environment, line_with
from mcp import Client
from mcp.client.sse import sse_client

from openxr_agentic import server_process
from openxr_agentic.errors import ServerError
from openxr_agentic.host import manifest_path
from openxr_agentic.server_process import start_server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "self_serving_app.py"

TELL = """
import json, os, signal, sys, time
import openxr_agentic as agentic

def tell(**what):
    print(json.dumps(what), flush=True)

"""
STARTED = TELL + "server = agentic.start_server(0)\ntell(pid=server.pid, port=server.port, url=server.url)\n"

WHOLE_APP = STARTED.replace(
    "server = ",
    dedent("""
    import threading
    import xr
    from openxr_agentic.cli.demo.headless import frames

    registry = agentic.ToolRegistry(settings=False)

    @registry.tool
    def who() -> int:
        return os.getpid()

    stop = threading.Event()
    signal.signal(signal.SIGINT, lambda *_: stop.set())
    server = """),
) + dedent("""
    names = agentic.enable_extension([xr.MND_HEADLESS_EXTENSION_NAME], required=True)
    instance = xr.create_instance(xr.InstanceCreateInfo(enabled_extension_names=names))

    def commands():
        for line in sys.stdin:
            getattr(server, line.strip())()
            tell(running=server.running, url=server.url, sse_url=server.sse_url)

    threading.Thread(target=commands, daemon=True).start()
    with registry.attach(instance):
        for _ in frames(instance, stop):
            pass
    xr.destroy_instance(instance)
    """)


@asynccontextmanager
async def program(
    folder: Path, script: str | Path, *arguments: str, cwd: Path | None = None, **env: str
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run a script as an app on the mock runtime, all streams piped; it is gone after the block."""
    path = script if isinstance(script, Path) else folder / "app.py"
    if isinstance(script, str):
        path.write_text(script)
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(path),
        *arguments,
        cwd=cwd,
        env={**environment(folder), "XR_RUNTIME_JSON": str(manifest_path()), **env},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process._transport.close()  # type: ignore[attr-defined]  # pipes too that were not read to their end
        await until(lambda: process.returncode is not None)


async def told(process: asyncio.subprocess.Process) -> dict[str, Any]:
    """What the app tells next."""
    assert process.stdout is not None
    line = await process.stdout.readline()
    if not line:
        assert process.stderr is not None
        raise AssertionError((await process.stderr.read()).decode())
    what: dict[str, Any] = json.loads(line)
    return what


async def finished(folder: Path, script: str, *arguments: str, **env: str) -> tuple[list[dict[str, Any]], str]:
    """Run an app that must end with success; returns what it told, and its stderr."""
    async with program(folder, script, *arguments, **env) as process:
        stdout, stderr = await process.communicate()
        assert process.returncode == 0, stderr.decode()
        return [json.loads(line) for line in stdout.splitlines()], stderr.decode()


def there(pid: int) -> bool:
    """Whether there is such a process, even as a zombie."""
    return Path(f"/proc/{pid}").exists()


def alive(pid: int) -> bool:
    """Whether such a process runs; whose parent was killed may be left a zombie by a container's first process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


async def tools_of(agent: Client, count: int = 1) -> list[str]:
    while len(names := [tool.name for tool in (await agent.list_tools()).tools]) < count:
        pass  # each turn asks the server; the app registers at its own pace
    return names


# ---- the whole path ----


def test_the_example_serves_itself_and_ends_cleanly_with_its_server_on_an_interrupt(folder: Path) -> None:
    async def scenario() -> None:
        async with program(folder, EXAMPLE, AGENTICXR_MCP_PORT="0") as app:
            url = re.search(r"http://\S+/mcp", await line_with(app.stdout, "Agents connect"))
            assert url is not None
            async with Client(url[0]) as agent:
                assert await tools_of(agent) == ["Example_uptime"]
                assert float(text_of(await agent.call_tool("Example_uptime", {}))) > 0
                app.send_signal(signal.SIGINT)
                _, stderr = await app.communicate()
            assert app.returncode == 0
            assert b"Traceback" not in stderr
            assert b"connected to Self-serving example" in stderr
            assert not listens(int(re.findall(r"\d+", url[0])[4]))

    run(scenario())


def test_two_apps_have_two_servers_and_neither_touches_the_other(folder: Path) -> None:
    async def scenario() -> None:
        (folder / "other").mkdir()
        async with program(folder, WHOLE_APP) as one, program(folder, WHOLE_APP) as other:
            first, second = await told(one), await told(other)
            assert first["port"] != second["port"]
            for app, address in ((one, first["url"]), (other, second["url"])):
                async with Client(address) as agent:
                    await tools_of(agent)
                    assert text_of(await agent.call_tool("who", {})) == str(app.pid)
            assert one.stdin is not None
            one.stdin.write(b"stop\n")
            assert not (await told(one))["running"]
            assert not listens(first["port"])
            async with Client(second["url"]) as agent:
                assert text_of(await agent.call_tool("who", {})) == str(other.pid)
            one.kill()
            async with Client(second["url"]) as agent:
                assert text_of(await agent.call_tool("who", {})) == str(other.pid)

    run(scenario())


def test_after_stop_and_start_new_clients_of_both_transports_have_the_tools_again(folder: Path) -> None:
    async def scenario() -> None:
        async with program(folder, WHOLE_APP) as app:
            await told(app)
            assert app.stdin is not None
            app.stdin.write(b"stop\nstart\n")
            stopped, begun = await told(app), await told(app)
            assert (stopped["running"], begun["running"]) == (False, True)
            for transport in (begun["url"], sse_client(begun["sse_url"])):
                async with Client(transport) as agent:
                    assert await tools_of(agent) == ["who"]
                    assert text_of(await agent.call_tool("who", {})) == str(app.pid)

    run(scenario())


def test_a_server_starts_no_server_also_where_every_python_is_told_to_start_one(folder: Path, tmp_path: Path) -> None:
    site = "open(os.environ['STARTS'], 'a').write('.'); server = agentic.start_server(0)"
    (tmp_path / "sitecustomize.py").write_text(f"import os, openxr_agentic as agentic\n{site}\n")
    starts = tmp_path / "starts"
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    (what,), _ = run(finished(folder, STARTED, STARTS=str(starts), PYTHONPATH=path))
    assert what["port"]
    assert starts.read_text() == ".."  # the app's, and its server's, which started none


@pytest.mark.parametrize(("value", "then"), [(None, "1"), ("", "1"), ("Off", "1"), ("0", "1"), ("my app", "my app")])
def test_the_channel_is_opened_unless_it_is_open_under_a_label(folder: Path, value: str | None, then: str) -> None:
    script = STARTED + "tell(variable=os.environ['OPENXR_AGENTIC_CHANNEL'])"
    given = {} if value is None else {"OPENXR_AGENTIC_CHANNEL": value}
    (_, after), _ = run(finished(folder, script, **given))
    assert after["variable"] == then


def test_for_an_instance_that_was_there_before_the_server_says_that_it_waits(folder: Path) -> None:
    script = WHOLE_APP.replace("server = ", "agentic.enable_extension\nserver = ")
    create = "instance = xr.create_instance(xr.InstanceCreateInfo(enabled_extension_names=names))\n"
    enable = "names = agentic.enable_extension([xr.MND_HEADLESS_EXTENSION_NAME], required=True)\n"
    script = script.replace(enable, "").replace(create, "").replace("server = ", enable + create + "server = ", 1)

    async def scenario() -> None:
        async with program(folder, script) as app:
            await told(app)
            assert f"waiting for the app {app.pid}" in await line_with(app.stderr, "waiting")

    run(scenario())


def test_modules_in_the_folder_that_the_app_was_started_in_do_not_reach_the_server(folder: Path) -> None:
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    for name in ("mcp", "click", "openxr_agentic"):
        (elsewhere / f"{name}.py").write_text("raise RuntimeError('the wrong one')")

    async def scenario() -> None:
        async with program(folder, STARTED, cwd=elsewhere) as app:
            assert (await told(app))["port"]

    run(scenario())


# ---- what cannot be started ----


def test_a_taken_port_is_an_error_that_names_it_and_its_holder_and_leaves_nothing_behind(folder: Path) -> None:
    script = TELL + dedent("""
        try:
            agentic.start_server(int(sys.argv[1]))
        except agentic.ServerError as error:
            tell(error=str(error))
        tell(running=agentic.start_server(0).running)
        """)
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        (failed, then), _ = run(finished(folder, script, str(port)))
    assert f"Port {port} is taken by" in failed["error"]
    assert f"(process {os.getpid()})" in failed["error"]
    assert "Traceback" not in failed["error"]
    assert then["running"]


def test_without_the_extras_the_error_says_what_to_install(folder: Path) -> None:
    (folder / "sitecustomize.py").write_text("import sys\nsys.modules['mcp'] = None\n")
    script = TELL + "try: agentic.start_server(0)\nexcept agentic.ServerError as error: tell(error=str(error))\n"
    path = os.pathsep.join([str(folder), environment(folder)["PYTHONPATH"]])
    (failed,), _ = run(finished(folder, script, PYTHONPATH=path))
    assert "needs mcp" in failed["error"]
    assert "pip install 'openxr-agentic[cli,mcp]'" in failed["error"]


def test_a_wrong_option_is_an_error_with_the_words_of_the_command(folder: Path) -> None:
    script = TELL + dedent("""
        for options in (["--no-such-option"], "--read-only"):
            try:
                agentic.start_server(0, options=options)
            except (agentic.ServerError, TypeError) as error:
                tell(kind=type(error).__name__, error=str(error))
        """)
    (wrong, text), _ = run(finished(folder, script))
    assert wrong["kind"] == "ServerError"
    assert "No such option" in wrong["error"]
    assert text["kind"] == "TypeError"
    assert "list of arguments" in text["error"]


@pytest.mark.parametrize("option", ["--port", "--port=8720", "--app", "--all", "--json", "--stdio"])
def test_an_option_that_the_server_is_given_anyhow_is_refused_by_its_name(option: str) -> None:
    with pytest.raises(ServerError, match=f"options holds '{option}', which is not for options: "):
        start_server(0, options=["--read-only", option])
    assert server_process._state.server is None


def test_a_program_with_a_python_of_its_own_is_told_what_to_do_instead(folder: Path) -> None:
    script = TELL + dedent("""
        for change in ({"executable": ""}, {"frozen": True}):
            vars(sys).update(change)
            try:
                agentic.start_server(0)
            except agentic.ServerError as error:
                tell(error=str(error))
        """)
    for failed in run(finished(folder, script))[0]:
        assert "openxr-agentic serve" in failed["error"]


def test_a_server_that_stays_silent_is_given_up_and_killed(folder: Path) -> None:
    (folder / "sitecustomize.py").write_text(
        "import os, sys, time\nif '--until-stdin-closes' in sys.orig_argv: print(os.getpid()); time.sleep(600)\n"
    )
    script = TELL + dedent("""
        from openxr_agentic import server_process
        server_process.START_SECONDS = 0.5
        try:
            agentic.start_server(0)
        except agentic.ServerError as error:
            tell(error=str(error))
        """)
    path = os.pathsep.join([str(folder), environment(folder)["PYTHONPATH"]])
    (failed,), _ = run(finished(folder, script, PYTHONPATH=path, PYTHONUNBUFFERED="1"))
    assert "did not start within 0.5 seconds" in failed["error"]


# ---- one server a process ----


def test_the_same_call_gives_the_same_server_and_another_one_is_an_error_while_it_runs(folder: Path) -> None:
    script = STARTED + dedent("""
        tell(same=agentic.start_server(0) is server)
        for port, options in ((0, ["--read-only"]), (None, ())):
            try:
                agentic.start_server(port, options=options)
            except agentic.ServerError as error:
                tell(error=str(error))
        server.stop()
        tell(same=agentic.start_server(0, options=["--read-only"]) is server, running=server.running)
        server.start()
        tell(running=server.running)
        """)
    (begun, same, first, second, stopped, restarted), _ = run(finished(folder, script))
    assert same["same"]
    for refused in (first, second):
        assert begun["url"] in refused["error"]
    assert (stopped["same"], stopped["running"]) == (True, False)
    assert restarted["running"]


def test_a_stopped_server_is_not_revived_when_the_module_that_started_it_is_reloaded(folder: Path) -> None:
    (folder / "my_app.py").write_text("import openxr_agentic as agentic\nserver = agentic.start_server(0)\n")
    script = TELL + dedent("""
        import importlib
        import my_app
        tell(running=my_app.server.running)
        importlib.reload(my_app)
        tell(running=my_app.server.running)
        first = my_app.server
        first.stop()
        importlib.reload(my_app)
        tell(running=my_app.server.running, same=my_app.server is first, why=first.why)
        my_app.server.start()
        tell(running=my_app.server.running, why=first.why)
        """)
    (before, reloaded, stopped, begun), _ = run(finished(folder, script))
    assert before["running"]
    assert reloaded["running"]
    assert (stopped["running"], stopped["same"]) == (False, True)
    assert "start()" in stopped["why"]
    assert (begun["running"], begun["why"]) == (True, "")


def test_a_with_block_stops_the_server_at_its_end_and_the_next_one_starts_it_again(folder: Path) -> None:
    script = TELL + dedent("""
        for _ in range(2):
            with agentic.start_server(0) as server:
                tell(running=server.running, pid=server.pid)
            tell(running=server.running, pid=server.pid)
        """)
    seen, _ = run(finished(folder, script))
    assert [each["running"] for each in seen] == [True, False, True, False]
    assert [each["pid"] is None for each in seen] == [False, True, False, True]


# ---- child processes ----


@pytest.mark.parametrize(
    ("method", "preload"), [("spawn", False), ("forkserver", False), ("forkserver", True), ("fork", False)]
)
def test_a_child_of_multiprocessing_has_no_server_and_leaves_its_parents(
    folder: Path, method: str, preload: bool
) -> None:
    (folder / "my_app.py").write_text(
        "import openxr_agentic as agentic\nserver = agentic.start_server(0)\n"
        "seen = (server.running, server.why, server.pid)\n"
    )
    # The main module starts it too, as spawned children import that; what they tell stands in a file.
    script = dedent("""
        import json, multiprocessing, os, sys
        import openxr_agentic as agentic

        server = agentic.start_server(0)

        def tell(**what):
            with open(os.environ["TOLD"], "a") as told:
                told.write(json.dumps(what) + "\\n")

        tell(pid=os.getpid(), imported=__name__, running=server.running, why=server.why)

        def child():
            import my_app
            server.stop()
            try:
                my_app.server.start()
            except agentic.ServerError as error:
                tell(error=str(error))
            with my_app.server as entered:
                tell(pid=os.getpid(), running=entered.running, why=my_app.server.why)

        if __name__ == "__main__":
            context = multiprocessing.get_context(sys.argv[1])
            if "preload" in sys.argv:
                context.set_forkserver_preload(["my_app"])
            for _ in range(2):
                process = context.Process(target=child)
                process.start()
                process.join()
                assert process.exitcode == 0
            print(json.dumps({"running": server.running, "pid": server.pid}), flush=True)
            sys.stdin.read()
        """)
    record = folder / "told"

    async def scenario() -> None:
        arguments = (method, "preload") if preload else (method,)
        path = os.pathsep.join([str(folder), environment(folder)["PYTHONPATH"]])
        async with program(folder, script, *arguments, TOLD=str(record), PYTHONPATH=path) as app:
            parent = await told(app)
            assert parent["running"]
            servers = [
                pid
                for pid in map(int, filter(str.isdecimal, os.listdir("/proc")))
                if b"--until-stdin-closes" in command_line(pid) and str(folder).encode() in environ_of(pid)
            ]
            assert servers == [parent["pid"]]
            seen = [json.loads(line) for line in record.read_text().splitlines()]
            for each in seen:
                if each.get("pid") == app.pid:
                    assert each["running"]
                elif "error" in each:
                    assert "child" in each["error"]
                else:
                    assert not each["running"]
                    assert "child" in each["why"]
            assert sum("error" in each for each in seen) == 2

    run(scenario())


def command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def environ_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


def test_a_forked_childs_copy_of_the_server_stops_nothing_not_even_at_its_exit(folder: Path) -> None:
    script = STARTED + dedent("""
        child = os.fork()
        if child == 0:
            tell(running=server.running, why=server.why, pid=server.pid)
            server.stop()
            tell(running=agentic.start_server(0).running)
            sys.exit(5)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5
        tell(running=server.running)
        """)
    (_, copy, asked, parent), stderr = run(finished(folder, script, PYTHONDEVMODE="1"))
    assert (copy["running"], copy["pid"], asked["running"]) == (False, None, False)
    assert "forked child" in copy["why"]
    assert parent["running"]
    assert "ResourceWarning" not in stderr


def test_a_forked_child_that_lives_on_does_not_keep_the_server_of_a_killed_app(folder: Path) -> None:
    script = STARTED + dedent("""
        child = os.fork()
        if child == 0:
            tell(child=os.getpid())
            time.sleep(600)
        os.waitpid(child, 0)
        """)

    async def scenario() -> None:
        async with program(folder, script) as app:
            begun, forked = await told(app), await told(app)
            app.kill()
            await until(lambda: not alive(begun["pid"]))
            assert alive(forked["child"])

    run(scenario())


# ---- ends ----

ENDINGS = {
    "the end of the script": "",
    "sys.exit": "sys.exit(3)",
    "an exception": "raise RuntimeError",
    "os._exit": "os._exit(3)",
    "SIGKILL": "os.kill(os.getpid(), signal.SIGKILL)",
    "SIGTERM": "os.kill(os.getpid(), signal.SIGTERM)",
    "an abort": "import resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0)); os.abort()",
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_server_ends_with_the_app_however_that_ends_also_with_a_client(folder: Path, ending: str) -> None:
    async def scenario() -> None:
        async with program(folder, STARTED + "sys.stdin.readline()\n" + ENDINGS[ending]) as app:
            begun = await told(app)
            async with Client(begun["url"]) as agent:
                await agent.list_tools()
                assert app.stdin is not None
                app.stdin.write(b"\n")
                await app.wait()
                await until(lambda: not alive(begun["pid"]))
            assert not listens(begun["port"])

    run(scenario())


def test_an_app_that_is_killed_while_its_server_starts_leaves_none_behind(folder: Path) -> None:
    script = TELL + dedent("""
        import subprocess
        class Killing(subprocess.Popen):
            def __init__(self, *arguments, **options):
                super().__init__(*arguments, **options)
                tell(pid=self.pid)
                os.kill(os.getpid(), signal.SIGKILL)
        subprocess.Popen = Killing
        agentic.start_server(0)
        """)

    async def scenario() -> None:
        async with program(folder, script) as app:
            begun = await told(app)
            await until(lambda: not alive(begun["pid"]))

    run(scenario())


def test_an_interrupt_while_the_server_starts_leaves_none_behind(folder: Path) -> None:
    script = TELL + dedent("""
        import subprocess
        class Interrupted(subprocess.Popen):
            def __init__(self, *arguments, **options):
                super().__init__(*arguments, **options)
                tell(pid=self.pid)
        subprocess.Popen = Interrupted
        from openxr_agentic import server_process
        server_process._parse = lambda line: tell(said=line)  # None: it never seems to listen
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            agentic.start_server(0)
        except KeyboardInterrupt:
            tell(interrupted=True)
        """)

    async def scenario() -> None:
        async with program(folder, script) as app:
            begun = await told(app)
            assert "http" in (await told(app))["said"]
            app.send_signal(signal.SIGINT)
            while "interrupted" not in await told(app):
                pass  # the server says more
            assert not there(begun["pid"])

    run(scenario())


def test_a_ctrl_c_in_the_terminal_reaches_the_app_and_not_its_server(folder: Path) -> None:
    script = STARTED + dedent("""
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            tell(ready=True)
            time.sleep(600)
        except KeyboardInterrupt:
            tell(interrupted=True)
            sys.stdin.readline()  # as an app that takes its time
            tell(running=server.running)
        """)

    async def scenario() -> None:
        async with program(folder, script) as app:
            begun = await told(app)
            await told(app)
            assert os.getsid(begun["pid"]) == begun["pid"]  # a session of its own, which no terminal interrupts
            os.killpg(app.pid, signal.SIGINT)  # as the terminal does, to the whole foreground group
            assert await told(app) == {"interrupted": True}
            async with Client(begun["url"]) as agent:
                await agent.list_tools()
            assert app.stdin is not None
            app.stdin.write(b"\n")
            assert await told(app) == {"running": True}
            await until(lambda: not there(begun["pid"]))

    run(scenario())


async def said_until(stream: asyncio.StreamReader | None, words: bytes) -> bytes:
    """Read lines until one holds `words`, and return all of them."""
    assert stream is not None
    said = b""
    while words not in said:
        line = await stream.readline()
        assert line, said
        said += line
    return said


def test_a_server_that_dies_is_said_stays_no_zombie_and_can_be_started_again(folder: Path) -> None:
    script = STARTED + dedent("""
        sys.stdin.readline()
        tell(running=server.running, why=server.why, pid=server.pid)
        server.start()
        tell(running=server.running, pid=server.pid)
        sys.stdin.readline()
        tell(same=agentic.start_server(0) is server, running=server.running)
        """)

    async def scenario() -> None:
        async with program(folder, script, PYTHONDEVMODE="1") as app:
            assert app.stdin is not None
            begun = await told(app)
            os.kill(begun["pid"], signal.SIGKILL)
            # The app itself does nothing meanwhile; what is said is said when the process knows.
            stderr = await said_until(app.stderr, b"the server ended by itself")
            assert not there(begun["pid"])
            app.stdin.write(b"\n")
            dead = await told(app)
            assert (dead["running"], dead["pid"]) == (False, None)
            assert f"exit code {-signal.SIGKILL}" in dead["why"]
            again = await told(app)
            assert again["running"]
            os.kill(again["pid"], signal.SIGTERM)
            stderr += await said_until(app.stderr, b"the server ended by itself")
            assert not there(again["pid"])
            app.stdin.write(b"\n")
            assert await told(app) == {"same": True, "running": True}
            stderr += (await app.communicate())[1]
            assert stderr.count(b"the server ended by itself") == 2  # the third one is ended by the app
            assert b"ResourceWarning" not in stderr

    run(scenario())


def test_a_server_that_does_not_end_is_killed_and_delays_the_exit_by_a_bounded_time(folder: Path) -> None:
    script = STARTED + dedent("""
        from openxr_agentic import server_process
        server_process.END_SECONDS = 0.2
        os.kill(server.pid, signal.SIGSTOP)
        """)

    async def scenario() -> None:
        async with program(folder, script) as app:
            begun = await told(app)
            assert await app.wait() == 0
            assert not there(begun["pid"])

    run(scenario())
