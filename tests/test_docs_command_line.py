"""docs/command-line.md: it has every command and option that there is, and its examples print what they show."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mcp")
pytest.importorskip("click")
pytest.importorskip("rich")

import click
from cli_harness import COMMAND, environment

from openxr_agentic.cli.group import command

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## `(\w+)`\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
SHARED = PAGE.partition("## Options of run and serve\n")[2].partition("\n## ")[0]


def test_every_command_has_a_section_and_a_row() -> None:
    assert set(SECTIONS) == set(command.commands)
    assert set(re.findall(r"^\| \[`(\w+)`\]\(#\w+\)", PAGE, re.MULTILINE)) == set(command.commands)


@pytest.mark.parametrize("name", sorted(command.commands))
def test_the_options_of_a_command_are_those_of_its_section(name: str) -> None:
    section = SECTIONS[name] + (SHARED if name in ("run", "serve") else "")
    documented = [row.replace("\\|", "|") for row in re.findall(r"^\| `(--.*?)` \|", section, re.MULTILINE)]
    with click.Context(command.commands[name]) as context:
        there = [
            parameter.opts[-1] if parameter.is_flag else f"{parameter.opts[-1]} {parameter.make_metavar(context)}"
            for parameter in command.commands[name].params
            if isinstance(parameter, click.Option) and not parameter.hidden
        ]
    assert sorted(documented) == sorted(there)


def test_the_exit_codes_of_the_helps_are_in_the_table() -> None:
    table = PAGE.partition("## Exit codes")[2].partition("\n## ")[0]
    rows = {row[0]: row for row in (line.strip("| ").split(" | ") for line in table.splitlines() if "|" in line)}
    for name, one in command.commands.items():
        for code in re.findall(r"^\s*(\d+)  +\S", one.epilog or "", re.MULTILINE):
            row = rows.get(code, rows["128 + n"] if int(code) > 128 else None)
            assert row is not None, (name, code)
            assert f"`{name}`" in row[1] or row[1].startswith("all"), (name, code)


def test_the_examples_print_what_they_show(tmp_path: Path) -> None:
    """One after the other, against the example app, as somebody who reads the page would try them."""
    env = environment(tmp_path)
    words = [*COMMAND, "run", "--port", "0", "--", sys.executable, "examples/registry_app.py"]
    app = subprocess.Popen(words, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert app.stdout is not None
        lines = iter(app.stdout.readline, "")
        address = next(line for line in lines if "serving MCP at" in line)
        assert next(line for line in lines if "connected to" in line)
        env["AGENTICXR_MCP_PORT"] = re.findall(r":(\d+)/mcp", address)[0]
        del env["XDG_RUNTIME_DIR"]
        for block in re.findall(r"^```console\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL):
            for example in re.split(r"^\$ openxr-agentic ", block, flags=re.MULTILINE)[1:]:
                line, _, shown = example.partition("\n")
                done = subprocess.run(
                    [*COMMAND, *shlex.split(line)],
                    cwd=ROOT,
                    env={**env, "TMPDIR": os.fspath(tmp_path)},
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    check=False,
                )
                assert done.stdout == shown, line
    finally:
        app.send_signal(signal.SIGINT)
        app.communicate(timeout=60)
