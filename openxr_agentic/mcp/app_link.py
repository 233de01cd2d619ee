"""The connection to one app: found by its control channel, lost, and found again.

An app comes and goes while an agent stays connected. So the link keeps the
last list of tools while the app is away, says so to whoever calls one, and
looks for the app until it is back.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from openxr_agentic.errors import AgenticError
from openxr_agentic.host.channel import (
    App,
    CallResult,
    ChannelClient,
    ChannelClosedError,
    ChannelError,
    Tool,
    find_apps,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sized

log = logging.getLogger(__name__)

POLL_SECONDS: Final = 0.2
"""How often an app that is not there is looked for."""

HELLO_SECONDS: Final = 2.0
"""How long an app may take to say hello before the search goes on without it."""


class AppAwayError(AgenticError, ConnectionError):
    """The app is not there (yet, or any more)."""


class SeveralAppsError(AgenticError, LookupError):
    """More than one app fits what was asked for."""


class AppLink:
    """One app, chosen by name or process id, for as long as the server lives.

    Args:
        wanted: A process id in digits, or an app's name or channel label. None
            takes the only app there is; from then on that one is wanted.
        ends_with_app: The server ends when the app does, as under ``run``: then
            nobody is told to wait for a restart.
    """

    def __init__(self, wanted: str | None = None, *, ends_with_app: bool = False) -> None:
        self._wanted = wanted
        self._ends_with_app = ends_with_app
        self._met = False
        self._client: ChannelClient | None = None
        self._complaint = ""
        self._others: set[App] = set()
        self._tools: dict[str, Tool] = {}
        self._on_tools_changed: list[Callable[[], Awaitable[None]]] = []

    @property
    def tools(self) -> dict[str, Tool]:
        """The tools by name, in the order of registration; the last known ones while the app is away."""
        return self._tools

    @property
    def connected(self) -> bool:
        """Whether the app is there."""
        return self._client is not None

    @property
    def comeback_tip(self) -> str:
        """What an agent can do about an app that is not there."""
        if self._ends_with_app:
            return (
                "This server ends with the app. If the app is not back soon, have the user start both again "
                "(openxr-agentic run -- COMMAND)."
            )
        return "Its tools come back when the app is started again."

    def on_tools_changed(self, callback: Callable[[], Awaitable[None]]) -> None:
        """Await `callback` whenever `tools` has become another list."""
        self._on_tools_changed.append(callback)

    async def call(self, tool: str, arguments: str) -> CallResult:
        """Have the app run a tool; cancelling the awaiting task withdraws the call.

        Args:
            tool: The tool's name, whether or not it is in `tools`: the app knows best.
            arguments: A JSON object.

        Raises:
            AppAwayError: The app is not there, or left before it answered.
            FrameError: The name or the arguments cannot be passed on.
            ChannelError: The app has an answer that cannot be passed on.
        """
        client = self._client
        if client is None:
            raise AppAwayError(self._absence())
        try:
            return await client.call(tool, arguments)
        except ChannelClosedError as error:
            raise AppAwayError("The app left before it answered; whether the tool ran is unknown.") from error

    def _absence(self) -> str:
        if self._complaint:
            return self._complaint
        if self._ends_with_app:  # its label was made up for it, and says nothing to anybody
            return "The app has closed its OpenXR instance." if self._met else "The app offers no tools yet."
        name = f" {self._wanted}" if self._wanted else ""
        return f"The app{name} is not running." if self._met else f"No app{name} was found yet."

    async def run(self) -> None:
        """Find the app, follow its list of tools, and begin again when it leaves. Never returns."""
        while True:
            client = await self._wait_for_app()
            try:
                await self._follow(client)
            except ChannelClosedError:
                pass  # it left while it was asked for its list: that is no fault
            except ChannelError as error:
                log.warning("lost %s: %s", client.application_name, error)
            finally:
                self._client = None
                await client.close()
            if not self._ends_with_app:
                log.info(
                    "%s went away; its %s listed until it is back",
                    client.application_name,
                    _tools_that(self._tools, "stays", "stay"),
                )
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
                    log.info(
                        "waiting for %s: start %s with OPENXR_AGENTIC_CHANNEL=1 on the mock runtime, "
                        "or use: openxr-agentic run -- COMMAND",
                        f"the app {self._wanted}" if self._wanted else "an app",
                        "it" if self._wanted else "one",
                    )
            except SeveralAppsError as error:
                complaint = str(error)
                if complaint != self._complaint:
                    log.warning("%s", complaint)
            finally:
                self._complaint = complaint
            await asyncio.sleep(POLL_SECONDS)

    async def _find(self) -> ChannelClient | None:
        """Look once, and return a connection to the app, or None when it is not there.

        Raises:
            SeveralAppsError: More than one app fits; none stays connected.
        """
        apps = find_apps()
        self._others.intersection_update(apps)
        found: list[ChannelClient] = []
        for app in apps:
            if app in self._others or (client := await _connect(app)) is None:
                continue
            if self._fits(client):
                found.append(client)
            else:
                # What an app is called does not change: it is asked only once.
                self._others.add(app)
                await client.close()
        if len(found) > 1:
            names = ", ".join(f"{client.application_name} ({client.pid})" for client in found)
            for client in found:
                await client.close()
            raise SeveralAppsError(f"Several apps offer tools: {names}. Choose one by name or process id with --app.")
        return found[0] if found else None

    def _fits(self, client: ChannelClient) -> bool:
        return self._wanted in (None, str(client.pid), client.label, client.application_name)

    async def _follow(self, client: ChannelClient) -> None:
        changed = asyncio.Event()
        client.on_changed(changed.set)
        await self._relist(client)
        if self._wanted is None:
            # Another app that starts while this one is away must not take its place unasked.
            self._wanted = client.label or client.application_name or None
        self._client = client
        self._met = True
        # Not how many tools: an app registers them while it starts.
        log.info("connected to %s (process %d, %s)", client.application_name, client.pid, client.host)
        while not client.closed.done():
            waiting = asyncio.ensure_future(changed.wait())
            await asyncio.wait((waiting, client.closed), return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()
            if changed.is_set():
                changed.clear()
                await self._relist(client)

    async def _relist(self, client: ChannelClient) -> None:
        tools = {tool.name: tool for tool in await client.list_tools()}
        # Order counts: a client shows the tools as they are listed.
        if list(tools.items()) != list(self._tools.items()):
            self._tools = tools
            for callback in self._on_tools_changed:
                await callback()


def _tools_that(tools: Sized, one: str = "", several: str = "") -> str:
    """Return the number of tools in words, with the verb that goes with it."""
    return f"1 tool {one}".rstrip() if len(tools) == 1 else f"{len(tools)} tools {several}".rstrip()


async def _connect(app: App) -> ChannelClient | None:
    try:
        return await asyncio.wait_for(ChannelClient.connect(app.path), HELLO_SECONDS)
    except (ChannelError, OSError, asyncio.TimeoutError) as error:
        # Left behind by a crash, of another version, or stopped in a debugger.
        log.debug("process %d does not answer: %s", app.pid, error)
        return None
