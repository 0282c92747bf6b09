"""How the priority levels of one queue take turns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final


class Shares:
    """The most messages of each level before the levels below it get a turn; 0: no limit.

    As in qpidd the turn goes down, and from the lowest level back to the highest; it stays with a level that has messages and
    has not used up its share, whatever arrives on higher levels.
    """

    __slots__ = ("_before", "_had", "_level", "_most")

    def __init__(self, most: Sequence[int]) -> None:
        """`most` are the shares, from the lowest level on."""
        self._most: Final = tuple(most)
        self._level = len(self._most) - 1
        self._had = 0
        self._before = self._level, 0

    def order(self) -> list[int]:
        """Returns the levels in the order in which they may give the next message."""
        levels = len(self._most)
        first = self._level - 1 if self._done else self._level
        return [(first - step) % levels for step in range(levels)]

    def took(self, level: int) -> None:
        """Records that a message of that level was taken."""
        self._before = self._level, self._had
        self._had = self._had + 1 if level == self._level and not self._done else 1
        self._level = level

    def undo(self) -> None:
        """Undoes the last `took`."""
        self._level, self._had = self._before

    @property
    def _done(self) -> bool:
        return 0 < self._most[self._level] <= self._had
