"""What a client has cancelled under one consumer tag, and the server may not have heard of."""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import Final

MOST: Final = 64
"""Entries that are kept; of more, those behind share the last one."""


class Leaving:
    """Cancels of one tag in their order, each with its consumer, to which the server may deliver until it answers.

    Of cancels that want no answer, one behind the other, only the last is kept; those of no consumer are counted.
    """

    __slots__ = ("_cancels", "_more")

    def __init__(self) -> None:
        self._cancels: Final[deque[tuple[int, bool | None]]] = deque()
        """How many wait for an answer; whether what comes need not be settled, None for no consumer.  No two behind one another
        are of none."""
        self._more = False
        """There were more consumers than are kept."""

    @property
    def consumers(self) -> int:
        """How many consumers there were: 0, 1, or 2 for more."""
        return len([*islice((None for _, settled in self._cancels if settled is not None), 2)])

    @property
    def settled(self) -> bool | None:
        """Whether what comes need not be settled; None where nothing may come."""
        return next((settled for _, settled in self._cancels if settled is not None), None)

    def cancel(self, settled: bool | None, waits: bool) -> None:
        """The client cancels; `settled` is what the consumer said of acknowledgements, None where the tag has none."""
        cancels, waiting = self._cancels, int(waits)
        if not waits and settled is None:
            return
        if cancels:
            before, former = cancels[-1]
            full, again = len(cancels) >= MOST, not waits and not before
            if again or full or (settled is None and former is None):
                cancels.pop()
                waiting += before
                self._more = self._more or (settled is not None and former is not None)
                if settled is None or (full and not again and former is not None):
                    settled = former and settled is not False  # where they differ, what comes is to be settled
        cancels.append((waiting, settled))

    def revoke(self) -> None:
        """The server has cancelled the only consumer, as far as they are kept."""
        if self._more:
            return
        waiting = sum([before for before, _ in self._cancels])
        self._cancels.clear()
        if waiting:
            self._cancels.append((waiting, None))

    def answered(self) -> bool:
        """A cancel is answered, so the server has carried it out and all before it; whether nothing is left."""
        while self._cancels:
            waiting, settled = self._cancels.popleft()
            if waiting:
                if waiting > 1:
                    self._cancels.appendleft((waiting - 1, settled))
                break
        return not self._cancels
