"""The tools of a registry: which there are, and which of them are offered to agents."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, overload

from openxr_agentic.definition.options import sanitize_tool_name
from openxr_agentic.errors import UnknownGroupError, UnknownToolError
from openxr_agentic.registry.entries import Layer, ToolEntry, ToolInfo, ToolSetting, info_of
from openxr_agentic.registry.events import ChangeKind, ToolsChanged, ToolsChangedEvent
from openxr_agentic.registry.offer import Offer
from openxr_agentic.registry.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from openxr_agentic.registry.advice import Advice
    from openxr_agentic.registry.settings import Change, Choices


class OfferedTools:
    """What `ToolRegistry` knows of its tools; not made alone.

    Args:
        prefix: In front of the tools' names.
        user: What the user decided.

    Attributes:
        prefix: As given.
        tools_changed: Event that tells subscribers of each change.
    """

    def __init__(self, prefix: str, user: Choices) -> None:
        self.prefix = prefix
        self.tools_changed = ToolsChangedEvent()
        self._offer = Offer(user)
        # Held for each change of the table, and for looking at more than one name of it.
        self._lock = threading.RLock()
        self._table = Table()
        user.subscribe(self._choices_changed)

    # ---- what there is

    def has_tool(self, name: str) -> bool:
        """Tell whether there is a tool of that name, enabled or not."""
        return self._find(name) is not None

    def entry(self, name: str) -> ToolEntry | None:
        """Return a tool and its state, as they are now.

        Args:
            name: The name for agents, whole.

        Returns:
            None: no tool has that name.
        """
        layer = self._table.top(name)
        return self._entry(layer) if layer is not None else None

    def entries(self) -> list[ToolEntry]:
        """Return all tools and their state, sorted by name."""
        return [self._entry(layer) for layer in self._tops()]

    def available_tools(self, ignore_enabled_state: bool = False) -> list[ToolInfo]:
        """Return what clients are told of the tools that are offered to agents, sorted by name.

        Args:
            ignore_enabled_state: Those too that are disabled. Filters count all the same.
        """
        return [
            info_of(layer.tool)
            for layer in self._tops()
            if (ignore_enabled_state or self._offer.is_enabled(layer.tool)) and self._offer.passes(layer.tool)
        ]

    def settings(self) -> list[ToolSetting]:
        """Return every tool with its enabled state, past all filters, sorted by name: for a page of settings."""
        choices = self._offer.user.choices
        return [
            ToolSetting(
                tool.name,
                tool.title,
                tool.description,
                tool.groups,
                choices.get(tool.name, tool.enabled_by_default),
                tool.enabled_by_default,
                choices.get(tool.name),
            )
            for tool in (layer.tool for layer in self._tops())
        ]

    def groups(self) -> dict[str, list[str]]:
        """Return the names of the tools of each group, both sorted."""
        found: dict[str, list[str]] = {}
        for layer in self._tops():
            for group in layer.tool.groups:
                found.setdefault(group, []).append(layer.tool.name)
        return dict(sorted(found.items()))

    def check(
        self, *, server_name: str | None = None, client_prefixes: Mapping[str, int] | None = None
    ) -> list[Advice]:
        """Look for what agents or their clients may stumble over in the tools that are offered.

        Args:
            server_name: Name of the MCP server in clients' settings. None: as this package's own is called.
            client_prefixes: What clients put in front of names, and how long the whole may be. None: of known clients.

        Returns:
            What to mend, or could be better; `advice.report` makes a text of it.
        """
        from openxr_agentic.registry import advice

        return advice.check(
            [entry.tool for entry in self.entries() if entry.refusal is None],
            server_name=advice.SERVER_NAME if server_name is None else server_name,
            client_prefixes=advice.CLIENT_PREFIXES if client_prefixes is None else client_prefixes,
        )

    # ---- which are offered

    def is_enabled(self, name: str) -> bool:
        """Tell whether a tool is enabled: by the user, else by default.

        Raises:
            UnknownToolError: There is no tool of that name.
        """
        return self._offer.is_enabled(self._known(name).tool)

    @overload
    def set_enabled(self, name: str, enabled: bool | None) -> None: ...

    @overload
    def set_enabled(self, *, group: str, enabled: bool | None) -> None: ...

    def set_enabled(self, name: str | None = None, enabled: bool | None = None, *, group: str | None = None) -> None:
        """Take, and keep, what the user decided of a tool, or of all that are in a group now.

        It counts for whatever tool has that name, also when the present one is removed and comes back.

        Args:
            name: The tool's name.
            enabled: True, False, or None for the tool's own default.
            group: The group's name, instead of `name`.

        Raises:
            UnknownToolError: There is no tool of that name.
            UnknownGroupError: No tool belongs to the group.
            TypeError: `enabled` is neither of the three, or not one of `name` and `group` is given.
        """
        if enabled is not None and not isinstance(enabled, bool):
            raise TypeError(f"enabled must be True, False or None, not {enabled!r}.")
        if (name is None) == (group is None):
            raise TypeError("set_enabled takes a tool's name or group=, and one of them.")
        if name is not None:
            names = [self._known(name).tool.name]
        else:
            groups = self.groups()
            if group not in groups:
                raise UnknownGroupError(str(group), _near(str(group), groups))
            names = groups[group]
        self._offer.user.change(dict.fromkeys(names, enabled))

    def _choices_changed(self, change: Change) -> None:
        before, after = change
        # Others than those named too: the file may have brought news from another process.
        for one in sorted(before.keys() | after.keys()):
            layer = self._table.top(one)
            default = layer is not None and layer.tool.enabled_by_default
            if layer is not None and before.get(one, default) != after.get(one, default):
                self._fire(ChangeKind.UPDATED, one)

    def add_filter(self, predicate: Callable[[ToolInfo], object]) -> Callable[[], None]:
        """Offer only those tools to agents of which a function says so, whatever the user decided.

        It is asked when tools are listed, when one is executed from Python, and when a change is announced, on that
        thread; not at each call of an agent. When what its answer depends on changes, call
        `notify_availability_changed`: until then agents may still call what it would hide by now, or not yet what it
        would show. A tool at which it fails is not offered, and the failure is logged, once.

        Args:
            predicate: Gets what clients would be told of a tool; returns whether to offer it.

        Returns:
            A function that removes the filter; calling it again does nothing.

        Raises:
            TypeError: `predicate` is not callable.
        """
        if not callable(predicate):
            raise TypeError(f"A filter must be callable, not {predicate!r}.")
        remove = self._offer.add_filter(predicate)
        self._fire(ChangeKind.REFRESHED, None)

        def remove_filter() -> None:
            if remove():
                self._fire(ChangeKind.REFRESHED, None)

        return remove_filter

    def notify_availability_changed(self, name: str) -> None:
        """Tell subscribers that something about a tool has changed; nothing is changed by that.

        Raises:
            UnknownToolError: There is no tool of that name.
        """
        self._fire(ChangeKind.UPDATED, self._known(name).tool.name)

    # ---- inside

    def _put(self, layer: Layer, *, override: bool = False) -> None:
        with self._lock:
            kind = self._table.put(layer, override=override)
        self._fire(kind, layer.tool.name)

    def _fire(self, kind: ChangeKind | None, name: str | None) -> None:
        if kind is not None:
            self.tools_changed.fire(ToolsChanged(kind, name))

    def _tops(self) -> list[Layer]:
        with self._lock:
            return self._table.tops()

    def _find(self, name: str) -> Layer | None:
        table = self._table
        layer = table.top(name)
        if layer is None and isinstance(name, str):
            layer = table.top(sanitize_tool_name(self.prefix + name)) or table.top(sanitize_tool_name(name))
        return layer

    def _known(self, name: str) -> Layer:
        layer = self._find(name)
        if layer is None:
            raise UnknownToolError(name, self._near_tools(name))
        return layer

    def _near_tools(self, name: object) -> tuple[str, ...]:
        # Not of tools that are disabled: whoever asks may be an agent.
        names = [info.name for info in self.available_tools()]
        short = {one.removeprefix(self.prefix): one for one in names}
        near = (*_near(str(name), names), *(short[one] for one in _near(str(name), short)))
        return tuple(dict.fromkeys(near))

    def _entry(self, layer: Layer) -> ToolEntry:
        tool = layer.tool
        return ToolEntry(tool, layer.origin, self._offer.is_enabled(tool), self._offer.refusal(tool))


def _near(name: str, names: Iterable[str]) -> tuple[str, ...]:
    lower = {one.lower(): one for one in names}
    import difflib

    return tuple(lower[one] for one in difflib.get_close_matches(name.lower(), lower, 3, 0.6))
