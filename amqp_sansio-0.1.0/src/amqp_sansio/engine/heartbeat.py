"""Heartbeats: keep the other side sure of us, and notice when it is gone (connection.heartbeat, tune-ok.heartbeat)."""

from __future__ import annotations

from typing import Final


class Heartbeat:
    """The two timers of one connection, from tune-ok on.

    `interval` is in seconds; 0 keeps no time at all.  A heartbeat is due when nothing was written for one interval; the other
    side is gone when no octet came for two.  Heartbeats are never answered: an echo on both sides would be a storm.
    """

    __slots__ = ("_heard_at", "_wrote_at", "interval")

    def __init__(self, interval: int) -> None:
        self.interval: Final = interval
        self._heard_at: float | None = None
        self._wrote_at: float | None = None

    def heard(self, now: float) -> None:
        """Octets came at `now` or since the tick before."""
        self._heard_at = now

    def wrote(self, now: float) -> None:
        """Octets went out at `now` or later."""
        self._wrote_at = now

    @property
    def running(self) -> bool:
        """False when the timers must begin yet, at the next tick; True also where no time is kept."""
        return not self.interval or self._heard_at is not None

    def start(self, now: float) -> None:
        """The first tick: both timers begin."""
        if self._heard_at is None:
            self._heard_at = now
        if self._wrote_at is None:
            self._wrote_at = now

    def gone(self, now: float) -> bool:
        """True when the other side was silent for two intervals."""
        return bool(self.interval) and self._heard_at is not None and now >= self._heard_at + 2 * self.interval

    def due(self, now: float) -> bool:
        """True when a heartbeat is due."""
        return bool(self.interval) and self._wrote_at is not None and now >= self._wrote_at + self.interval

    def deadline(self, speaks: bool) -> float | None:
        """When to look again; `speaks` tells whether we may send heartbeats yet."""
        heard, wrote, interval = self._heard_at, self._wrote_at, self.interval
        if not interval or heard is None or wrote is None:
            return None
        gone, due = heard + 2 * interval, wrote + interval
        return due if speaks and due < gone else gone
