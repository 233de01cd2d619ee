"""Looks for running apps, and asks each of them only once what it is called."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from openxr_agentic.host.channel import App, ChannelClient, ChannelError, find_apps

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

log = logging.getLogger(__name__)

POLL_SECONDS: Final = 0.2
"""How often an app that is not there is looked for."""

HELLO_SECONDS: Final = 0.5
"""How long an app may take to say hello before the search goes on without it; it may still say it later."""


class Seeker:
    """Finds apps by their control channels.

    Args:
        fits: Whether an app is one that is looked for.
    """

    def __init__(self, fits: Callable[[ChannelClient], bool]) -> None:
        self._fits = fits
        self._settled: set[Path] = set()
        self._asked: dict[Path, asyncio.Task[ChannelClient | None]] = {}

    async def look(self) -> list[ChannelClient]:
        """Return a connection to each app that fits and was not settled before.

        All are asked at the same time. One that does not answer in time, as it is stopped in a debugger, holds up
        this search only: later ones find its answer when it has come.
        """
        apps = find_apps()
        # What has gone may come back as another app, under the same process id.
        self._settled.intersection_update(app.path for app in apps)
        new = [app for app in apps if app.path not in self._settled and app.path not in self._asked]
        asked = {app.path: asyncio.ensure_future(_connect(app)) for app in new}
        self._asked |= asked
        if asked:
            await asyncio.wait(asked.values(), timeout=HELLO_SECONDS)
        found = []
        for path in [path for path, task in self._asked.items() if task.done()]:
            client = self._asked.pop(path).result()
            if client is None or client.closed.done():
                continue  # it is none, or has come and gone since the last search
            if self._fits(client):
                found.append(client)
            else:
                self._settled.add(path)
                await client.close()
        return found

    def settle(self, client: ChannelClient) -> None:
        """Do not look at this client's app again, until `forget` or its end."""
        self._settled.add(client.path)

    def forget(self, client: ChannelClient) -> None:
        """Look at this client's app again."""
        self._settled.discard(client.path)


async def _connect(app: App) -> ChannelClient | None:
    try:
        return await ChannelClient.connect(app.path)
    except (ChannelError, OSError) as error:
        # Left behind by a crash, or of another version.
        log.debug("process %d does not answer: %s", app.pid, error)
        return None
