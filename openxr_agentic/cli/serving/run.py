"""``openxr-agentic run -- COMMAND``: an app, without a headset or with one, and its tools over MCP.

This process serves; the app is its child. So the app's terminal, exit code and
signals stay the app's: what ends the command is passed on, and the command
ends when the app has ended.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import secrets
import signal
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import click

from openxr_agentic.cli.serving.processes import END_SECONDS, end, on_end_signals
from openxr_agentic.cli.serving.serve import announce, keep_serving
from openxr_agentic.header_numbers import NUMBERS_VARIABLE
from openxr_agentic.host import manifest_path
from openxr_agentic.host.variables import with_layer
from openxr_agentic.mcp.apps.link import AppLink
from openxr_agentic.mcp.transports.access import TOKEN_VARIABLE
from openxr_agentic.mcp.transports.http import Endpoints

if TYPE_CHECKING:
    import socket
    from collections.abc import Mapping, Sequence

    from openxr_agentic.cli.serving.options import Serving

log = logging.getLogger(__name__)

GRACE_SECONDS: Final = 0.1
"""How long after a signal to this process one to its whole group may still follow (timeout(1) sends both)."""

PATIENCE_SECONDS: Final = 2.0
"""How long an interrupted app may take to end before the user is told what can be done."""

KILLING_INTERRUPT: Final = 3
"""Which Ctrl-C kills the app."""

_STDERR: Final = 2

_UNMET: Final = (
    "the app has ended without an OpenXR instance with the extension, or before one could be met, so agents saw no "
    "tools; what may be wrong is said by: openxr-agentic run{} -- openxr-agentic doctor"
)

# What a shell answers in the same cases.
CANNOT_EXECUTE: Final = 126
NOT_FOUND: Final = 127


def app_environment(label: str, *, layer: bool = False) -> dict[str, str]:
    """Return this process's environment, with a host of ours selected and the channel on.

    Args:
        label: By which the app's channel is told from others.
        layer: Add the API layer to whatever runtime is active, instead of the mock runtime.
    """
    chosen = with_layer(os.environ) if layer else {"XR_RUNTIME_JSON": str(manifest_path())}
    environment = {**os.environ, **chosen, "OPENXR_AGENTIC_CHANNEL": label}
    # Corrections for another host: ours expect the numbers that they were built with.
    environment.pop(NUMBERS_VARIABLE, None)
    # The server's secret: the app has no use for it, and may show its environment.
    environment.pop(TOKEN_VARIABLE, None)
    return environment


def new_label(prefix: str) -> str:
    """Return a channel label that no other app has."""
    return f"{prefix}-{secrets.token_hex(8)}"


def run_app(app_command: Sequence[str], serving: Serving, *, as_json: bool = False, layer: bool = False) -> int:
    """Run a command as an app and serve its tools until it ends.

    Args:
        app_command: The program and its arguments.
        serving: The way in for clients, and how they are answered. Without a listener,
            the command ends when the client of stdin and stdout leaves.
        as_json: Whether the addresses are printed as one JSON object; on stderr, for
            stdout is the app's.
        layer: As for `app_environment`.

    Returns:
        The exit code for a shell: the command's own, 128 + n when signal n ended
        it, 126 or 127 when it could not be started, 0 when it was ended because
        the client of stdin and stdout had left.
    """
    label = new_label("run")
    link = AppLink(label, ends_with_app=True)
    environment = app_environment(label, layer=layer)
    if os.environ.get(NUMBERS_VARIABLE, "").strip():
        log.warning(
            "%s is kept from the app: %s expects the numbers that it was built with%s",
            NUMBERS_VARIABLE,
            "this package's layer" if layer else "the mock runtime",
            "; where Meta's layer serves the tools, start the app without run" if layer else "",
        )
    # The doctor, which is started so to look at the app's environment, is no app.
    unmet = "" if "doctor" in app_command else _UNMET.format(" --layer" if layer else "")
    return asyncio.run(_run(app_command, environment, link, serving, as_json, unmet))


async def _run(
    app_command: Sequence[str],
    environment: Mapping[str, str],
    link: AppLink,
    serving: Serving,
    as_json: bool,
    unmet: str,
) -> int:
    stdin, stdout = _streams(serving.listener)
    stop = asyncio.Event()
    forwarder = _Forwarder()
    ending: set[int] = set()
    # Signals first: one may come as soon as the app can be seen.
    with forwarder, on_end_signals(forwarder):
        try:
            app = await asyncio.create_subprocess_exec(*app_command, env=environment, stdin=stdin, stdout=stdout)
        except OSError as error:
            click.echo(f"Error: cannot run {app_command[0]}: {error.strerror}.", err=True)
            return NOT_FOUND if isinstance(error, FileNotFoundError) else CANNOT_EXECUTE
        answering: asyncio.Future[None] | None = None
        try:
            forwarder.forward_to(app)
            if as_json and serving.listener is not None:
                click.echo(json.dumps(Endpoints.of(serving.listener).as_json()), err=True)
            else:
                announce(serving)
            answering = asyncio.ensure_future(keep_serving(link, serving, stop))
            ended = asyncio.ensure_future(app.wait())
            await asyncio.wait((answering, ended), return_when=asyncio.FIRST_COMPLETED)
        finally:
            # The client or the server may be gone, or this task cancelled: no app is left behind.
            if app.returncode is None:
                ending = {signal.SIGTERM}
                if await end(app):
                    ending.add(getattr(signal, "SIGKILL", signal.SIGTERM))
                    log.warning("the app did not end within %g seconds, and was killed", END_SECONDS)
            code = await app.wait()
            stop.set()
            if answering is not None:
                await answering
    if unmet and not link.met:
        log.warning(unmet)
    if code >= 0:
        return code
    if -code in ending:
        return 0
    if -code not in forwarder.received:  # else it did what it was asked to
        log.warning("the app was ended by %s", _signal_name(-code))
    return 128 - code


def _streams(listener: socket.socket | None) -> tuple[int | None, int | None]:
    """Return the app's stdin and stdout: None, which is this process's own, unless they carry the protocol."""
    if listener is not None:
        return None, None
    return subprocess.DEVNULL, subprocess.DEVNULL if sys.stderr is None else _STDERR


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # most real-time signals have none
        return f"signal {number}"


class _Forwarder:
    """Passes on to the app, once, what should end the command; the third Ctrl-C kills the app.

    A Ctrl-C in the terminal goes to the whole process group, so the app has it
    already, and a second one would interrupt its cleaning up; but one that an
    IDE or ``kill`` sends goes to this process only. A witness tells the two apart.

    Attributes:
        received: The signals that this process got so far.
    """

    def __init__(self) -> None:
        self.received: set[signal.Signals] = set()
        self._app: asyncio.subprocess.Process | None = None
        self._early: set[signal.Signals] = set()
        self._witness = _Witness()
        self._interrupts = 0
        self._unsettled: set[signal.Signals] = set()
        self._settling: asyncio.TimerHandle | None = None
        self._waiting: asyncio.TimerHandle | None = None

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        for timer in (self._settling, self._waiting):
            if timer is not None:
                timer.cancel()
        self._witness.dismiss()

    def forward_to(self, app: asyncio.subprocess.Process) -> None:
        """Have the app get what comes, and what has come before it was there."""
        self._app = app
        for number in self._early:
            self(number)

    def __call__(self, number: signal.Signals) -> None:
        self.received.add(number)
        if self._app is None:
            self._early.add(number)
            return
        self._unsettled.add(number)
        if self._settling is None:
            self._settling = asyncio.get_running_loop().call_later(GRACE_SECONDS, self._settle)

    def _settle(self) -> None:
        self._settling = None
        numbers, self._unsettled = self._unsettled, set()
        seen_by_group = self._witness.dismiss()
        self._witness = _Witness()
        app = self._app
        if app is None or app.returncode is not None:
            return
        if signal.SIGINT in numbers:
            self._interrupts += 1
            if self._interrupts >= KILLING_INTERRUPT:
                app.kill()
                return
            self._be_patient()
        for number in numbers:
            # One that came early reached the group perhaps, but no app in it.
            if number != seen_by_group or number in self._early or not _is_in_this_group(app):
                app.send_signal(number)
        self._early.clear()

    def _be_patient(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
        left = KILLING_INTERRUPT - self._interrupts
        what = "kills it" if left == 1 else "interrupts it once more, a third one kills it"
        self._waiting = asyncio.get_running_loop().call_later(
            PATIENCE_SECONDS, log.info, "waiting for the app to end; Ctrl-C again %s", what
        )


def _is_in_this_group(app: asyncio.subprocess.Process) -> bool:
    try:
        return os.getpgid(app.pid) == os.getpgrp()
    except ProcessLookupError:
        return True  # it has ended, and needs no signal


class _Witness:
    """A process of the same group that dies of the first signal to the group.

    It waits for the end of a pipe that only this process holds, so it never
    outlives this process, however that ends.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        with suppress(OSError):  # without one, the app may get a signal twice, but never not at all
            self._process = subprocess.Popen(
                ["cat"],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )

    def dismiss(self) -> int | None:
        """End it, and return the signal that had ended it before; None when there was none."""
        if self._process is None:
            return None
        # The first deadly signal decides, even one that is not acted on yet.
        self._process.kill()
        self._process.communicate()
        code = self._process.returncode
        return None if code in (0, -signal.SIGKILL) else -code
