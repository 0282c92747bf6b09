"""Expiry of messages: one heap per virtual host, so that no queue is searched."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

from amqp_sansio.broker.model.message import GONE

if TYPE_CHECKING:
    from amqp_sansio.broker.model.message import Entry


class Expiry:
    """Entries whose messages expire, the earliest first.

    Entries that left their queue stay in the heap until they are due, or until they are half of it.  Everything due at `now` or
    earlier has been returned.
    """

    __slots__ = ("_gone", "_heap", "_serial", "now")

    def __init__(self) -> None:
        self.now = float("-inf")
        self._heap: list[tuple[float, int, Entry]] = []
        self._serial = 0
        self._gone = 0

    def add(self, entry: Entry) -> None:
        """Adds an entry whose message expires."""
        expires = entry.message.expires
        if expires is not None:
            self._serial += 1
            heappush(self._heap, (expires, self._serial, entry))

    def gone(self, entry: Entry) -> None:
        """Records that the entry has left its queue."""
        expires = entry.message.expires
        if expires is not None and expires > self.now:
            self._gone += 1
            if self._gone > 64 and 2 * self._gone > len(self._heap):
                self._heap = [item for item in self._heap if item[2].state != GONE]
                heapify(self._heap)
                self._gone = 0

    def overdue(self, entry: Entry) -> bool:
        """Returns whether its message expired while it was not available, and so was not removed then."""
        expires = entry.message.expires
        return expires is not None and expires <= self.now

    def due(self, now: float) -> list[Entry]:
        """Returns the entries that expired up to now and are still on their queues; none for a `now` earlier than before."""
        self.now = max(self.now, now)
        found: list[Entry] = []
        heap = self._heap
        while heap and heap[0][0] <= self.now:
            entry = heappop(heap)[2]
            if entry.state == GONE:
                self._gone -= 1
            else:
                found.append(entry)
        return found

    @property
    def next(self) -> float | None:
        """The moment to look again; None when nothing expires."""
        heap = self._heap
        while heap and heap[0][2].state == GONE:
            heappop(heap)
            self._gone -= 1
        return heap[0][0] if heap else None

    def __len__(self) -> int:
        return len(self._heap)
