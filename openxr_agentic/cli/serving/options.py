"""The options of every command that serves, and what they open: the way in for clients, and what they may do."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from openxr_agentic.mcp.transports.access import TOKEN_VARIABLE, Access
from openxr_agentic.mcp.transports.ports import LOOPBACK, PORT_VARIABLE, choose_port, listen

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable
    from types import TracebackType

    from typing_extensions import Self

    from openxr_agentic.mcp.answering.options import ServerOptions

MOST_SECONDS: Final = 24 * 60 * 60
"""The longest that a call can be given."""


class Serving(NamedTuple):
    """What a command serves with; a context manager that lets go of it.

    Attributes:
        listener: The server's socket; None: one client on stdin and stdout.
        access: What HTTP requests must have.
        options: How the server answers.
        token_file: Where the token comes from; None: from the environment, or there is none.
    """

    listener: socket.socket | None
    access: Access
    options: ServerOptions
    token_file: Path | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.listener is not None:
            self.listener.close()
        if self.options.audit is not None:
            self.options.audit.close()


@dataclass(frozen=True)
class ServingOptions:
    """What the options say, not yet looked at: so what is wrong with them is the command's own error.

    Attributes are named after the options.
    """

    stdio: bool
    port: str | None
    host: str | None
    allow_host: tuple[str, ...]
    allow_origin: tuple[str, ...]
    token_file: Path | None
    as_meta: bool
    policy: Path | None
    allow: tuple[str, ...]
    deny: tuple[str, ...]
    read_only: bool
    audit_log: Path | None
    audit_arguments: Any
    call_timeout: float | None
    max_result_bytes: int | None

    def open(self) -> Serving:
        """Open the way in for clients.

        Raises:
            click.UsageError: Options contradict each other, or a value is out of its range.
            ConfigurationError: A value, the token or the policy cannot be used, or the host needs a token.
            PortError: The port cannot be had.
            AuditError: The audit log cannot be written.
        """
        options = self._answers()
        try:
            if self.stdio:
                self._require_no_port()
                return Serving(None, Access(), options)
            host = self.host or LOOPBACK
            access = Access.load(self.token_file, allow_hosts=self.allow_host, allow_origins=self.allow_origin)
            access.require_token_beyond_loopback(host)
            return Serving(listen(choose_port(self.port), host), access, options, self.token_file)
        except BaseException:
            if options.audit is not None:
                options.audit.close()
            raise

    def _require_no_port(self) -> None:
        """Refuse what concerns a port: a policy about who may connect must not be taken for one that holds."""
        given = {
            "--port": self.port,
            "--host": self.host,
            "--allow-host": self.allow_host,
            "--allow-origin": self.allow_origin,
            "--token-file": self.token_file,
        }
        for option, value in given.items():
            if value:
                raise click.UsageError(f"--stdio opens no port, so {option} cannot go with it.")

    def _answers(self) -> ServerOptions:
        from openxr_agentic.mcp.answering.options import CALL_SECONDS, LEAST_RESULT_BYTES, ServerOptions
        from openxr_agentic.mcp.limits.audit import AuditLog
        from openxr_agentic.mcp.limits.policy import Policy

        timeout = CALL_SECONDS if self.call_timeout is None else self.call_timeout
        if not (math.isfinite(timeout) and 0 < timeout <= MOST_SECONDS):
            raise click.UsageError(
                f"--call-timeout is {timeout:g}: give seconds, more than 0 and at most {MOST_SECONDS}."
            )
        cap = self.max_result_bytes
        if cap is not None and cap < LEAST_RESULT_BYTES:
            raise click.UsageError(f"--max-result-bytes is {cap}: give at least {LEAST_RESULT_BYTES}.")
        policy = Policy.load(self.policy, allow=self.allow, deny=self.deny, read_only=self.read_only)
        audit = None if self.audit_log is None else AuditLog(self.audit_log, arguments=self.audit_arguments)
        return ServerOptions(self.as_meta, policy, audit, timeout, cap)


_FILE: Final = click.Path(path_type=Path)
_OPTIONS: Final = (
    click.option("--stdio", is_flag=True, help="Serve one client on stdin and stdout instead of a port."),
    click.option("--port", help=f"Port, or 0 for any free one.  [default: {PORT_VARIABLE}, else 8720]"),
    click.option(
        "--host",
        metavar="ADDRESS",
        help=f"Address to listen on, as ::1; beyond loopback only with a token.  [default: {LOOPBACK}]",
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
        type=_FILE,
        help=f"File with the token that clients must send.  [default: {TOKEN_VARIABLE}, else none]",
    ),
    click.option(
        "--as-meta",
        is_flag=True,
        help="Tell agents only what the extension itself carries, as Meta's layer could.",
    ),
    click.option(
        "--policy",
        metavar="FILE",
        type=_FILE,
        help="TOML file that says which tools agents may use (docs/trust.md).",
    ),
    click.option(
        "--allow",
        metavar="RULE",
        multiple=True,
        help="Let agents use only these tools: a name with *, or group:G, annotation:A, app:A. Repeatable.",
    ),
    click.option("--deny", metavar="RULE", multiple=True, help="Keep these tools from agents. Repeatable."),
    click.option("--read-only", is_flag=True, help="Let agents use only tools whose readOnlyHint is true."),
    click.option("--audit-log", metavar="FILE", type=_FILE, help="Write a line of JSON for each call, rotated."),
    click.option(
        "--audit-arguments",
        type=click.Choice(["digest", "text", "none"]),
        default="digest",
        show_default=True,
        help="What the audit log keeps of the arguments.",
    ),
    click.option("--call-timeout", metavar="SECONDS", type=float, help="When a call is given up.  [default: 30]"),
    click.option(
        "--max-result-bytes",
        metavar="N",
        type=int,
        help="Cut longer results, and say so.  [default: none is cut]",
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
