"""The options of every command that serves, as one object."""

from __future__ import annotations

import functools
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from openxr_agentic.mcp.access import TOKEN_VARIABLE, Access
from openxr_agentic.mcp.ports import LOOPBACK, PORT_VARIABLE, choose_port, listen

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable


@dataclass(frozen=True)
class ServingOptions:
    """What the options say, not yet looked at: so what is wrong with them is the command's own error.

    Attributes are named after the options.
    """

    port: str | None
    host: str
    allow_host: tuple[str, ...]
    allow_origin: tuple[str, ...]
    token_file: Path | None

    def access(self) -> Access:
        """Return what requests must have.

        Raises:
            ConfigurationError: An option or the token cannot be used, or the host needs a token.
        """
        access = Access.load(self.token_file, allow_hosts=self.allow_host, allow_origins=self.allow_origin)
        access.require_token_beyond_loopback(self.host)
        return access

    def listen(self) -> socket.socket:
        """Return the socket that clients will find.

        Raises:
            ConfigurationError: Host or port cannot be used.
            PortError: The port cannot be had.
        """
        return listen(choose_port(self.port), self.host)


_OPTIONS = (
    click.option("--port", help=f"Port, or 0 for any free one.  [default: {PORT_VARIABLE}, else 8720]"),
    click.option(
        "--host",
        metavar="ADDRESS",
        default=LOOPBACK,
        show_default=True,
        help="Address to listen on, as ::1; beyond loopback only with a token.",
    ),
    click.option(
        "--allow-host",
        metavar="NAME[:PORT]",
        multiple=True,
        help="A name that clients may reach the server by, beside loopback names and its address. Repeatable.",
    ),
    click.option(
        "--allow-origin",
        metavar="ORIGIN",
        multiple=True,
        help="Web pages that may use the server, as https://app.example. Repeatable.",
    ),
    click.option(
        "--token-file",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help=f"File with the token that clients must send.  [default: {TOKEN_VARIABLE}, else none]",
    ),
)


def serving_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command, which gets them as its argument `serving`."""

    @functools.wraps(function)
    def with_options(*args: Any, **given: Any) -> Any:
        own = {each.name: given.pop(each.name) for each in fields(ServingOptions)}
        return function(*args, serving=ServingOptions(**own), **given)

    for option in reversed(_OPTIONS):
        with_options = option(with_options)
    return with_options
