"""The agent's end: the port and who holds it, the control channel, and running apps."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from openxr_agentic.doctor.findings import Finding, hint, ok, problem, warning
from openxr_agentic.errors import ConfigurationError
from openxr_agentic.host import channel
from openxr_agentic.loader import variable_state
from openxr_agentic.mcp.transports import ports

if TYPE_CHECKING:
    from collections.abc import Iterator

CHANNEL_VARIABLE = "OPENXR_AGENTIC_CHANNEL"
_CLOSED = 0o700
_LONGEST_SOCKET_NAME = len("/4194304.sock")  # Linux's highest process id
_LONGEST_SOCKET_PATH = 103 if sys.platform == "darwin" else 107


def check_port() -> Iterator[Finding]:
    """Look at the port that the agent's server would listen on."""
    value = os.environ.get(ports.PORT_VARIABLE, "").strip()
    try:
        port = ports.choose_port()
    except ConfigurationError:
        yield problem(
            "serving.port-invalid",
            f"{ports.PORT_VARIABLE} is {value!r}, which is no usable port: it must be a whole number from "
            f"{ports.LOWEST_PORT} to {ports.HIGHEST_PORT}, or 0 for any free one (the default is "
            f"{ports.DEFAULT_PORT}).",
            "The server does not start, and Meta's host and an agent's client may each make something else of it.",
            f"export {ports.PORT_VARIABLE}={ports.DEFAULT_PORT} (for app, server and agent alike), or unset it.",
        )
        return
    origin = f"from {ports.PORT_VARIABLE}" if value else f"the default; {variable_state(ports.PORT_VARIABLE)}"
    if port == 0:
        yield ok("serving.port", f"Port: any free one ({origin}).")
        return
    yield _use_of(port, origin)
    if value and port != ports.DEFAULT_PORT:
        changed = f"{ports.PORT_VARIABLE} changes the port from {ports.DEFAULT_PORT} to {port}."
        must = "The app and everything on the agent's side must agree on it."
        remedy = (
            f"Start the agent's client with {ports.PORT_VARIABLE}={port} too, or give it the address with that port."
        )
        holder = ports.port_holder(ports.DEFAULT_PORT)
        if holder is not None and holder.is_ours:
            changed += f" A server of this package runs on {ports.DEFAULT_PORT}: {holder}."
            remedy = (
                f"unset {ports.PORT_VARIABLE} reaches the server on {ports.DEFAULT_PORT}. For one on {port}: {remedy}"
            )
        yield hint("serving.port-changed", changed, must, remedy)


def _use_of(port: int, origin: str) -> Finding:
    try:
        ports.listen(port).close()
    except ports.PortError as error:
        holder = ports.port_holder(port)
        what = f"Port {port} ({origin}) is in use by {holder}." if holder else f"Port {port} ({origin}): {error}"
    else:
        return ok("serving.port", f"Port {port} ({origin}), free.")
    it = f"it (kill {holder.process})" if holder else "it"
    another = f"To have another server, stop {it}, or choose another port with --port or {ports.PORT_VARIABLE}."
    is_ours = holder is not None and holder.is_ours
    if holder is not None and is_ours and holder.process in _ancestors():
        return ok("serving.port", f"{what} It is the server of the `openxr-agentic run` that started this.")
    if is_ours:
        return hint(
            "serving.port-taken", what, "That is right when it is the server that the agent is to use.", another
        )
    if holder is None and not sys.platform.startswith("linux"):  # where it is not known who holds a port
        return hint("serving.port-taken", what, "That is right when it is the agent's server.", another)
    whose = "It is no server of this package" if holder else "The system does not tell who holds it"
    right = "Meta's host in a running app" if holder else "the agent's server, or Meta's host in a running app"
    return warning(
        "serving.port-taken",
        what,
        f"{whose}: another server cannot start there, and an agent's client talks to whatever it is. That is right "
        f"only when it is {right}.",
        f"Stop {it}, or choose another port with --port or {ports.PORT_VARIABLE}, for server and client alike.",
    )


