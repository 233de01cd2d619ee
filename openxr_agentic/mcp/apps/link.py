"""The connection to one app: its tools, its calls, and what holds while it is away.

An app comes and goes while an agent stays connected. So the link keeps the
last list of tools while the app is away, says so to whoever calls one, and
looks for the app until it is back.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from openxr_agentic.errors import AgenticError
from openxr_agentic.host.channel import CallResult, ChannelClient, ChannelClosedError, ChannelError
from openxr_agentic.mcp.apps.seeker import POLL_SECONDS, Seeker
from openxr_agentic.mcp.apps.source import AppAwayError, Offer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

log = logging.getLogger(__name__)

REFRESH_SECONDS: Final = 1.0
"""How long an app may take to tell its tools before an agent is told the last ones known."""

LIST_SECONDS: Final = 10.0
"""How long it may take before the connection is given up as broken."""

FIRST_SECONDS: Final = 5.0
"""How long a first list waits for an app that has just been found, or that ``run`` is starting."""


class SeveralAppsError(AgenticError, LookupError):
    """More than one app fits what was asked for."""


class AppLink:
    """One app, chosen by name or process id, for as long as the server lives.

    Args:
        wanted: A process id in digits, or an app's name or channel label. None
            takes the only app there is; from then on that one is wanted.
        ends_with_app: The server ends when the app does, as under ``run``: then
            nobody is told to wait for a restart.
        place: What the app is called among several; empty: it is the only one.
    """

    def __init__(self, wanted: str | None = None, *, ends_with_app: bool = False, place: str = "") -> None:
        self._wanted = wanted
        self._ends_with_app = ends_with_app
        self._place = place
        self._met = False
        self._client: ChannelClient | None = None
        self._complaint = ""
        self._seeker = Seeker(self._fits)
        # Whether there is nothing to wait for before the tools are told; set until `run` begins.
        self._settled = asyncio.Event()
        self._settled.set()
        self._offers: dict[str, Offer] = {}
        self._on_changed: list[Callable[[], Awaitable[None]]] = []

    @property
    def offers(self) -> dict[str, Offer]:
        """The tools by name, in the order of registration; the last known ones while the app is away."""
        return self._offers

    @property
    def met(self) -> bool:
        """Whether the app was there at any time."""
        return self._met

    @property
    def connected(self) -> bool:
        """Whether the app is there."""
        return self._client is not None

    @property
    def absence(self) -> str:
        """Why the app or its tools are not there, in words; empty when they are."""
        if self._client is not None:
            name = self._client.application_name
            return "" if self._offers else f"The app {name} is there, and has registered no tools."
        if self._complaint:
            return self._complaint
        if self._ends_with_app:  # its label was made up for it, and says nothing to anybody
            return "The app has closed its OpenXR instance." if self._met else "The app offers no tools yet."
        name = f" {self._wanted}" if self._wanted else ""
        return f"The app{name} is not running." if self._met else f"No app{name} was found yet."

    def comeback_tip(self, name: str) -> str:
        """What an agent can do about an app that is not there."""
        if self._ends_with_app:
            return (
                "This server ends with the app. If the app is not back soon, have the user start both again "
                "(openxr-agentic run -- COMMAND)."
            )
        return "Its tools come back when the app is started again."

    def on_changed(self, callback: Callable[[], Awaitable[None]]) -> None:
        """Await `callback` whenever `offers` has become another mapping."""
        self._on_changed.append(callback)

    async def refresh(self, name: str | None = None) -> bool:
        """Have `offers` agree with what the app has registered now; return whether it told them in time.

        An app announces changes in batches, a few milliseconds late; and a tool
        can change the list itself. The first time, this waits a moment for an app that is just
        being found or started: there are clients that list once and never again.
        """
        await self._settled.wait()
        client = self._client
        if client is None:
            return True
        try:
            await asyncio.wait_for(self._relist(client), REFRESH_SECONDS)
        except (ChannelError, asyncio.TimeoutError) as error:
            log.debug("%s does not tell its tools: %s", client.application_name, error)
            return False
        return True

    async def call(self, name: str, arguments: str, timeout: float) -> CallResult:
        """Have the app run a tool; cancelling the awaiting task withdraws the call.

        Args:
            name: The tool's name.
            arguments: A JSON object.
            timeout: Seconds until the call is given up.

        Raises:
            AppAwayError: The app is not there, or left before it answered.
            FrameError: The name or the arguments cannot be passed on.
            ChannelError: The app has an answer that cannot be passed on, or none in time.
        """
        client = self._client
        if client is None:
            raise AppAwayError(self.absence)
        try:
            return await client.call(name, arguments, timeout)
        except ChannelClosedError as error:
            raise AppAwayError("The app left before it answered; whether the tool ran is unknown.") from error

    def expect(self) -> None:
        """Have the next `refresh` wait, for a moment, until the app has told its tools."""
        self._settled.clear()
        asyncio.get_running_loop().call_later(FIRST_SECONDS, self._settled.set)

    async def run(self) -> None:
        """Find the app, follow its list of tools, and begin again when it leaves. Never returns."""
        self.expect()
        while True:
            client = await self._wait_for_app()
            await self.follow(client)
            if not self._ends_with_app:
                stays = "1 tool stays" if len(self._offers) == 1 else f"{len(self._offers)} tools stay"
                log.info("%s went away; its %s listed until it is back", client.application_name, stays)
            # One that cannot be talked to would otherwise be tried again at once, for ever.
            await asyncio.sleep(POLL_SECONDS)

    async def _wait_for_app(self) -> ChannelClient:
        said_waiting = self._met or self._ends_with_app  # else something else has been said
        while True:
            complaint = ""
            try:
                if (client := await self._find()) is not None:
                    return client
                if not said_waiting:
                    said_waiting = True
                    log.info("%s", _waiting_for(self._wanted))
            except SeveralAppsError as error:
                complaint = str(error)
                if complaint != self._complaint:
                    log.warning("%s", complaint)
            finally:
                self._complaint = complaint
            if not self._ends_with_app:
                self._settled.set()
            await asyncio.sleep(POLL_SECONDS)

    async def _find(self) -> ChannelClient | None:
        """Look once, and return a connection to the app, or None when it is not there.

        Raises:
            SeveralAppsError: More than one app fits; none stays connected.
        """
        found = await self._seeker.look()
        if len(found) > 1:
            names = ", ".join(f"{client.application_name} ({client.pid})" for client in found)
            for client in found:
                await client.close()
            raise SeveralAppsError(
                f"Several apps offer tools: {names}. Choose one by name or process id with --app, or all with --all."
            )
        return found[0] if found else None

    def _fits(self, client: ChannelClient) -> bool:
        return self._wanted in (None, str(client.pid), client.label, client.application_name)

    async def follow(self, client: ChannelClient) -> None:
        """Be the link to this app until it leaves; then its last tools stay."""
        try:
            await self._follow(client)
        except ChannelClosedError:
            pass  # it left while it was asked for its list: that is no fault
        except ChannelError as error:
            log.warning("lost %s: %s", client.application_name, error)
        finally:
            self._client = None
            self._settled.set()
            await client.close()

    async def _follow(self, client: ChannelClient) -> None:
        changed = asyncio.Event()
        client.on_changed(changed.set)
        await self._relist_in_time(client)
        if self._wanted is None:
            # Another app that starts while this one is away must not take its place unasked. A label may
            # have been made up for this one start.
            self._wanted = client.application_name or client.label or None
        self._client = client
        self._met = True
        # Not how many tools: an app registers them while it starts.
        place = f"{self._place}: " if self._place else ""
        log.info("connected to %s%s (process %d, %s)", place, client.application_name, client.pid, client.host)
        if self._offers or not self._ends_with_app:
            self._settled.set()
        while not client.closed.done():
            waiting = asyncio.ensure_future(changed.wait())
            try:
                await asyncio.wait((waiting, client.closed), return_when=asyncio.FIRST_COMPLETED)
            finally:
                waiting.cancel()
            if changed.is_set():
                changed.clear()
                await self._relist_in_time(client)
                self._settled.set()

    async def _relist_in_time(self, client: ChannelClient) -> None:
        """Ask an app for its list.

        Raises:
            ChannelError: There is no list to be had. An app that cannot be followed is given up, and found again.
        """
        try:
            await asyncio.wait_for(self._relist(client), LIST_SECONDS)
        except asyncio.TimeoutError as error:
            raise ChannelError("it does not tell its tools") from error

    async def _relist(self, client: ChannelClient) -> None:
        offers = {tool.name: Offer(client.application_name, tool) for tool in await client.list_tools()}
        # Order counts: a client shows the tools as they are listed.
        if list(offers.items()) != list(self._offers.items()):
            self._offers = offers
            for callback in self._on_changed:
                await callback()


def _waiting_for(wanted: str | None) -> str:
    if wanted is None or not wanted.isdecimal():
        return (
            f"waiting for {f'the app {wanted}' if wanted else 'an app'}: start {'it' if wanted else 'one'} with "
            "OPENXR_AGENTIC_CHANNEL=1 on the mock runtime or the API layer, or use: openxr-agentic run -- COMMAND"
        )
    # It may have started this server, and be about to make its instance.
    return (
        f"waiting for the app {wanted}: it will be served when process {wanted} has made its OpenXR instance, on the "
        "mock runtime or the API layer and with OPENXR_AGENTIC_CHANNEL=1"
    )
