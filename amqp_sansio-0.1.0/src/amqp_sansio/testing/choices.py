"""Where a simulation's choices come from: always from the caller, so that a run can be repeated."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Final


class Choices:
    """A list of numbers, read again and again from its start, or a `random.Random` that the caller seeded."""

    def __init__(self, source: Sequence[int] | Random = ()) -> None:
        self._random: Final = source if isinstance(source, Random) else None
        self._numbers: Final = () if isinstance(source, Random) else tuple(source)
        self._at = 0

    def between(self, low: int, high: int) -> int:
        """A number from `low` to `high`, both included; `low` when there is nothing to choose from."""
        if high <= low:
            return low
        if self._random is not None:
            return self._random.randint(low, high)
        if not self._numbers:
            return low
        number = self._numbers[self._at % len(self._numbers)]
        self._at += 1
        return low + number % (high - low + 1)
