"""Why an MCP server gave no answer, in one line for people.

The official client reports a failure from wherever it happened: as an exception, as one inside nested groups of its
tasks, or as an answer that it made up in place of an HTTP status.
"""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlsplit

import httpx2
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, INTERNAL_ERROR, METHOD_NOT_FOUND, PARSE_ERROR, REQUEST_TIMEOUT
from pydantic import ValidationError

from openxr_agentic.cli.asking.targets import is_loopback
from openxr_agentic.cli.console import printable
from openxr_agentic.errors import AgenticError
from openxr_agentic.mcp.transports.access import TOKEN_VARIABLE
from openxr_agentic.mcp.transports.ports import port_holder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CONNECT_SECONDS: Final = 10.0
"""How long it may take until a server has greeted."""

_UNAUTHORIZED: Final = 401
_FORBIDDEN: Final = 403
_MISDIRECTED: Final = 421

_MOST_SAID: Final = 500

# What the client makes up where an HTTP status took the place of an answer.
_MADE_UP: Final = {(INTERNAL_ERROR, "Server returned an error response"), (METHOD_NOT_FOUND, "Not Found")}


class AgentClientError(AgenticError, ConnectionError):
    """A server could not be reached, or gave no answer to what was asked."""


class NoServerThereError(AgentClientError):
    """Somebody answers at that URL, but no MCP server; it may be at another path.

    Args:
        server: The URL.
        why: What shows that, as ``"HTTP 404"``.
        more: A sentence to add.
    """

    def __init__(self, server: str, why: str, more: str = "") -> None:
        super().__init__(f"There is no MCP server at {server}: {why}.{more}")
        self.server = server
        self.why = why


class Said(NamedTuple):
    """What a server answered outside the protocol.

    Attributes:
        status: The last failing HTTP status; 0: there was none.
        text: What it gave as a text for people; empty: nothing.
    """

    status: int = 0
    text: str = ""


def nobody_there(misses: Sequence[NoServerThereError]) -> NoServerThereError:
    """Return one error, in one line, for all paths at which there is no server; with who holds the port, where known.

    Args:
        misses: One for each path that was tried.
    """
    first = urlsplit(misses[0].server)
    holder = port_holder(first.port) if is_loopback(misses[0].server) and first.port else None
    more = f" The port is held by {printable(str(holder))}." if holder else ""
    if len(misses) == 1:
        return NoServerThereError(misses[0].server, misses[0].why, more)
    paths = [urlsplit(miss.server).path for miss in misses]
    if len({miss.why for miss in misses}) == 1:
        why = f"{misses[0].why}, at {' and '.join(paths)}"
    else:
        why = "; ".join(f"{miss.why}, at {path}" for miss, path in zip(misses, paths, strict=True))
    return NoServerThereError(f"{first.scheme}://{first.netloc}", why, more)


def in_words(failure: Exception, server: str, *, connected: bool, said: Said) -> AgenticError:
    """Return what to tell people of what the client raised.

    Args:
        failure: What it raised; an error of this library stays as it is.
        server: What the server is called in messages.
        connected: Whether the server had greeted.
        said: What it answered outside the protocol.
    """
    error = _innermost(failure)
    if isinstance(error, AgenticError):
        return error
    made_up = isinstance(error, MCPError) and _is_made_up(error) and bool(said.status)
    if made_up or isinstance(error, httpx2.HTTPStatusError):
        return _of_status(said, server, connected=connected)
    if isinstance(error, MCPError):
        return _of_answer(error, server, connected=connected)
    if isinstance(error, httpx2.TransportError) and not isinstance(error, httpx2.SSEError):
        return _of_transport(error, server, connected=connected)
    if connected:
        what = (
            "answered with what the protocol forbids" if isinstance(error, ValidationError) else "gave no usable answer"
        )
        return AgentClientError(f"{server} {what}: {_line(error)}.")
    return NoServerThereError(server, f"what answers speaks another protocol ({_line(error)})")


def _is_made_up(error: MCPError) -> bool:
    return (error.code, error.message) in _MADE_UP


def _of_status(said: Said, server: str, *, connected: bool) -> AgentClientError:
    status = said.status
    words = " ".join(printable(said.text).split())
    if len(words) > _MOST_SAID:
        words = f"{words[: _MOST_SAID - 1]}…"
    its_words = f" It says: {words}" if words else ""
    if status == _UNAUTHORIZED:
        return AgentClientError(
            f"{server} wants a token, or another one (HTTP 401). Give it with --token-file FILE or in {TOKEN_VARIABLE}."
            f"{its_words}"
        )
    if status in (_FORBIDDEN, _MISDIRECTED):
        return AgentClientError(f"{server} does not let this client in (HTTP {status}).{its_words}")
    if connected:
        return AgentClientError(f"{server} failed to answer (HTTP {status}); whether the tool ran is unknown.")
    return NoServerThereError(server, f"HTTP {status}")


def _of_answer(error: MCPError, server: str, *, connected: bool) -> AgentClientError:
    if not connected:
        return NoServerThereError(server, f"what answers speaks another protocol ({_line(error)})")
    if error.code == CONNECTION_CLOSED:
        return AgentClientError(f"{server} closed the connection before it answered; whether the tool ran is unknown.")
    if error.code == REQUEST_TIMEOUT:
        return AgentClientError(f"{server} gave up on the call: {_line(error)}.")
    if error.code == PARSE_ERROR:
        # Most often the client's own, with several lines of why a parser would not have it.
        return AgentClientError(f"{server} answered with what is no JSON-RPC message.")
    return AgentClientError(printable(" ".join(error.message.split())))


def _of_transport(error: httpx2.TransportError, server: str, *, connected: bool) -> AgentClientError:
    if isinstance(error, httpx2.TimeoutException):
        return AgentClientError(f"{server} did not answer within {CONNECT_SECONDS:g} seconds.")
    if isinstance(error, httpx2.ConnectError):
        return AgentClientError(_no_connection(error, server))
    if connected:
        return AgentClientError(f"The connection to {server} was lost; whether the tool ran is unknown.")
    return NoServerThereError(server, f"what answers is no HTTP server ({_line(error)})")


def _no_connection(error: Exception, server: str) -> str:
    causes = list(_causes(error))
    tls = next((cause for cause in causes if isinstance(cause, ssl.SSLError)), None)
    if isinstance(tls, ssl.SSLCertVerificationError):
        return f"The certificate of {server} is not trusted: {tls.verify_message}."
    if tls is not None:
        return f"No TLS connection to {server}: {_line(tls)}. Is it http:// instead of https://?"
    if any(isinstance(cause, ConnectionRefusedError) for cause in causes):
        return f"Nobody listens at {server}. Is the server running? openxr-agentic serve starts one."
    system = next((cause for cause in causes if isinstance(cause, OSError) and cause.strerror), None)
    return f"No connection to {server}: {system.strerror if system else _line(error)}."


def _innermost(error: BaseException) -> BaseException:
    inner = getattr(error, "exceptions", ())
    return _innermost(inner[0]) if inner else error


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        for inner in getattr(error, "exceptions", ()):
            yield from _causes(inner)
        error = error.__cause__ or error.__context__


def _line(error: BaseException) -> str:
    """Return an exception's first line, which for some is all that people can read."""
    lines = str(error).strip().splitlines()
    return printable(lines[0].rstrip(".:")) if lines else type(error).__name__
