"""When branches time out: one heap for a coordinator, so that nobody looks at all branches."""

from __future__ import annotations

from heapq import heapify, heappop, heappush

from amqp_sansio.broker.transactions.branch import Branch


class Timeouts:
    """The deadlines of branches.  A branch's time runs from the first tick after its start, or after its timeout was set."""

    __slots__ = ("_fresh", "_heap", "_running", "_serial")

    def __init__(self) -> None:
        self._fresh: dict[Branch, None] = {}
        self._running: dict[Branch, float] = {}
        self._heap: list[tuple[float, int, Branch]] = []
        self._serial = 0

    def begin(self, branch: Branch) -> None:
        """The time of the branch begins, or begins again, at the next tick."""
        self._running.pop(branch, None)
        self._fresh[branch] = None

    @property
    def fresh(self) -> bool:
        """Whether the time of a branch begins at the next tick."""
        return bool(self._fresh)

    def stop(self, branch: Branch) -> None:
        """The branch has all the time that there is."""
        self._running.pop(branch, None)
        self._fresh.pop(branch, None)

    def due(self, now: float) -> list[Branch]:
        """The branches that have no time left at `now`, which are watched no more."""
        for branch in self._fresh:
            self._running[branch] = now + branch.timeout
            self._push(branch, now + branch.timeout)
        self._fresh.clear()
        if len(self._heap) > 64 + 2 * len(self._running):
            self._heap = [item for item in self._heap if self._running.get(item[2]) == item[0]]
            heapify(self._heap)
        found: list[Branch] = []
        while (moment := self.next) is not None and moment <= now:
            branch = heappop(self._heap)[2]
            del self._running[branch]
            found.append(branch)
        return found

    @property
    def next(self) -> float | None:
        """When to look again; None when no branch can time out."""
        heap = self._heap
        while heap and self._running.get(heap[0][2]) != heap[0][0]:
            heappop(heap)
        return heap[0][0] if heap else None

    def _push(self, branch: Branch, moment: float) -> None:
        self._serial += 1
        heappush(self._heap, (moment, self._serial, branch))

    def __len__(self) -> int:
        return len(self._heap)
