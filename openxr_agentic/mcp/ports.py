"""Which port the agent's server listens on, and who holds it when it is taken."""

from __future__ import annotations

import errno
import os
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from openxr_agentic.errors import AgenticError, ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

DEFAULT_PORT: Final = 8720
"""Where Meta's XR Operator listens."""

PORT_VARIABLE: Final = "AGENTICXR_MCP_PORT"
"""The environment variable by which Meta's XR Operator is told another port."""

LOWEST_PORT: Final = 1024
HIGHEST_PORT: Final = 65535
LOOPBACK: Final = "127.0.0.1"


class PortError(AgenticError, OSError):
    """A port that cannot be listened on."""


def choose_port(option: str | int | None = None, environment: Mapping[str, str] = os.environ) -> int:
    """Return the port to listen on: the option, else AGENTICXR_MCP_PORT, else 8720.

    Args:
        option: What the command line or a caller asks for; None when it asks for nothing.
        environment: Where the variable is looked up.

    Returns:
        The port; 0 stands for any free one.

    Raises:
        ConfigurationError: The value is no whole number, or neither 0 nor from 1024 to 65535.
    """
    if option is not None:
        return _parse(str(option), "--port")
    value = environment.get(PORT_VARIABLE, "").strip()
    return _parse(value, PORT_VARIABLE) if value else DEFAULT_PORT


def _parse(value: str, source: str) -> int:
    # int() alone takes "8_720" and raises on thousands of digits; isdecimal() alone takes other scripts.
    if len(value) <= len(str(HIGHEST_PORT)) and value.isascii() and value.isdecimal():
        port = int(value)
        if port == 0 or LOWEST_PORT <= port <= HIGHEST_PORT:
            return port
    raise ConfigurationError(
        f"{source} is {value!r}, which is no usable port: give a whole number from "
        f"{LOWEST_PORT} to {HIGHEST_PORT}, or 0 for any free one (the default is {DEFAULT_PORT})."
    )


def listen(port: int) -> socket.socket:
    """Return a socket that is bound to a port of 127.0.0.1.

    Args:
        port: 0 for any free port.

    Raises:
        PortError: The port is taken (the message names the process that holds it
            where the system tells), or the system refuses it.
    """
    # asyncio turns off Nagle's algorithm, worth 40 ms a call, only where the protocol is named.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    if os.name == "posix":
        # Without it a restart would have to wait for the last connections to
        # time out. On Windows the same option would let two servers share a port.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((LOOPBACK, port))
        # Two sockets may be bound with the option above; only one may listen.
        listener.listen(128)
    except OSError as error:
        listener.close()
        if error.errno != errno.EADDRINUSE:
            raise PortError(f"Cannot listen on {LOOPBACK}:{port}: {error.strerror}.") from error
        holder = port_holder(port)
        raise PortError(
            f"Port {port} is taken{f' by {holder}' if holder else ''}. Stop what holds it, or "
            f"choose another port with --port or {PORT_VARIABLE} (0: any free one)."
        ) from error
    return listener


def port_holder(port: int) -> str | None:
    """Return "name (process N)" of the process that listens on a port, or None when unknown.

    Only Linux tells without extra rights, and only about processes of the same user.
    """
    if not sys.platform.startswith("linux"):
        return None
    sockets = {f"socket:[{inode}]" for inode in _listening_inodes(port)}
    if not sockets:
        return None
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if any(os.readlink(entry) in sockets for entry in (process / "fd").iterdir()):
                return f"{(process / 'comm').read_text().strip()} (process {process.name})"
        except OSError:  # noqa: PERF203 - each process may refuse
            continue  # it ended meanwhile, or belongs to another user
    return None


def _listening_inodes(port: int) -> Iterator[str]:
    listening_state = "0A"
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            rows = Path(table).read_text().splitlines()[1:]
        except OSError:
            continue
        for row in rows:
            columns = row.split()
            if columns[3] == listening_state and int(columns[1].rpartition(":")[2], 16) == port:
                yield columns[9]
