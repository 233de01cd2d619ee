"""Which MCP server a command asks: a URL, an app's control channel, or what runs on this machine.

Nothing here imports the ``mcp`` package, so that a wrong option is answered at once.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlsplit

from openxr_agentic.cli.asking.apps import HOW_TO_START, FoundApp, NoSuchAppError, look_for_apps, the_app
from openxr_agentic.cli.console import printable, stderr_console
from openxr_agentic.errors import AgenticError, ConfigurationError
from openxr_agentic.host.channel import channel_problem
from openxr_agentic.mcp.transports.access import TOKEN_VARIABLE
from openxr_agentic.mcp.transports.ports import HTTP_PATH, LOOPBACK, SSE_PATH, choose_port

if TYPE_CHECKING:
    from collections.abc import Mapping

_PROBE_SECONDS: Final = 1.0

_ELSEWHERE: Final = "A server elsewhere is named with --url."


class NobodyServesError(AgenticError, ConnectionError):
    """There is neither a server nor one app to ask."""


class Endpoint(NamedTuple):
    """Where a server may be found.

    Attributes:
        url: Its URL.
        sse: Whether it is HTTP+SSE; else it is streamable HTTP.
    """

    url: str
    sse: bool


class Target(NamedTuple):
    """What a command asks: a server, or an app without one.

    Attributes:
        endpoints: Where the server may be; they are tried in order. Empty: an app is asked.
        app: The app, for its process id.
        token: Sent to the server as a bearer token; None: there is none.
    """

    endpoints: tuple[Endpoint, ...] = ()
    app: FoundApp | None = None
    token: str | None = None

    @property
    def name(self) -> str:
        """What it is called in messages."""
        if self.app is not None:
            return self.app.title
        return self.endpoints[0].url


def choose_target(
    url: str | None, app: str | None, token_file: str | None, environment: Mapping[str, str] = os.environ
) -> Target:
    """Return what the options mean.

    Without ``--url`` and ``--app`` it is the server on the default port, else the one app that runs.

    Args:
        url: ``--url``.
        app: ``--app``: a process id, an app's name or its label.
        token_file: ``--token-file``.
        environment: Where the token and the port are looked up.

    Raises:
        ConfigurationError: The URL or the token cannot be used.
        NoSuchAppError: No app is called so, or several are.
        NobodyServesError: Neither a server nor one app runs, or this system has no way to ask an app itself.
    """
    token = read_token(token_file, environment)
    if url is not None:
        # Whoever writes the URL decides who gets the token, as with any client.
        return Target(endpoints_of(url), token=token)
    if app is not None:
        if problem := channel_problem():
            raise NobodyServesError(f"{problem} {_ELSEWHERE}")
        return Target(app=the_app(asyncio.run(look_for_apps()), app))
    port = choose_port(environment=environment)
    if port and _somebody_listens(port):
        return Target(endpoints_of(f"http://{LOOPBACK}:{port}"), token=token)
    return _only_app(f"Nothing serves MCP on {LOOPBACK}:{port}" if port else "No port is set")


def _only_app(nobody: str) -> Target:
    if problem := channel_problem():
        raise NobodyServesError(f"{nobody}. {problem} {_ELSEWHERE}")
    found = asyncio.run(look_for_apps())
    answering = [app for app in found if not app.problem]
    if len(answering) == 1:
        target = Target(app=answering[0])
        stderr_console().print(f"openxr-agentic: {nobody}; asking {target.name} itself.", style="dim", markup=False)
        return target
    if answering:
        names = ", ".join(map(str, answering))
        raise NoSuchAppError(f"{nobody}, and several apps run: {names}. Choose one with --app, or a server with --url.")
    if found:
        silent = ", and ".join(f"{app.title} does not answer: {printable(app.problem)}" for app in found)
        raise NobodyServesError(f"{nobody}, and {silent}. {_ELSEWHERE}")
    raise NobodyServesError(f"{nobody}, and no app with a control channel runs. {HOW_TO_START} {_ELSEWHERE}")


def _somebody_listens(port: int) -> bool:
    try:
        socket.create_connection((LOOPBACK, port), _PROBE_SECONDS).close()
    except ConnectionRefusedError:
        return False
    except OSError:
        return True  # somebody is there, and the client will say what is wrong
    return True


def endpoints_of(url: str) -> tuple[Endpoint, ...]:
    """Return where a URL leads: its path tells the transport, and without a path both usual ones are tried.

    Raises:
        ConfigurationError: It is no URL of a server.
    """
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - it raises for one that is none
        usable = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        usable = False
    if not usable:
        if "://" in url or not url:
            advice = f"write it as http://{LOOPBACK}:8720/mcp."
        else:
            advice = f"did you mean http://{f'{LOOPBACK}:{url}' if url.isdecimal() else url}?"
        raise ConfigurationError(f"--url is {url!r}, which is no URL of an MCP server: {advice}")
    if parts.path in ("", "/"):
        origin = f"{parts.scheme}://{parts.netloc}"
        return Endpoint(origin + HTTP_PATH, sse=False), Endpoint(origin + SSE_PATH, sse=True)
    return (Endpoint(url, sse=parts.path.rstrip("/").endswith(SSE_PATH)),)


def is_loopback(url: str) -> bool:
    """Tell whether a URL leads to this very machine."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def read_token(file: str | None, environment: Mapping[str, str] = os.environ) -> str | None:
    """Return the token: that of the file, else of OPENXR_AGENTIC_TOKEN; None: there is none.

    Raises:
        ConfigurationError: There is no such file, or no token in it. The token itself is never in the text.
    """
    if file is None:
        source, text = TOKEN_VARIABLE, environment.get(TOKEN_VARIABLE, "")
        if not text.strip():
            return None
    else:
        source = f"the file {file}"
        try:
            text = Path(file).read_text(encoding="utf-8-sig")
        except OSError as error:
            raise ConfigurationError(f"Cannot read the token from {source}: {error.strerror}.") from error
        except UnicodeDecodeError:
            text = "\0"
    token = text.strip()
    if not token or not all("!" <= character <= "~" for character in token):
        raise ConfigurationError(
            f"There is no usable token in {source}: it must be one line of ASCII characters without spaces."
        )
    return token
