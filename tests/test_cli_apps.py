"""``openxr-agentic apps``: which apps of this user agents can reach."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys

import pytest

pytest.importorskip("click")
pytest.importorskip("rich")

from typing import TYPE_CHECKING

from agent_harness import echo, run
from cli_harness import environment, finished
from fake_app import FakeApp

if TYPE_CHECKING:
    from pathlib import Path


def test_apps_lists_each_app_with_what_it_says_of_itself(folder: Path) -> None:
    one = FakeApp(name="Cube World", label="cubes")
    one.add("tool", echo)
    two = FakeApp(name="A [bold]name[/]\x1b[2J\nof lines", pid=os.getppid())

    async def scenario() -> None:
        async with one.running(folder), two.running(folder):
            code, stdout, stderr = await finished("apps", env=environment(folder))
            head, *rows = stdout.splitlines()
            assert (code, stderr) == (0, "")
            assert head.split() == ["PID", "NAME", "LABEL", "TOOLS", "HOST"]
            assert len(rows) == 2
            (row,) = [row for row in rows if "Cube World" in row]
            assert row.split() == [str(one.pid), "Cube", "World", "cubes", "1", "fake", "host"]
            assert "A [bold]name[/]\\x1b[2J of lines" in stdout
            _, stdout, _ = await finished("apps", "--json", env=environment(folder))
            assert {"pid": one.pid, "name": "Cube World", "label": "cubes", "host": "fake host", "tools": 1} == {
                key: value
                for app in json.loads(stdout)
                if app["pid"] == one.pid and app["answers"]
                for key, value in app.items()
                if key not in ("answers", "problem")
            }

    run(scenario())


def test_apps_that_do_not_answer_are_shown_with_the_reason(folder: Path) -> None:
    (folder / "openxr-agentic").mkdir(mode=0o700)

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async def scenario() -> None:
        with socket.socket(socket.AF_UNIX) as dead:  # bound, and nobody listens
            dead.bind(str(folder / "openxr-agentic" / f"{os.getpid()}.sock"))
        stopped = await asyncio.start_unix_server(silent, folder / "openxr-agentic" / f"{os.getppid()}.sock")
        async with stopped:
            code, stdout, _ = await finished("apps", env=environment(folder))
            assert code == 0
            assert f"{os.getpid()}" in stdout
            assert "does not answer: nobody listens on its socket" in stdout
            assert "does not answer: it did not answer within 2 seconds" in stdout
            _, stdout, _ = await finished("apps", "--json", env=environment(folder))
            told = json.loads(stdout)
            assert [(app["answers"], app["tools"]) for app in told] == [(False, None)] * 2
            assert all(app["problem"] for app in told)

    run(scenario())


def test_without_an_app_it_says_what_to_do(folder: Path) -> None:
    async def scenario() -> None:
        code, stdout, stderr = await finished("apps", env=environment(folder))
        assert (code, stdout) == (0, "")
        assert "No app" in stderr
        assert "openxr-agentic run -- COMMAND" in stderr
        assert "OPENXR_AGENTIC_CHANNEL=1" in stderr
        code, stdout, stderr = await finished("apps", "--json", env=environment(folder))
        assert (code, json.loads(stdout), stderr) == (0, [], "")

    run(scenario())


@pytest.mark.parametrize("words", [["apps", "--json"], ["config", "codex", "--json"], ["check", "--help"]])
def test_a_command_that_needs_no_client_does_not_import_the_mcp_package(folder: Path, words: list[str]) -> None:
    script = (
        "import sys\n"
        "sys.modules['mcp'] = None\n"  # importing it would fail
        f"sys.argv = ['openxr-agentic', *{words!r}]\n"
        "from openxr_agentic.cli import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], env=environment(folder), capture_output=True, check=False)
    assert (done.returncode, done.stderr.decode().count("Error")) == (0, 0), done.stderr
