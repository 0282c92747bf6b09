"""The choices of a simulation; they always come from the caller, so that a run can be repeated."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Final


class Choices:
    """Chooses by a list of numbers, which repeats when it ends, or by a `random.Random` that the caller has seeded."""

    def __init__(self, source: Sequence[int] | Random = ()) -> None:
        self._random: Final = source if isinstance(source, Random) else None
        self._numbers: Final = () if isinstance(source, Random) else tuple(source)
        self._at = 0

    def between(self, low: int, high: int) -> int:
        """Returns a number from `low` to `high`, both included, or `low` when there is no choice or no source."""
        if high <= low:
            return low
        if self._random is not None:
            return self._random.randint(low, high)
        if not self._numbers:
            return low
        number = self._numbers[self._at % len(self._numbers)]
        self._at += 1
        return low + number % (high - low + 1)
