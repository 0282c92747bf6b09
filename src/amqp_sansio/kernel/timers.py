"""Timers: moments on the caller's clock, in seconds, and what is due at them; None is a moment that never comes."""

from __future__ import annotations

import math
from heapq import heapify, heappop, heappush
from typing import Final, Generic, TypeVar

from amqp_sansio.errors import EncodeError

AT_ONCE: Final = -math.inf
"""The moment of what is due now, before the time is known: no clock shows less."""


def moment_of(now: object) -> float:
    """Returns the argument of `tick` as a float.  Raises EncodeError for anything but a finite number."""
    if type(now) is float and AT_ONCE < now < math.inf:  # nearly always
        return now
    if isinstance(now, (int, float)):
        try:
            moment = float(now)
        except OverflowError:
            pass
        else:
            if math.isfinite(moment):  # no clock shows an infinite moment, nor could a countdown start at one
                return moment
    raise EncodeError("tick", f"takes seconds of a monotonic clock, not {now!r:.80}")


def earliest(*moments: float | None) -> float | None:
    """Returns the earliest of `moments`; None when none of them ever comes."""
    first: float | None = None
    for moment in moments:
        if moment is not None and (first is None or moment < first):
            first = moment
    return first


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


class Countdowns(Generic[T]):
    """Objects with a remaining time in seconds, which runs from the first `due` after their `begin`."""

    __slots__ = ("_agenda", "_fresh")

    def __init__(self) -> None:
        self._fresh: Final[dict[T, float]] = {}
        self._agenda: Final[Agenda[T]] = Agenda()

    def begin(self, thing: T, seconds: float) -> None:
        """Starts the countdown of the object, anew if it is running."""
        self._agenda.forget(thing)
        self._fresh[thing] = seconds

    def stop(self, thing: T) -> None:
        """Cancels the countdown of the object."""
        self._agenda.forget(thing)
        self._fresh.pop(thing, None)

    def due(self, now: float) -> list[T]:
        """Returns the objects whose time is over at `now`, and removes them."""
        for thing, seconds in self._fresh.items():
            self._agenda.note(thing, now + seconds)
        self._fresh.clear()
        return self._agenda.due(now)

    @property
    def next(self) -> float | None:
        """When to call `due`: at once when a countdown is to start, None when none runs."""
        return AT_ONCE if self._fresh else self._agenda.next
