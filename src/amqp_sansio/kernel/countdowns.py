"""Countdowns: each ends a number of seconds after the first known moment."""

from __future__ import annotations

from typing import Final, Generic, TypeVar

from amqp_sansio.kernel.agenda import Agenda
from amqp_sansio.kernel.deadlines import AT_ONCE

T = TypeVar("T")


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
