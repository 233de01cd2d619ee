"""Where the server's tools come from: one app (`AppLink`), or all there are (`AppFleet`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from openxr_agentic.errors import AgenticError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from openxr_agentic.host.channel import CallResult, Tool


class AppAwayError(AgenticError, ConnectionError):
    """The app is not there (yet, or any more)."""


class Offer(NamedTuple):
    """A tool that an app offers.

    Attributes:
        app: What the app calls itself.
        tool: The tool as the app sent it.
    """

    app: str
    tool: Tool


class ToolSource(Protocol):
    """What the server needs of the connection to its apps."""

    @property
    def offers(self) -> Mapping[str, Offer]:
        """The tools by the name that agents see; another mapping whenever anything in it has changed.

        The last known ones while an app is away.
        """

    @property
    def absence(self) -> str:
        """Why there may be fewer tools than expected, in words; empty when all is there."""

    async def refresh(self, name: str | None = None) -> bool:
        """Have `offers` agree with what the apps have registered now.

        The first time, it waits a moment for an app that is just being found.

        Args:
            name: One of `offers`: only its app is asked, so that no other holds this up. None: all are.

        Returns:
            Whether they do; False: an app does not answer in time.
        """

    async def call(self, name: str, arguments: str, timeout: float) -> CallResult:
        """Have the app run a tool; cancelling the awaiting task withdraws the call.

        Args:
            name: One of `offers`.
            arguments: A JSON object.
            timeout: Seconds until the call is given up.

        Raises:
            AppAwayError: The app is not there, or left before it answered.
            FrameError: The name or the arguments cannot be passed on.
            ChannelError: The app has an answer that cannot be passed on, or none in time.
        """

    def comeback_tip(self, name: str) -> str:
        """What an agent can do when the app of a tool is not there."""

    def on_changed(self, callback: Callable[[], Awaitable[None]]) -> None:
        """Await `callback` whenever `offers` has become another mapping."""

    async def run(self) -> None:
        """Find the apps, follow their tools, and find them again when they were away. Never returns."""
