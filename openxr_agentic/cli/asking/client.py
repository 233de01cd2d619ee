"""Asks an MCP server, or an app without one, as an agent does; every failure becomes one readable line.

The official client reports a failure from wherever it happened: as the exception, as one inside nested groups, or
as an answer that it made up. `ask` brings all of them to one `AgentClientError`.
"""

from __future__ import annotations

import asyncio
import logging
import math
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

import anyio
import click
import httpx2
from mcp import Client
from mcp.client import sse
from mcp.client.streamable_http import streamable_http_client
from mcp_types import EmptyResult, Implementation, PingRequest
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from openxr_agentic import __version__
from openxr_agentic.cli.asking.apps import require_answer
from openxr_agentic.cli.asking.failures import (
    CONNECT_SECONDS,
    AgentClientError,
    NoServerThereError,
    Said,
    in_words,
    nobody_there,
)
from openxr_agentic.cli.asking.targets import is_loopback
from openxr_agentic.cli.serving.processes import on_end_signals
from openxr_agentic.mcp.apps.link import AppLink
from openxr_agentic.mcp.server import AgentServer

if TYPE_CHECKING:
    import signal
    from collections.abc import AsyncIterator, Awaitable, Callable
    from contextlib import AbstractAsyncContextManager

    from openxr_agentic.cli.asking.apps import FoundApp
    from openxr_agentic.cli.asking.targets import Endpoint, Target

T = TypeVar("T")

_FAREWELL_SECONDS: Final = 2.0
"""How long a server may take to confirm that a call is withdrawn."""

_FIRST_FAILURE: Final = 400
_MOST_SAID_BYTES: Final = 4096

CLIENT_INFO: Final = Implementation(name="openxr-agentic", version=__version__)
"""What servers are told of who asks."""

_PROBE_SECONDS: Final = 0.2


