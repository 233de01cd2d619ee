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

HELLO_SECONDS: Final = 2.0
"""How long an app may take to say hello before the search goes on without it."""


class Seeker:
    """Finds apps by their control channels.

    Args:
        fits: Whether an app is one that is looked for.
    """

    def __init__(self, fits: Callable[[ChannelClient], bool]) -> None:
        self._fits = fits
        self._settled: set[Path] = set()

    async def look(self) -> list[ChannelClient]:
        """Return a connection to each app that fits and was not settled before."""
        apps = find_apps()
        # What has gone may come back as another app, under the same process id.
        self._settled.intersection_update(app.path for app in apps)
        found = []
        for app in apps:
            if app.path in self._settled or (client := await _connect(app)) is None:
                continue
            if self._fits(client):
                found.append(client)
            else:
                self._settled.add(app.path)
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
        return await asyncio.wait_for(ChannelClient.connect(app.path), HELLO_SECONDS)
    except (ChannelError, OSError, asyncio.TimeoutError) as error:
        # Left behind by a crash, of another version, or stopped in a debugger.
        log.debug("process %d does not answer: %s", app.pid, error)
        return None
