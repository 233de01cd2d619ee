"""``openxr-agentic run -- COMMAND``: an app without a headset, and its tools over MCP.

This process serves; the app is its child. So the app's terminal, exit code and
signals stay the app's: what ends the command is passed on, and the command
ends when the app has ended.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
from typing import TYPE_CHECKING, Final

import click

from openxr_agentic.cli.processes import on_end_signals
from openxr_agentic.cli.serve import announce, serve_link
from openxr_agentic.host import manifest_path
from openxr_agentic.mcp.app_link import AppLink
from openxr_agentic.mcp.transports import Endpoints

if TYPE_CHECKING:
    import socket
    from collections.abc import Mapping, Sequence

# What a shell answers in the same cases.
CANNOT_EXECUTE: Final = 126
NOT_FOUND: Final = 127


def app_environment(label: str) -> dict[str, str]:
    """Return this process's environment, with the mock runtime selected and the channel on.

    Args:
        label: By which the app's channel is told from others.
    """
    environment = {
        **os.environ,
        "XR_RUNTIME_JSON": str(manifest_path()),
        "OPENXR_AGENTIC_CHANNEL": label,
    }
    # Corrections for another host: the mock runtime expects the numbers that it was built with.
    environment.pop("OPENXR_AGENTIC_NUMBERS", None)
    return environment


def new_label(prefix: str) -> str:
    """Return a channel label that no other app has."""
    return f"{prefix}-{secrets.token_hex(8)}"


def run_app(app_command: Sequence[str], listener: socket.socket) -> int:
    """Run a command as an app and serve its tools until it ends.

    Args:
        app_command: The program and its arguments.
        listener: The server's socket.

    Returns:
        The exit code for a shell: the command's own, 128 + n when signal n ended
        it, 126 or 127 when it could not be started.
    """
    announce(Endpoints.of(listener))
    label = new_label("run")
    return asyncio.run(_run(app_command, app_environment(label), AppLink(label), listener))


async def _run(
    app_command: Sequence[str],
    environment: Mapping[str, str],
    link: AppLink,
    listener: socket.socket,
) -> int:
    try:
        app = await asyncio.create_subprocess_exec(*app_command, env=environment)
    except OSError as error:
        listener.close()
        click.echo(f"Error: cannot run {app_command[0]}: {error.strerror}.", err=True)
        return NOT_FOUND if isinstance(error, FileNotFoundError) else CANNOT_EXECUTE
    stop = asyncio.Event()
    with on_end_signals(_Forwarder(app)):
        serving = asyncio.ensure_future(serve_link(link, listener, stop))
        ended = asyncio.ensure_future(app.wait())
        try:
            await asyncio.wait((serving, ended), return_when=asyncio.FIRST_COMPLETED)
        finally:
            if app.returncode is None:  # the server failed, or this task was cancelled
                app.terminate()
            await ended
            stop.set()
            await serving
    code = ended.result()
    return 128 - code if code < 0 else code


class _Forwarder:
    """Passes on to the app what should end the command; the second Ctrl-C kills it."""

    def __init__(self, app: asyncio.subprocess.Process) -> None:
        self._app = app
        self._interrupted = False

    def __call__(self, number: signal.Signals) -> None:
        if self._app.returncode is not None:
            return
        if number != signal.SIGINT:
            self._app.send_signal(number)
        elif self._interrupted:
            self._app.kill()
        else:
            self._interrupted = True
            # A Ctrl-C in the terminal has reached the app already, and a second
            # one would interrupt its cleaning up.
            if not _in_foreground():
                self._app.send_signal(number)


def _in_foreground() -> bool:
    """Whether a Ctrl-C in the terminal goes to this process's group, which is also the app's."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)