def ask(
    target: Target,
    question: Callable[[Client], Awaitable[T]],
    seconds: float,
    withdrawn: Callable[[], str] = str,
) -> T:
    """Connect, ask, and leave.

    Ctrl-C and other signals that end a command withdraw the question at the server first.

    Args:
        target: Who is asked.
        question: What is asked: it gets a connected client.
        seconds: How long the answer may take.
        withdrawn: What to add where people are told that the question was given up: what becomes of it.

    Returns:
        What `question` returned.

    Raises:
        AgentClientError: It could not be asked, or did not answer.
        Exit: A signal ended the command; with the exit code that a shell gives it.
        Exception: Another error of this library that `question` raised.
    """
    # They would log, with tracebacks, what is told here in one line.
    for name in ("mcp", "httpx2", "httpcore2", "anyio", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    logging.getLogger("openxr_agentic").setLevel(logging.WARNING)
    return asyncio.run(_ask(target, question, seconds, withdrawn))


async def _ask(
    target: Target,
    question: Callable[[Client], Awaitable[T]],
    seconds: float,
    withdrawn: Callable[[], str] = str,
) -> T:
    if target.app is not None:
        exchange = _Exchange(target.name, seconds, withdrawn)
        return await exchange.hold(_app_itself(target.app), question)
    misses: list[NoServerThereError] = []
    for endpoint in target.endpoints:
        exchange = _Exchange(endpoint.url, seconds, withdrawn)
        try:
            return await exchange.hold(_server(endpoint, target.token, exchange), question)
        except NoServerThereError as error:
            misses.append(error)
    raise nobody_there(misses)


@asynccontextmanager
async def _app_itself(app: FoundApp) -> AsyncIterator[Client]:
    link = AppLink(str(app.pid))
    following = asyncio.ensure_future(link.run())
    losing = asyncio.ensure_future(_until_lost(app))
    try:
        while not link.connected:  # the link has no event for it, and waits for an app that has gone
            if losing.done():
                losing.result()
            await asyncio.sleep(0.005)
        losing.cancel()
        async with Client(AgentServer(link), client_info=CLIENT_INFO) as client:
            yield client
    finally:
        for task in (following, losing):
            task.cancel()
        await asyncio.gather(following, losing, return_exceptions=True)


async def _until_lost(app: FoundApp) -> None:
    """Look at an app until it does not answer, which is an error that says so."""
    while True:
        await require_answer(app)
        await asyncio.sleep(_PROBE_SECONDS)


@asynccontextmanager
async def _server(endpoint: Endpoint, token: str | None, exchange: _Exchange) -> AsyncIterator[Client]:
    def http_client(
        headers: dict[str, str] | None = None, timeout: httpx2.Timeout | None = None, auth: httpx2.Auth | None = None
    ) -> httpx2.AsyncClient:
        if token is not None:
            headers = {**(headers or {}), "Authorization": f"Bearer {token}"}
        return httpx2.AsyncClient(
            headers=headers,
            auth=auth,
            timeout=httpx2.Timeout(CONNECT_SECONDS, read=None),  # how long an answer may take is not its matter
            # A proxy from the environment is for other machines, and must not see a token for this one.
            trust_env=not is_loopback(endpoint.url),
            event_hooks={"response": [exchange.note_status]},
        )

    if endpoint.sse:
        _lift_limit_of_sse()
        async with Client(
            sse.sse_client(endpoint.url, httpx_client_factory=http_client), client_info=CLIENT_INFO
        ) as client:
            yield client
    else:
        async with (
            http_client() as http,
            # An answer may be of any size: what an app gives back is not cut on its way.
            Client(
                streamable_http_client(endpoint.url, http_client=http, max_sse_event_size=None),
                client_info=CLIENT_INFO,
            ) as client,
        ):
            yield client


def _lift_limit_of_sse() -> None:
    """Take answers of any size over HTTP+SSE too, which the package cuts off at 1 MiB: a screenshot may be larger.

    It has a parameter for that at the other transport only; a version that is made otherwise keeps its limit.
    """
    connect = getattr(sse, "sse_within_origin", None)
    if connect is not None:
        sse.sse_within_origin = partial(connect, max_event_size=None)  # type: ignore[attr-defined]


class _Exchange:
    """One connection, one question.

    Args:
        name: Whom it is with, for messages.
        seconds: How long the answer may take.
        withdrawn: As for `ask`.
    """

    def __init__(self, name: str, seconds: float, withdrawn: Callable[[], str] = str) -> None:
        self._name = name
        self._seconds = seconds
        self._withdrawn = withdrawn
        self._status = 0
        self._said = ""
        self._connected = False
        self._signal: signal.Signals | None = None
        self._whole = anyio.CancelScope()
        self._asking: anyio.CancelScope | None = None

    async def note_status(self, response: httpx2.Response) -> None:
        """Keep a failing HTTP status and the text that came with it, of which the client does not tell."""
        if response.status_code < _FIRST_FAILURE:
            return
        self._status, self._said = response.status_code, ""
        length = response.headers.get("content-length", "")
        is_text = response.headers.get("content-type", "").partition(";")[0].strip() == "text/plain"
        # Only where it is known to be short: whoever answers may never end.
        if is_text and length.isascii() and length.isdecimal() and int(length) <= _MOST_SAID_BYTES:
            await response.aread()
            self._said = response.text

    async def hold(
        self, connection: AbstractAsyncContextManager[Client], question: Callable[[Client], Awaitable[T]]
    ) -> T:
        """Enter a connection, ask, and leave it.

        Raises:
            AgenticError: Why there is no answer, in words.
            Exit: A signal came.
        """
        answers: list[T] = []
        failure: Exception | None = None
        with on_end_signals(self._end), self._whole:
            self._whole.deadline = anyio.current_time() + CONNECT_SECONDS
            try:
                async with connection as client:
                    self._connected, self._whole.deadline = True, math.inf
                    # A question's own exceptions must not go through the client: it would wrap them in groups.
                    failure = await self._put(client, question, answers)
            except Exception as error:  # noqa: BLE001 - whatever the client raises is told in words
                failure = failure or error
        if self._signal is not None:
            raise _ended_by(self._signal, self._withdrawn() if self._connected else "")
        if answers:
            return answers[0]
        if failure is None:
            if not self._connected:
                raise AgentClientError(f"{self._name} did not greet within {CONNECT_SECONDS:g} seconds.")
            raise AgentClientError(
                " ".join(filter(None, (f"{self._name} gave no answer within {self._seconds:g} s.", self._withdrawn())))
            )
        said = Said(self._status, self._said)
        raise in_words(failure, self._name, connected=self._connected, said=said) from failure

    async def _put(
        self, client: Client, question: Callable[[Client], Awaitable[T]], answers: list[T]
    ) -> Exception | None:
        failure: Exception | None = None
        with anyio.move_on_after(self._seconds) as self._asking:
            try:
                answers.append(await question(client))
            except Exception as error:  # noqa: BLE001 - told in words once the connection is left
                failure = error
        if self._asking.cancelled_caught:
            await _let_it_arrive(client)
        return failure

    def _end(self, number: signal.Signals) -> None:
        """Take a signal: the first one withdraws the question, the next one leaves at once."""
        again, self._signal = self._signal is not None, number
        if self._asking is None or again:
            self._whole.cancel()
        else:
            self._asking.cancel()


async def _let_it_arrive(client: Client) -> None:
    """Wait until the server has read that the question is withdrawn; leaving at once could overtake it.

    Servers of the later era see the connection end. To those of the handshake era it is a message of its own, and
    the answer to a ping that follows it says that it was read.
    """
    if client.protocol_version in MODERN_PROTOCOL_VERSIONS:
        return
    with suppress(Exception), anyio.move_on_after(_FAREWELL_SECONDS):
        await client.session.send_request(PingRequest(), EmptyResult)


def _ended_by(number: signal.Signals, withdrawn: str) -> click.exceptions.Exit:
    click.echo(" ".join(filter(None, ("openxr-agentic: interrupted.", withdrawn))), err=True)
    return click.exceptions.Exit(128 + number)
