"""Countdowns: each ends a number of seconds after the first moment that is known."""

from __future__ import annotations

from typing import Final, Generic, TypeVar

from amqp_sansio.kernel.agenda import Agenda
from amqp_sansio.kernel.deadlines import AT_ONCE

T = TypeVar("T")


class Countdowns(Generic[T]):
    """Things that have a time left, in seconds.  The time of each runs from the first `due` after its `begin`."""

    __slots__ = ("_agenda", "_fresh")

    def __init__(self) -> None:
        self._fresh: Final[dict[T, float]] = {}
        self._agenda: Final[Agenda[T]] = Agenda()

    def begin(self, thing: T, seconds: float) -> None:
        """The time of the thing begins, or begins again."""
        self._agenda.forget(thing)
        self._fresh[thing] = seconds

    def stop(self, thing: T) -> None:
        """The thing has all the time that there is, or is gone."""
        self._agenda.forget(thing)
        self._fresh.pop(thing, None)

    def due(self, now: float) -> list[T]:
        """The things that have no time left at `now`; they are watched no more."""
        for thing, seconds in self._fresh.items():
            self._agenda.note(thing, now + seconds)
        self._fresh.clear()
        return self._agenda.due(now)

    @property
    def next(self) -> float | None:
        """When to call `due`: at once when a time is to begin, None when nothing runs."""
        return AT_ONCE if self._fresh else self._agenda.next
