"""What a client has cancelled under one consumer tag, and the server may not have heard of."""

from __future__ import annotations

from collections import deque
from typing import Final


class Leaving:
    """Cancels of one tag in their order, each with the consumer that had it, to which the server may deliver until it answers.

    Of cancels that want no answer, one behind the other, only the last is kept.
    """

    __slots__ = ("_cancels", "_more")

    def __init__(self) -> None:
        self._cancels: Final[deque[tuple[bool, bool | None]]] = deque()
        """Whether it waits for an answer; whether what comes need not be settled, None for no consumer."""
        self._more = False
        """There were more than are kept."""

    @property
    def consumers(self) -> int:
        """How many consumers there were."""
        return sum([settled is not None for _, settled in self._cancels])

    @property
    def settled(self) -> bool | None:
        """Whether what comes need not be settled; None where nothing may come."""
        return next((settled for _, settled in self._cancels if settled is not None), None)

    def cancel(self, settled: bool | None, waits: bool) -> None:
        """The client cancels; `settled` is what the consumer said of acknowledgements, None where the tag has none."""
        if self._cancels and not waits and not self._cancels[-1][0]:
            _, former = self._cancels.pop()
            self._more = self._more or (settled is not None and former is not None)
            settled = former if settled is None else settled
        if waits or settled is not None:
            self._cancels.append((waits, settled))

    def revoke(self) -> None:
        """The server has cancelled the only consumer, as far as they are kept."""
        if self._more:
            return
        for at, (waits, _) in enumerate(self._cancels):
            self._cancels[at] = (waits, None)

    def answered(self) -> bool:
        """A cancel is answered, so the server has carried it out and all before it; whether nothing is left."""
        while self._cancels:
            waits, _ = self._cancels.popleft()
            if waits:
                break
        return not self._cancels
