"""Which tools are offered to agents now: what the user decided, and the app's filters."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from openxr_agentic.registry.entries import info_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from openxr_agentic.definition.tool import Tool
    from openxr_agentic.registry.entries import ToolInfo
    from openxr_agentic.registry.settings import Choices

logger = logging.getLogger("openxr_agentic")


class Offer:
    """Decides of each tool whether agents may call it now. Usable from any thread.

    Args:
        user: What the user decided.
    """

    def __init__(self, user: Choices) -> None:
        self.user = user
        self._lock = threading.Lock()
        self._filters: tuple[_Filter, ...] = ()

    def is_enabled(self, tool: Tool) -> bool:
        """Tell whether a tool is enabled: by the user, else by default."""
        return self.user.choices.get(tool.name, tool.enabled_by_default)

    def passes(self, tool: Tool) -> bool:
        """Tell whether a tool passes all filters."""
        filters = self._filters
        if not filters:
            return True
        info = info_of(tool)
        return all(one.passes(info) for one in filters)

    def refusal(self, tool: Tool) -> str | None:
        """Return why a tool is not offered; None: it is."""
        if not self.is_enabled(tool):
            return "it is disabled"
        if not self.passes(tool):
            return "the app does not offer it at the moment"
        return None

    def add_filter(self, predicate: Callable[[ToolInfo], object]) -> Callable[[], bool]:
        """Add a filter.

        Returns:
            A function that removes it; it returns whether it was still there.
        """
        added = _Filter(predicate)
        with self._lock:
            self._filters = (*self._filters, added)

        def remove() -> bool:
            with self._lock:
                there = added in self._filters
                self._filters = tuple(one for one in self._filters if one is not added)
            return there

        return remove


class _Filter:
    def __init__(self, predicate: Callable[[ToolInfo], object]) -> None:
        self._predicate = predicate
        self._failed = False

    def passes(self, info: ToolInfo) -> bool:
        """Tell what the predicate says. Where it fails the tool is hidden: it may be there to keep agents off."""
        try:
            return bool(self._predicate(info))
        except Exception:
            if not self._failed:
                self._failed = True
                logger.exception(
                    "The filter %r failed at tool %s; it hides each tool at which it fails. This is logged once.",
                    self._predicate,
                    info.name,
                )
            return False
