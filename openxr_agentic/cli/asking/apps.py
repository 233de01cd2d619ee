"""``openxr-agentic apps``: the running apps of this user, and which one a command means."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from openxr_agentic.cli.console import json_text, one_line, printable, stderr_console
from openxr_agentic.errors import AgenticError
from openxr_agentic.host.channel import App, ChannelClient, ChannelError, channel_problem, find_apps

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ANSWER_SECONDS: Final = 2.0
"""How long an app may take to say what it is."""

HOW_TO_START: Final = (
    "Start one with: openxr-agentic run -- COMMAND, or with OPENXR_AGENTIC_CHANNEL=1 in its environment, "
    "on this package's mock runtime. Where one should be there, openxr-agentic doctor says what is wrong."
)


class NoSuchAppError(AgenticError, LookupError):
    """No running app, or more than one, is what was asked for."""


class FoundApp(NamedTuple):
    """A process with a control channel, and what it said of itself.

    Attributes:
        pid: Its process id.
        name: What it calls itself; empty while it does not answer.
        label: What OPENXR_AGENTIC_CHANNEL was set to, if that is more than a switch.
        host: The host's name and version.
        tools: Number of its tools; None: it does not answer.
        problem: Why it does not answer; empty: it does.
    """

    pid: int
    name: str = ""
    label: str = ""
    host: str = ""
    tools: int | None = None
    problem: str = ""

    def __str__(self) -> str:
        return f"{one_line(self.name) or 'an app that does not answer'} ({self.pid})"

    @property
    def title(self) -> str:
        """What it is called in messages, for people to find it again."""
        return f"the app {one_line(self.name)} (process {self.pid})" if self.name else f"the app of process {self.pid}"

    def fits(self, wanted: str) -> bool:
        """Tell whether a process id in digits, a name or a label means this app."""
        return wanted in (str(self.pid), self.name, self.label)


async def look_for_apps() -> list[FoundApp]:
    """Return the running apps of this user, by process id, those that do not answer too."""
    return list(await asyncio.gather(*map(_ask, find_apps())))


async def require_answer(app: FoundApp) -> None:
    """Do nothing if an app that was found before still answers.

    Raises:
        NoSuchAppError: It has gone, or does not answer.
    """
    here = next((one for one in find_apps() if one.pid == app.pid), None)
    if here is None:
        raise NoSuchAppError(f"{app.title} went away.")
    if problem := (await _ask(here)).problem:
        raise NoSuchAppError(f"{app.title} does not answer: {printable(problem)}.")


async def _ask(app: App) -> FoundApp:
    client: ChannelClient | None = None
    try:
        client = await asyncio.wait_for(ChannelClient.connect(app.path), ANSWER_SECONDS)
        tools = await asyncio.wait_for(client.list_tools(), ANSWER_SECONDS)
        return FoundApp(app.pid, client.application_name, client.label, client.host, len(tools))
    except asyncio.TimeoutError:
        problem = f"it did not answer within {ANSWER_SECONDS:g} seconds; it may be stopped, as in a debugger"
    except ConnectionRefusedError:
        problem = "nobody listens on its socket; an app that crashed may have left it"
    except (ChannelError, OSError) as error:
        problem = str(error)
    finally:
        if client is not None:
            await client.close()
    if client is None:
        return FoundApp(app.pid, problem=problem)
    # What it said before it fell silent is worth showing.
    return FoundApp(app.pid, client.application_name, client.label, client.host, problem=problem)


def the_app(found: Sequence[FoundApp], wanted: str) -> FoundApp:
    """Return the app that ``--app`` means.

    Raises:
        NoSuchAppError: None fits, or several do, or the one that fits does not answer.
    """
    fitting = [app for app in found if app.fits(wanted)]
    if not fitting:
        running = f"Running: {_listed(found)}." if found else f"No app with a control channel runs. {HOW_TO_START}"
        raise NoSuchAppError(f"There is no app {wanted}. {running}")
    if len(fitting) > 1:
        raise NoSuchAppError(f"Several apps are called {wanted}: {_listed(fitting)}. Give --app the process id.")
    if fitting[0].problem:
        raise NoSuchAppError(f"{fitting[0].title} does not answer: {printable(fitting[0].problem)}.")
    return fitting[0]


def _listed(apps: Iterable[FoundApp]) -> str:
    return ", ".join(map(str, apps))


# ---------------------------------------------------------------- the command


def show_apps(*, as_json: bool) -> None:
    """Print the running apps on stdout.

    Args:
        as_json: As one JSON array of objects.

    Raises:
        ChannelError: This system has no control channels.
    """
    if problem := channel_problem():
        raise ChannelError(problem)
    found = asyncio.run(look_for_apps())
    if as_json:
        click.echo(json_text([_as_json(app) for app in found]))
        return
    if not found:
        stderr_console().print(f"No app with a control channel is running. {HOW_TO_START}", markup=False)
        return
    rows = [("PID", "NAME", "LABEL", "TOOLS", "HOST")]
    rows += [
        (
            str(app.pid),
            _cell(app.name),
            _cell(app.label),
            "-" if app.tools is None else str(app.tools),
            _cell(f"does not answer: {app.problem}" if app.problem else app.host),
        )
        for app in found
    ]
    for line in _aligned(rows):
        click.echo(line)


def _as_json(app: FoundApp) -> dict[str, Any]:
    return {**app._asdict(), "answers": not app.problem, "problem": app.problem or None}


def _cell(text: str) -> str:
    return " ".join(printable(text).split()) or "-"


def _aligned(rows: Sequence[Sequence[str]]) -> Iterable[str]:
    from rich.cells import cell_len

    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()
