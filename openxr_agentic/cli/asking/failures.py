"""Why an MCP server gave no answer, in one line for people.

The official client reports a failure from wherever it happened: as an exception, as one inside nested groups of its
tasks, or as an answer that it made up in place of an HTTP status.
"""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Final

import httpx2
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, INTERNAL_ERROR, METHOD_NOT_FOUND, REQUEST_TIMEOUT
from pydantic import ValidationError

from openxr_agentic.cli.console import printable
from openxr_agentic.errors import AgenticError
from openxr_agentic.mcp.transports.access import TOKEN_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Iterator

CONNECT_SECONDS: Final = 10.0
"""How long it may take until a server has greeted."""

_UNAUTHORIZED: Final = 401
_FORBIDDEN: Final = 403

# What the client makes up where an HTTP status took the place of an answer.
_MADE_UP: Final = {(INTERNAL_ERROR, "Server returned an error response"), (METHOD_NOT_FOUND, "Not Found")}


class AgentClientError(AgenticError, ConnectionError):
    """A server could not be reached, or gave no answer to what was asked."""


class NoServerThereError(AgentClientError):
    """Somebody answers at that URL, but no MCP server; it may be at another path."""


def in_words(failure: Exception, server: str, *, connected: bool, status: int) -> AgenticError:
    """Return what to tell people of what the client raised.

    Args:
        failure: What it raised; an error of this library stays as it is.
        server: What the server is called in messages.
        connected: Whether the server had greeted.
        status: The last failing HTTP status; 0: there was none.
    """
    error = _innermost(failure)
    if isinstance(error, AgenticError):
        return error
    if isinstance(error, httpx2.HTTPStatusError) or (isinstance(error, MCPError) and _is_made_up(error) and status):
        return _of_status(status, server, connected=connected)
    if isinstance(error, MCPError):
        return _of_answer(error, server, connected=connected)
    if isinstance(error, httpx2.TransportError) and not isinstance(error, httpx2.SSEError):
        return _of_transport(error, server, connected=connected)
    if connected:
        what = (
            "answered with what the protocol forbids" if isinstance(error, ValidationError) else "gave no usable answer"
        )
        return AgentClientError(f"{server} {what}: {_line(error)}.")
    return NoServerThereError(f"What answers at {server} is no MCP server ({_line(error)}).")


def _is_made_up(error: MCPError) -> bool:
    return (error.code, error.message) in _MADE_UP


def _of_status(status: int, server: str, *, connected: bool) -> AgentClientError:
    if status == _UNAUTHORIZED:
        return AgentClientError(
            f"{server} wants a token, or another one (HTTP 401). Give it with --token-file FILE or in {TOKEN_VARIABLE}."
        )
    if status == _FORBIDDEN:
        return AgentClientError(f"{server} does not let this client in (HTTP 403).")
    if connected:
        return AgentClientError(f"{server} failed to answer (HTTP {status}); whether the tool ran is unknown.")
    return NoServerThereError(f"There is no MCP server at {server} (HTTP {status}).")


def _of_answer(error: MCPError, server: str, *, connected: bool) -> AgentClientError:
    if not connected:
        return NoServerThereError(f"What answers at {server} is no MCP server ({_line(error)}).")
    if error.code == CONNECTION_CLOSED:
        return AgentClientError(f"{server} closed the connection before it answered; whether the tool ran is unknown.")
    if error.code == REQUEST_TIMEOUT:
        return AgentClientError(f"{server} gave up on the call: {_line(error)}.")
    return AgentClientError(printable(error.message))


def _of_transport(error: httpx2.TransportError, server: str, *, connected: bool) -> AgentClientError:
    if isinstance(error, httpx2.TimeoutException):
        return AgentClientError(f"{server} did not answer within {CONNECT_SECONDS:g} seconds.")
    if isinstance(error, httpx2.ConnectError):
        return AgentClientError(_no_connection(error, server))
    if connected:
        return AgentClientError(f"The connection to {server} was lost; whether the tool ran is unknown.")
    return NoServerThereError(f"What answers at {server} is no HTTP server ({_line(error)}).")


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
