"""Rounds that count, and rounds that a busy machine spoilt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

TRIES = 3
"""How often a round is repeated at most, on average."""

T = TypeVar("T")


class BrokenError(Exception):
    """An agent's call was not answered as it must be: no figure counts."""


class Rounds(NamedTuple, Generic[T]):
    """What came of the rounds.

    Attributes:
        counted: The rounds that count.
        dropped: How many do not.
    """

    counted: list[T]
    dropped: int

    def __str__(self) -> str:
        return f"{len(self.counted)} rounds counted, {self.dropped} dropped"


async def collect(wanted: int, play: Callable[[], Awaitable[T]], counts: Callable[[T], bool]) -> Rounds[T]:
    """Play rounds until enough of them count, or until the machine is too busy for that."""
    counted: list[T] = []
    played = 0
    while len(counted) < wanted and played < wanted * TRIES:
        played += 1
        result = await play()
        if counts(result):
            counted.append(result)
    return Rounds(counted, played - len(counted))


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value that a share of all values does not exceed."""
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]
