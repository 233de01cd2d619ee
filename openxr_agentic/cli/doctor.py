"""``openxr-agentic doctor``: what the doctor found, in lines or as JSON, and the unknown numbers."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import textwrap
from typing import TYPE_CHECKING

import click
from rich.markup import escape

from openxr_agentic import __version__, doctor
from openxr_agentic.cli.console import stderr_console, stdout_console
from openxr_agentic.doctor.findings import Severity, shortened
from openxr_agentic.errors import AgenticError
from openxr_agentic.header_numbers import (
    FAMILIES,
    NAMES,
    NUMBERS_VARIABLE,
    collisions,
    numbers_built_with,
    numbers_in_force,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from openxr_agentic.doctor.findings import Finding

_MARKS = {
    Severity.OK: ("green", "ok"),
    Severity.HINT: ("cyan", "hint"),
    Severity.WARNING: ("yellow", "warning"),
    Severity.PROBLEM: ("bold red", "PROBLEM"),
}
_TITLES = {
    "installation": "Installation",
    "environment": "Environment",
    "loader": "OpenXR loader",
    "runtime": "Active runtime",
    "layers": "API layers",
    "offer": "The extension",
    "numbers": "The extension's numbers",
    "serving": "Agent's end",
}
_WIDTH = max(len(word) for _, word in _MARKS.values())

DISCOVERY = """\
doctor --discover registers tools on trial with the active OpenXR host, in a process of its own that ends afterwards:
up to some 50,000 registrations, nearly all of which the host refuses, and a few dozen calls of those that it accepts.
It needs no headset on a head, but it does start the runtime, and an agent that is connected meanwhile sees the trial
tools come and go. It takes seconds, is given up after a minute, and changes nothing on disk."""


def examine(*, as_json: bool) -> int:
    """Print every finding as it is found, and return the exit code: 1 when there is a problem."""
    findings = []
    section = ""
    console = stdout_console()
    for finding in doctor.examine():
        findings.append(finding)
        if as_json:
            continue
        if finding.section != section:
            section = finding.section
            console.print(f"\n[bold]{_TITLES.get(section, section)}[/]")
        _show(finding)
    counts = {kind.value: sum(finding.severity is kind for finding in findings) for kind in Severity}
    if as_json:
        listed = [finding.as_json() for finding in findings]
        click.echo(json.dumps({"version": __version__, "counts": counts, "findings": listed}, indent=2))
    else:
        console.print(f"\n{_summary(counts)}")
    return 1 if counts[Severity.PROBLEM.value] else 0


def _show(finding: Finding) -> None:
    style, word = _MARKS[finding.severity]
    console = stdout_console()
    indent = " " * (_WIDTH + 4)
    # Other programs and searches get one line for one text.
    width = max(40, console.width) if console.is_terminal else sys.maxsize

    def lines(text: str, first: str = indent) -> str:
        return escape(
            textwrap.fill(
                text,
                width,
                initial_indent=first,
                subsequent_indent=indent + " " * (len(first) - len(indent)),
                break_long_words=False,
                break_on_hyphens=False,
            )
        )

    console.print(f"  [{style}]{word:<{_WIDTH}}[/]  {lines(finding.what).lstrip()}")
    if finding.why:
        console.print(f"[dim]{lines(finding.why)}[/]")
    arrow = f"{indent}-> "
    if finding.remedy.startswith(("export ", "unset ")):
        console.print(escape(arrow + finding.remedy), soft_wrap=True)  # to be copied: a break would be part of a path
    elif finding.remedy:
        console.print(lines(finding.remedy, arrow))


def _summary(counts: Mapping[str, int]) -> str:
    problems, warnings, hints = (
        f"{counts[kind.value]} {kind.value}{'' if counts[kind.value] == 1 else 's'}"
        for kind in (Severity.PROBLEM, Severity.WARNING, Severity.HINT)
    )
    if counts[Severity.PROBLEM.value] or counts[Severity.WARNING.value]:
        return f"{problems}, {warnings}, {hints}"
    return f"Nothing is wrong; {hints}." if counts[Severity.HINT.value] else "Nothing is wrong."


def show_header(path: Path) -> int:
    """Read a header, print the settings to keep, and return the exit code: 1 when something is left open."""
    from openxr_agentic.doctor.header import read_header

    reading = read_header(path)
    open_ = dict.fromkeys(reading.missing, "it is not in the header.")
    open_ |= {
        name: f"it is not in the header; not used are the similar {', '.join(near)}."
        for name, near in reading.similar.items()
    }
    open_ |= {name: f"its value cannot be read: {why}." for name, why in reading.unclear.items()}
    open_ |= {
        name: f"the header gives it several values: {', '.join(map(str, values))}."
        for name, values in reading.disagreeing.items()
    }
    how = dict.fromkeys(reading.numbers, f"read from {reading.path}")
    return _report(reading.numbers, how, open_)


def discover(url: str | None, *, confirmed: bool) -> int:
    """Find the numbers by asking the host, print the settings to keep, and return the exit code."""
    from openxr_agentic.doctor.trial_host import discover_here

    click.echo(DISCOVERY, err=True)
    if not confirmed:
        if sys.stdin is None or not sys.stdin.isatty():
            raise click.UsageError("To go on without being asked, give --yes.")
        click.confirm("Go on?", abort=True, err=True)
    # They would log, with tracebacks, what is told here in one line.
    for name in ("mcp", "httpx2", "httpcore2", "anyio", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    found = asyncio.run(discover_here(url))
    return _report(found.numbers, found.how, found.open)


def _report(numbers: Mapping[str, int], how: Mapping[str, str], open_: Mapping[str, str]) -> int:
    """Print the settings on stdout, and on stderr what is known of each number."""
    console = stderr_console()
    in_force = _in_force()
    for name in NAMES:
        if name in numbers:
            known = in_force.get(name)
            differs = "" if known in (None, numbers[name]) else f"; in force now is {known}"
            console.print(f"  [green]found[/]  {name} = {numbers[name]} ({escape(how[name])}{differs})")
        elif name in open_:
            console.print(f"  [yellow]open[/]   {name}: {escape(shortened(open_[name]))}")
    if numbers:
        click.echo(json.dumps(numbers))
        console.print(_what_to_do(numbers, in_force))
    return 1 if len(numbers) < len(NAMES) else 0


def _in_force() -> dict[str, int]:
    try:
        return {name: number.value for name, number in numbers_in_force().items()}
    except AgenticError:
        return {}


def _what_to_do(numbers: Mapping[str, int], in_force: Mapping[str, int]) -> str:
    """Say what the settings are for, or what they lack: an assumed number may be one that was found for another."""
    if all(in_force.get(name) == value for name, value in numbers.items()):
        return "These are the numbers in force: nothing needs to be set."
    keep = f"as {NUMBERS_VARIABLE}, or in a file whose path is {NUMBERS_VARIABLE}."
    together = {**_assumed(), **numbers}
    # Of two that clash, one at least was not found: those that were found differ.
    clashes = {
        missing: other
        for pair in collisions(together)
        for missing, other in (pair, pair[::-1])
        if missing not in numbers
    }
    mixed = {name: other for name, other in _mixed(numbers) if name not in clashes}
    if not clashes and not mixed:
        left = "" if len(numbers) == len(NAMES) else " What is open stays as it is assumed."
        return f"Keep the line above: {keep}{left}"
    lines = [
        f"  [yellow]clash[/]  {name} was not found, and what is assumed for it, {together[name]}, is "
        + (f"the number that was found for {other}." if other in numbers else f"assumed for {other} too.")
        for name, other in clashes.items()
    ]
    lines += [
        f"  [yellow]mixed[/]  {name} was not found, and what is assumed for it, {together[name]}, hardly belongs to "
        f"what was found for {other}: {numbers[other]} is not what was assumed."
        for name, other in mixed.items()
    ]
    wanted = [*clashes, *mixed]
    them = "it" if len(wanted) == 1 else "them"
    result = "every attempt to register a tool would fail, since numbers clash."
    if not clashes:
        result = "a host that has the numbers that were found surely has others than are assumed, and refuses tools."
    return "\n".join(
        [
            *lines,
            f"Do not keep the line above as it is: {result}",
            f"Look for {' and '.join(wanted)} in Meta's header (as NAME = NUMBER, or #define NAME NUMBER), or ask the "
            f"host for {them} with: openxr-agentic doctor --discover",
            f'Add {them} to the line, as {{"{wanted[0]}": NUMBER, ...}}, and keep that: {keep}',
        ]
    )


def _mixed(numbers: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Yield what was not found, with one of its family that was, and is another number than was assumed."""
    assumed = _assumed()
    for family in FAMILIES:
        others = [
            name for name in numbers if name.startswith(family) and name in assumed and assumed[name] != numbers[name]
        ]
        for name in NAMES:
            if others and name.startswith(family) and name not in numbers:
                yield name, others[0]


def _assumed() -> dict[str, int]:
    """Return the numbers that are in force where the settings do not name them."""
    try:
        return {name: number.value for name, number in numbers_built_with().items()}
    except AgenticError:
        return {}
