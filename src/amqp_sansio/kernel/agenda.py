"""Timers: a heap of moments, so that not all entries need to be checked."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Final, Generic, TypeVar

T = TypeVar("T")

FEW: Final = 64
"""Entries of the heap that may be idle before it is cleaned up."""


class Agenda(Generic[T]):
    """Objects with a next moment each, on the caller's clock.

    An object may be noted repeatedly: the heap has it only under its earliest moment, and one called too early is noted again
    for later.
    """

    __slots__ = ("_count", "_heap", "_noted")

    def __init__(self) -> None:
        self._heap: Final[list[tuple[float, int, T]]] = []
        self._noted: Final[dict[T, float]] = {}
        self._count = 0

    def note(self, thing: T, moment: float | None) -> None:
        """Schedules `thing` for `moment` or earlier; None: nothing to wait for now."""
        if moment is None:
            return
        noted = self._noted.get(thing)
        if noted is not None and noted <= moment:
            return
        self._noted[thing] = moment
        self._count += 1
        heappush(self._heap, (moment, self._count, thing))
        self._shrink()

    def _shrink(self) -> None:
        """Drops entries that are no longer noted, whose moments may be years away."""
        heap, noted = self._heap, self._noted
        if len(heap) > FEW and len(heap) > 2 * len(noted):
            heap[:] = [(moment, number, thing) for number, (thing, moment) in enumerate(noted.items())]
            heapify(heap)
            self._count = len(heap)

    def forget(self, thing: T) -> None:
        """Cancels `thing`, unless it is noted again."""
        if self._noted.pop(thing, None) is not None:
            self._shrink()

    def due(self, now: float) -> list[T]:
        """Returns those whose moment has come, and removes them."""
        heap, noted = self._heap, self._noted
        found: list[T] = []
        while heap and heap[0][0] <= now:
            moment, _, thing = heappop(heap)
            if noted.get(thing) == moment:
                del noted[thing]
                found.append(thing)
        return found

    @property
    def next(self) -> float | None:
        """The next moment at which something may be due."""
        heap, noted = self._heap, self._noted
        while heap and noted.get(heap[0][2]) != heap[0][0]:
            heappop(heap)
        return heap[0][0] if heap else None

    def __len__(self) -> int:
        return len(self._noted)
