"""Which tool has a name: the layers of each name, and the rules by which they meet.

A name can have one tool of each origin. A run-time tool covers the others, and a decorated
one is the same tool as a discovered one, found twice.

Two tools clash, and the second is refused, where they are of one origin or none of them is a run-time tool,
unless the second is the first one's function again, as it is or defined anew; and always where their names were
different until they were sanitised, since nobody meant one to cover the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from openxr_agentic.errors import NameClashError
from openxr_agentic.registry.entries import Layer, Origin
from openxr_agentic.registry.events import ChangeKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class Layers(NamedTuple):
    """The tools of one name.

    Attributes:
        decorated: The one that was decorated.
        discovered: The one that was discovered.
        runtime: The one that was registered at run time.
    """

    decorated: Layer | None = None
    discovered: Layer | None = None
    runtime: Layer | None = None

    @property
    def top(self) -> Layer | None:
        """The one that counts."""
        return self.runtime or self.decorated or self.discovered

    def of(self, origin: Origin) -> Layer | None:
        """Return the one of an origin."""
        return self[_PLACES[origin]]

    def replaced(self, origin: Origin, layer: Layer | None) -> Layers:
        """Return these layers with another one, or none, of an origin."""
        layers = list(self)
        layers[_PLACES[origin]] = layer
        return Layers(*layers)


_PLACES = {Origin.DECORATED: 0, Origin.DISCOVERED: 1, Origin.RUNTIME: 2}


class Table:
    """All names of a registry, and their tools.

    Looking up one name is safe at any time. The registry's lock is held for everything else.
    """

    def __init__(self) -> None:
        self._names: dict[str, Layers] = {}

    def top(self, name: str) -> Layer | None:
        """Return the tool of a name that counts."""
        layers = self._names.get(name)
        return layers.top if layers is not None else None

    def tops(self) -> list[Layer]:
        """Return the tools that count, sorted by name."""
        return [layer for _, layers in sorted(self._names.items()) if (layer := layers.top) is not None]

    def put(self, layer: Layer, *, override: bool = False) -> ChangeKind | None:
        """Put a tool under its name.

        Args:
            layer: The tool.
            override: It may replace another one of its origin.

        Returns:
            What it is for agents; None: nothing, as it is covered.

        Raises:
            NameClashError: The name is taken, and nothing was changed.
        """
        clash = self._clash(layer, override=override)
        if clash is not None:
            raise clash
        before = self.top(layer.tool.name)
        self._set(layer.tool.name, layer.origin, layer)
        if self.top(layer.tool.name) is not layer:
            return None
        return ChangeKind.ADDED if before is None else ChangeKind.UPDATED

    def remove_runtime(self, name: str) -> ChangeKind | None:
        """Remove the run-time tool of a name; what it covered is back.

        Returns:
            What that is for agents; None: there was none.
        """
        layers = self._names.get(name)
        if layers is None or layers.runtime is None:
            return None
        self._set(name, Origin.RUNTIME, None)
        return ChangeKind.REMOVED if self.top(name) is None else ChangeKind.UPDATED

    def runtime_layers(self) -> list[Layer]:
        """Return all tools that were registered at run time."""
        return [layers.runtime for layers in self._names.values() if layers.runtime is not None]

    def discovered_layers(self) -> list[Layer]:
        """Return all tools that were discovered."""
        return [layers.discovered for layers in self._names.values() if layers.discovered is not None]

    def copy(self) -> Table:
        """Return another table of the same tools."""
        table = Table()
        table._names = dict(self._names)
        return table

    def swapped(self, discovered: Iterable[Layer], cleared: Iterable[Layer]) -> tuple[Table, list[NameClashError]]:
        """Return a table with newly discovered tools in the place of those before.

        Args:
            discovered: All tools that were discovered. Of those that clash with each other none is taken.
            cleared: Run-time tools that go, where they are still there.

        Returns:
            The table, and why some tools were not taken.
        """
        table = Table()
        gone = {id(layer) for layer in cleared}
        for name, layers in self._names.items():
            runtime = layers.runtime if id(layers.runtime) not in gone else None
            kept = Layers(layers.decorated, None, runtime)
            if kept.top is not None:
                table._names[name] = kept
        clashes = []
        clash: NameClashError | None
        for first, *others in _by_name(discovered):
            other = next((other for other in others if not _go_together(other, first)), None)
            if other is not None:
                clash = NameClashError(f"{_clash_text(other, first)} Until then neither of them is there.")
            else:
                clash = table._clash(first)
            if clash is None:
                table.put(first)
            else:
                clashes.append(clash)
        return table, clashes

    def _clash(self, layer: Layer, *, override: bool = False) -> NameClashError | None:
        for other in self._names.get(layer.tool.name, ()):
            if other is not None and not _go_together(layer, other, override=override):
                return NameClashError(_clash_text(layer, other))
        return None

    def _set(self, name: str, origin: Origin, layer: Layer | None) -> None:
        layers = self._names.get(name, Layers()).replaced(origin, layer)
        if layers.top is None:
            del self._names[name]
        else:
            self._names[name] = layers


def _by_name(layers: Iterable[Layer]) -> Iterator[list[Layer]]:
    found: dict[str, list[Layer]] = {}
    for layer in layers:
        found.setdefault(layer.tool.name, []).append(layer)
    yield from found.values()


def _go_together(new: Layer, old: Layer, *, override: bool = False) -> bool:
    if new.asked != old.asked:
        return new.is_copy(old)
    if new.is_again(old):
        return True
    if new.origin is old.origin:
        return override
    return Origin.RUNTIME in (new.origin, old.origin)


def _clash_text(new: Layer, old: Layer) -> str:
    """Say which two tools want one name, and what to do."""
    name = new.tool.name
    if new.asked != old.asked:
        met = f"The names {old.asked!r} and {new.asked!r} are both {name!r} for agents"
    else:
        met = f"The name {name!r} is taken"
    who = f"{met}: by {old.tool.origin}, {old.origin.value}, and now {new.tool.origin}, {new.origin.value}."
    if new.owner is not None and old.owner is not None and new.identity == old.identity:
        return (
            f"{who} They are one method of two objects. Give each its own name with register(name, method) or "
            "register_object(object, prefix=...), or unregister the first."
        )
    advice = "Give one of them another name with name="
    if new.asked == old.asked and new.origin is Origin.RUNTIME:
        return f"{who} {advice}, unregister the first, or say override=True to replace it."
    return f"{who} {advice}."
