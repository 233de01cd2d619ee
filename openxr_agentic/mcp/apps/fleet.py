"""All apps at once: each tool as ``<app>__<tool>``.

An app's place in the names is its application name, made fit for a tool's name,
and numbered from the second of that name on (``Game``, ``Game_2``). A place that
an app has left is taken by the next app of that name, so a restart changes no
tool's name.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from openxr_agentic.mcp.apps.link import AppLink
from openxr_agentic.mcp.apps.seeker import POLL_SECONDS, Seeker
from openxr_agentic.mcp.apps.source import AppAwayError, Offer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from openxr_agentic.host.channel import CallResult, ChannelClient

log = logging.getLogger(__name__)

SEPARATOR: Final = "__"

MAX_APP_CHARACTERS: Final = 24
"""How much of an app's name stands in front of its tools' names, for which clients have limits."""

MOST_AWAY: Final = 8
"""How many apps that have left keep their tools listed; the one that left first is forgotten first."""


@dataclass
class _Place:
    application: str
    link: AppLink
    taken: bool = True
    left: int = 0
    """When its app left, by a count over all apps."""


class AppFleet:
    """Every app of this user that has a control channel, as they come and go."""

    def __init__(self) -> None:
        self._seeker = Seeker(lambda client: True)
        self._places: dict[str, _Place] = {}
        self._departures = itertools.count(1)
        self._looked = asyncio.Event()
        self._looked.set()  # until `run` begins
        self._offers: dict[str, Offer] = {}
        self._on_changed: list[Callable[[], Awaitable[None]]] = []

    @property
    def offers(self) -> dict[str, Offer]:
        """The tools by ``<app>__<tool>``, app by app; the last known ones of an app that is away."""
        return self._offers

    @property
    def absence(self) -> str:
        """Which apps are away, in words; empty when none is."""
        if not self._places:
            return "No app was found yet."
        away = [name for name, place in self._places.items() if not place.link.connected]
        return f"Not running: {', '.join(away)}." if away else ""

    def comeback_tip(self, name: str) -> str:
        """What an agent can do when the app of a tool is not there."""
        found = self._home(name)
        return found[0].comeback_tip(found[1]) if found else "List the tools again."

    def on_changed(self, callback: Callable[[], Awaitable[None]]) -> None:
        """Await `callback` whenever `offers` has become another mapping."""
        self._on_changed.append(callback)

    async def refresh(self, name: str | None = None) -> bool:
        """Have `offers` agree with what the apps, or that of one tool, have registered now; see `ToolSource`."""
        await self._looked.wait()
        if name is not None:
            return (found := self._home(name)) is None or await found[0].refresh()
        return all(await asyncio.gather(*(place.link.refresh() for place in self._places.values())))

    async def call(self, name: str, arguments: str, timeout: float) -> CallResult:
        """Have the app of a tool run it: see `AppLink.call`."""
        if (found := self._home(name)) is None:
            raise AppAwayError(f"No app offers {name} any more.")
        link, tool = found
        return await link.call(tool, arguments, timeout)

    async def run(self) -> None:
        """Find apps, follow each, and keep its place for when it comes back. Never returns."""
        log.info("serving every app that is started with OPENXR_AGENTIC_CHANNEL=1 on a host of this package")
        following: set[asyncio.Task[None]] = set()
        self._looked.clear()
        try:
            while True:
                for client in await self._seeker.look():
                    self._seeker.settle(client)
                    task = asyncio.ensure_future(self._follow(client, self._take_place(client)))
                    following.add(task)
                    task.add_done_callback(following.discard)
                self._looked.set()
                await asyncio.sleep(POLL_SECONDS)
        finally:
            self._looked.set()
            for task in following:
                task.cancel()
            await asyncio.gather(*following, return_exceptions=True)

    def _take_place(self, client: ChannelClient) -> str:
        """Return the place of an app of that name that has left, or a new one."""
        application = client.application_name
        for name, place in self._places.items():
            if place.application == application and not place.taken:
                place.taken = True
                place.link.expect()
                return name
        base = _fit_for_a_name(application)
        numbered = (f"{base}_{number}" for number in itertools.count(2))
        name = next(name for name in itertools.chain((base,), numbered) if name not in self._places)
        self._places[name] = place = _Place(application, AppLink(place=name))
        place.link.on_changed(self._gather_offers)
        place.link.expect()
        return name

    async def _follow(self, client: ChannelClient, name: str) -> None:
        place = self._places[name]
        await place.link.follow(client)
        place.taken = False
        place.left = next(self._departures)
        self._seeker.forget(client)
        log.info("%s went away; its tools stay listed until it is back", name)
        away = sorted((each.left, each_name) for each_name, each in self._places.items() if not each.taken)
        if len(away) > MOST_AWAY:
            del self._places[away[0][1]]
            await self._gather_offers()

    async def _gather_offers(self) -> None:
        self._offers = {
            f"{name}{SEPARATOR}{tool}": offer
            for name, place in self._places.items()
            for tool, offer in place.link.offers.items()
        }
        for callback in self._on_changed:
            await callback()

    def _home(self, name: str) -> tuple[AppLink, str] | None:
        """Return the link and the own name of a tool."""
        if (offer := self._offers.get(name)) is None:
            return None
        place = name.partition(SEPARATOR)[0]  # no place has a separator in it, nor ends with half of one
        return self._places[place].link, offer.tool.name


def _fit_for_a_name(application_name: str) -> str:
    fit = re.sub(r"[^A-Za-z0-9-]+", "_", application_name).strip("_-")
    return fit[:MAX_APP_CHARACTERS].rstrip("_-") or "app"
