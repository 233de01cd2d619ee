"""Ctrl-C and its like, at moments at which no command deals with them yet."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("mcp")
pytest.importorskip("click")
pytest.importorskip("rich")

from cli_harness import COMMAND, environment

from openxr_agentic.cli.serving.processes import on_end_signals

if TYPE_CHECKING:
    from pathlib import Path

# A module that is imported instead of the real one: a signal comes, and what Python would raise for it is swallowed.
SIGNALS_ITSELF = """
import os, signal, time
try:
    os.kill(os.getpid(), signal.{name})
    while True:
        time.sleep(60)
except BaseException:
    os.write(2, b"swallowed")
"""

COMMANDS = [
    ("serve", "--port", "0"),
    ("run", "--port", "0", "--", sys.executable, "-c", ""),
    ("demo",),
    ("apps",),
    ("tools",),
    ("call", "x"),
    ("check", "module_of_the_user"),
    ("config", "codex"),
]

EARLY = [("click", command) for command in COMMANDS]
LATER = [
    ("uvicorn", COMMANDS[0]),  # the port is open by then
    ("uvicorn", COMMANDS[1]),
    ("xr", ("check", "xr")),  # the module of the user itself
    ("mcp", COMMANDS[2]),
]


def ended(folder: Path, module: str, command: tuple[str, ...], name: str) -> tuple[int, str, str]:
    (folder / f"{module}.py").write_text(SIGNALS_ITSELF.format(name=name))
    env = environment(folder)
    env["PYTHONPATH"] = os.pathsep.join((str(folder), env["PYTHONPATH"]))
    done = subprocess.run([*COMMAND, *command], env=env, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(("module", "command"), [*EARLY, *LATER], ids=lambda value: str(value).partition(",")[0])
def test_ctrl_c_before_a_command_has_begun_ends_it_quietly(
    tmp_path: Path, module: str, command: tuple[str, ...]
) -> None:
    assert ended(tmp_path, module, command, "SIGINT") == (130, "", "")


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
@pytest.mark.parametrize(("module", "command"), [EARLY[0], LATER[1]], ids=["serve", "run"])
def test_the_other_signals_that_end_a_command_do_so_too(
    tmp_path: Path, module: str, command: tuple[str, ...], name: str
) -> None:
    assert ended(tmp_path, module, command, name) == (128 + getattr(signal, name), "", "")


def test_the_command_of_the_package_is_guarded_as_the_program_is(tmp_path: Path) -> None:
    (tmp_path / "rich.py").write_text(SIGNALS_ITSELF.format(name="SIGINT"))
    program = "from openxr_agentic.cli import main; main()"
    env = environment(tmp_path)
    env["PYTHONPATH"] = os.pathsep.join((str(tmp_path), env["PYTHONPATH"]))
    words = [sys.executable, "-c", program, "apps"]
    done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_a_keyboard_interrupt_of_the_users_own_code_is_no_complaint(tmp_path: Path) -> None:
    (tmp_path / "interrupts.py").write_text("raise KeyboardInterrupt")
    words = [*COMMAND, "check", str(tmp_path / "interrupts.py")]
    done = subprocess.run(words, env=environment(tmp_path), capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_signals_that_are_to_be_ignored_stay_ignored(tmp_path: Path) -> None:
    (tmp_path / "hangs_up.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGHUP)\nraise SystemExit")
    words = [*COMMAND, "check", str(tmp_path / "hangs_up.py")]
    done = subprocess.run(
        ["sh", "-c", "trap '' HUP; exec \"$@\"", "sh", *words],
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert "SystemExit" in done.stderr


def test_signals_do_what_they_did_once_a_command_has_dealt_with_them() -> None:
    got: list[signal.Signals] = []
    came = asyncio.Event()

    def note(number: signal.Signals) -> None:
        got.append(number)
        came.set()

    async def scenario() -> None:
        with on_end_signals(note):
            os.kill(os.getpid(), signal.SIGTERM)
            await came.wait()

    def before(number: int, frame: object) -> None:
        raise AssertionError

    kept = {number: signal.signal(number, before) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
    try:
        asyncio.run(scenario())
        assert got == [signal.SIGTERM]
        assert [signal.getsignal(number) for number in kept] == [before] * 3
    finally:
        for number, what in kept.items():
            signal.signal(number, what)


def test_a_hang_up_that_is_to_be_ignored_does_not_end_what_serves() -> None:
    async def scenario() -> None:
        with on_end_signals(lambda number: None):
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN

    kept = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        asyncio.run(scenario())
    finally:
        signal.signal(signal.SIGHUP, kept)
