"""Queues that nobody uses any more and that stay for a while: one heap for a virtual host."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

from amqp_sansio.kernel.deadlines import AT_ONCE

if TYPE_CHECKING:
    from amqp_sansio.broker.model.queue import Queue


class Lingering:
    """When queues go that nobody uses.  The time of each runs from the first moment that is told after it was left."""

    __slots__ = ("_fresh", "_heap", "_running", "_serial")

    def __init__(self) -> None:
        self._fresh: dict[Queue, None] = {}
        self._running: dict[Queue, tuple[float, int, Queue]] = {}
        self._heap: list[tuple[float, int, Queue]] = []
        self._serial = 0

    def begin(self, queue: Queue) -> None:
        """Nobody uses the queue any more: its time begins, or begins again."""
        self._running.pop(queue, None)
        self._fresh[queue] = None

    def stop(self, queue: Queue) -> None:
        """Somebody uses the queue, or it is gone."""
        self._running.pop(queue, None)
        self._fresh.pop(queue, None)

    def due(self, now: float) -> list[Queue]:
        """The queues whose time is over at `now`; they are watched no more."""
        for queue in self._fresh:
            self._serial += 1
            item = now + queue.linger, self._serial, queue
            self._running[queue] = item
            heappush(self._heap, item)
        self._fresh.clear()
        if len(self._heap) > 64 + 2 * len(self._running):
            self._heap = list(self._running.values())
            heapify(self._heap)
        found: list[Queue] = []
        while (moment := self.next) is not None and moment <= now:
            queue = heappop(self._heap)[2]
            del self._running[queue]
            found.append(queue)
        return found

    @property
    def next(self) -> float | None:
        """When to look again: at once when a time is to begin, None when no queue will go."""
        if self._fresh:
            return AT_ONCE
        heap = self._heap
        while heap and self._running.get(heap[0][2]) is not heap[0]:
            heappop(heap)
        return heap[0][0] if heap else None

    def __len__(self) -> int:
        return len(self._heap)
