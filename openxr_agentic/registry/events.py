"""What a registry tells when its tools change, and to whom."""

from __future__ import annotations

import enum
import logging
import threading
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

logger = logging.getLogger("openxr_agentic")


class ChangeKind(enum.Enum):
    """What happened to a tool, as agents see it."""

    ADDED = "added"
    UPDATED = "updated"
    REMOVED = "removed"
    REFRESHED = "refreshed"


class ToolsChanged(NamedTuple):
    """One change of a registry.

    Attributes:
        kind: What happened. Of `REFRESHED`, any number of tools may have changed in any way.
        name: The tool's name; None for `REFRESHED`.
    """

    kind: ChangeKind
    name: str | None = None


class ToolsChangedEvent:
    """Calls its subscribers when tools change: `ToolRegistry.tools_changed`.

    They are called on the thread that made the change, after it is made, and outside of every lock,
    so they may use the registry. Where several threads change one tool at the same time, ask the registry for
    its state (`ToolRegistry.entry`): the order of the calls need not be that of the changes.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # A tuple that is replaced, so that `fire` needs no lock; a list of one callback, so that each
        # subscription is one of its own, even of equal callbacks.
        self._subscribers: tuple[list[Callable[[ToolsChanged], object]], ...] = ()

    def subscribe(self, callback: Callable[[ToolsChanged], object]) -> Callable[[], None]:
        """Have a function called at each change.

        What it raises is logged, and reaches neither the thread that made the change nor other subscribers.

        Args:
            callback: Gets the change. It is kept alive until it is unsubscribed.

        Returns:
            A function that ends the subscription; calling it again does nothing.

        Raises:
            TypeError: `callback` is not callable.
        """
        if not callable(callback):
            raise TypeError(f"A subscriber must be callable, not {callback!r}.")
        subscription = [callback]
        with self._lock:
            self._subscribers = (*self._subscribers, subscription)

        def unsubscribe() -> None:
            with self._lock:
                self._subscribers = tuple(other for other in self._subscribers if other is not subscription)

        return unsubscribe

    def fire(self, change: ToolsChanged) -> None:
        """Tell all subscribers of a change, in the order in which they subscribed."""
        for (callback,) in self._subscribers:
            try:
                callback(change)
            except Exception:  # noqa: PERF203 - each is isolated
                logger.exception("A subscriber of tools_changed failed at %s of %s", change.kind.value, change.name)