def _ancestors() -> Iterator[int]:
    """Yield the process ids of who started this process, of who started that one, and so on; Linux only."""
    process = os.getppid()
    while process:
        yield process
        try:
            status = Path(f"/proc/{process}/stat").read_text(errors="replace")
        except OSError:  # it ended meanwhile, or belongs to another user
            return
        process = int(status.rpartition(")")[2].split()[1])


def check_channel_folder() -> Iterator[Finding]:
    """Look at the folder that control channels are in: apps open none in a folder that others could enter."""
    if sys.platform == "win32":
        yield hint(
            "serving.no-channel",
            "The control channel is not available on Windows yet.",
            "Agents reach an app on a host of this package through it.",
            "Use Meta's host there, which serves its tools itself.",
        )
        return
    folder = channel.socket_folder()
    if len(os.fsencode(folder)) + _LONGEST_SOCKET_NAME > _LONGEST_SOCKET_PATH:
        yield problem(
            "serving.channel-path-too-long",
            f"The control channel's folder {folder} has too long a path for a socket in it.",
            f"The system's limit is {_LONGEST_SOCKET_PATH} bytes; apps open no channel.",
            "Set XDG_RUNTIME_DIR to a folder with a shorter path, for apps and server alike.",
        )
        return
    try:
        status = folder.lstat()
    except FileNotFoundError:
        yield from _no_channel_folder(folder)
        return
    except OSError as error:
        yield problem(
            "serving.channel-folder",
            f"The control channel's folder {folder} cannot be looked at: {error.strerror}.",
            "Apps open no channel there, and the server finds no app.",
            "Set XDG_RUNTIME_DIR to a folder of this user's own, for apps and server alike.",
        )
        return
    wrong = _wrong_with(status)
    if wrong:
        yield problem(
            "serving.channel-folder",
            f"The control channel's folder {folder} {wrong[0]}.",
            "Apps open no channel there, and the server finds no app.",
            wrong[1].format(folder=folder),
        )
    elif stat.S_IMODE(status.st_mode) != _CLOSED:
        yield warning(
            "serving.channel-mode",
            f"The control channel's folder {folder} has mode {stat.S_IMODE(status.st_mode):04o} instead of 0700.",
            "Other users may see which apps run. The next app that opens a channel corrects it.",
            f"chmod 700 {folder}",
        )
    else:
        yield ok("serving.channel-folder", f"Control channels: {folder}")


def _no_channel_folder(folder: Path) -> Iterator[Finding]:
    parent = folder.parent
    if parent.is_dir() and os.access(parent, os.W_OK | os.X_OK):
        yield ok("serving.channel-folder", f"Control channels: {folder} (made by the first app)")
        return
    variable = "XDG_RUNTIME_DIR" if os.environ.get("XDG_RUNTIME_DIR", "").startswith("/") else "TMPDIR"
    state = "cannot be written to" if parent.is_dir() else "does not exist"
    yield problem(
        "serving.channel-parent",
        f"The control channel's folder {folder} cannot be made: {parent} {state}.",
        "Apps open no channel, and the server finds none.",
        f"Set {variable} to a folder of this user, for apps and server alike.",
    )


def _wrong_with(status: os.stat_result) -> tuple[str, str] | None:
    if stat.S_ISLNK(status.st_mode):
        return "is a link, which is not trusted", "rm {folder}"
    if not stat.S_ISDIR(status.st_mode):
        return "is not a folder", "rm {folder}"
    if status.st_uid != os.geteuid():
        return f"belongs to user {status.st_uid}", "Remove {folder}, or set XDG_RUNTIME_DIR to a folder of this user."
    return None


def check_apps() -> Iterator[Finding]:
    """List the running apps that have a control channel."""
    apps = channel.find_apps()
    for app in apps:
        yield ok("serving.app", f"A running app has a control channel: process {app.pid} ({app.path})")
    if not apps:
        on = os.environ.get(CHANNEL_VARIABLE, "")
        yield ok(
            "serving.no-app",
            "No running app of this user has a control channel.",
            "" if on else f"An app opens one when it is started by `openxr-agentic run`, or with {CHANNEL_VARIABLE}=1.",
        )


CHECKS = (check_port, check_channel_folder, check_apps)
