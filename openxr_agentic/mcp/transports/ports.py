"""Which address and port the agent's server listens on, and who holds the port when it is taken."""

from __future__ import annotations

import errno
import ipaddress
import itertools
import os
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

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
_OUR_NAME: Final = "openxr-agentic"

HTTP_PATH: Final = "/mcp"
"""Where streamable HTTP is served."""

SSE_PATH: Final = "/sse"
"""Where HTTP+SSE is served."""

Address: TypeAlias = "ipaddress.IPv4Address | ipaddress.IPv6Address"


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


def address_of(host: str) -> Address:
    """Return the address that a host option or a URL's host stands for.

    Args:
        host: An IPv4 or IPv6 address, the latter also in brackets; or ``localhost``,
            which is 127.0.0.1. Other names are not looked up: what a name leads to may change.

    Raises:
        ConfigurationError: It is neither.
    """
    if host.lower() == "localhost":
        return ipaddress.IPv4Address(LOOPBACK)
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    try:
        address = ipaddress.ip_address(bare)
    except ValueError as error:
        raise ConfigurationError(
            f"--host is {host!r}, which is no address: give an IPv4 or IPv6 address of this machine, as 127.0.0.1 or "
            "::1; localhost; or 0.0.0.0 for all IPv4 addresses, :: for all there are."
        ) from error
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def is_loopback(address: Address) -> bool:
    """Whether only programs on this machine can reach an address."""
    return address.is_loopback


def listen(port: int, host: str = LOOPBACK) -> socket.socket:
    """Return a socket that listens on a port of one address, or of all.

    Args:
        port: 0 for any free port.
        host: As for `address_of`; 0.0.0.0 stands for every IPv4 address of this
            machine, and :: for every address.

    Raises:
        ConfigurationError: `host` is no address.
        PortError: The port is taken (the message names the process that holds it
            where the system tells), or the system refuses it.
    """
    address = address_of(host)
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6  # noqa: PLR2004 - IPv4
    try:
        # asyncio turns off Nagle's algorithm, worth 40 ms a call, only where the protocol is named.
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    except OSError as error:
        raise PortError(f"Cannot listen on {host}: {error.strerror}.") from error
    try:
        if os.name == "posix":
            # Without it a restart would have to wait for the last connections to
            # time out. On Windows the same option would let two servers share a port.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            # Systems differ in whether :: means IPv4 too.
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, int(not address.is_unspecified))
        # Through getaddrinfo, which turns a zone (fe80::1%eth0) into its number.
        found = socket.getaddrinfo(str(address), port, family, socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
        listener.bind(found[0][4])
        # Two sockets may be bound with the option above; only one may listen.
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise _why_not(error, port, address) from error
    return listener


def _why_not(error: OSError, port: int, address: Address) -> PortError:
    if error.errno == errno.EADDRNOTAVAIL:
        return PortError(f"Cannot listen on {address}: it is no address of this machine. Give one that is with --host.")
    if error.errno != errno.EADDRINUSE:
        return PortError(f"Cannot listen on {in_url(address)}:{port}: {error.strerror}.")
    holder = port_holder(port, address)
    where = "" if str(address) == LOOPBACK else f" of {address}"
    return PortError(
        f"Port {port}{where} is taken{f' by {holder}' if holder else ''}. Stop what holds it, or "
        f"choose another port with --port or {PORT_VARIABLE} (0: any free one)."
    )


def in_url(address: Address) -> str:
    """Return an address as it stands in a URL: IPv6 in brackets."""
    return f"[{address}]" if address.version == 6 else str(address)  # noqa: PLR2004 - IPv6


class PortHolder(NamedTuple):
    """The process that listens on a port.

    Attributes:
        name: Its program's name; ``openxr-agentic`` for every server of ours, also where Python runs it as a module.
        process: Its id.
    """

    name: str
    process: int

    @property
    def is_ours(self) -> bool:
        """Whether it is a server of this package."""
        return self.name == _OUR_NAME

    def __str__(self) -> str:
        return f"{self.name} (process {self.process})"


def port_holder(port: int, address: Address | None = None) -> PortHolder | None:
    """Return the process that listens on a port, or None when unknown.

    Only Linux tells without extra rights, and only about processes of the same user.

    Args:
        port: The port.
        address: The address at which it is wanted: who listens on another one is not in the way. None: any.
    """
    if not sys.platform.startswith("linux"):
        return None
    sockets = {f"socket:[{inode}]" for inode in _listening_inodes(port, address)}
    if not sockets:
        return None
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if any(os.readlink(entry) in sockets for entry in (process / "fd").iterdir()):
                return PortHolder(_name_of(process), int(process.name))
        except OSError:  # noqa: PERF203 - each process may refuse
            continue  # it ended meanwhile, or belongs to another user
    return None


def _name_of(process: Path) -> str:
    words = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
    # As a module, as a script, or from `server_process`: to Linux, all of them are python.
    pairs = itertools.pairwise(words)
    if any(
        (first == "-m" and second == "openxr_agentic")
        or (first == "-c" and "openxr_agentic.cli" in second)
        or Path(second).name == _OUR_NAME
        for first, second in pairs
    ):
        return _OUR_NAME
    return (process / "comm").read_text().strip()


def _listening_inodes(port: int, wanted: Address | None) -> Iterator[str]:
    listening_state = "0A"
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            rows = Path(table).read_text().splitlines()[1:]
        except OSError:
            continue
        for row in rows:
            columns = row.split()
            address, _, its_port = columns[1].rpartition(":")
            if columns[3] == listening_state and int(its_port, 16) == port and _clash(_from_table(address), wanted):
                yield columns[9]


def _from_table(text: str) -> Address:
    """Return an address of /proc/net: 32-bit words in the processor's byte order."""
    raw = bytes.fromhex(text)
    words = (int.from_bytes(raw[at : at + 4], sys.byteorder) for at in range(0, len(raw), 4))
    return address_of(str(ipaddress.ip_address(b"".join(word.to_bytes(4, "big") for word in words))))


def _clash(held: Address, wanted: Address | None) -> bool:
    """Whether a port that is held at one address cannot be had at another; too often yes for :: and IPv4."""
    if wanted is None or held.is_unspecified or wanted.is_unspecified:
        return True
    return str(held) == str(wanted).partition("%")[0]
