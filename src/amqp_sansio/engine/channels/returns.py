"""Finds the publish that a returned message may belong to."""

from __future__ import annotations

from typing import Final

from amqp_sansio.kernel.serials import MutableRangeSet, RangeSet

MOST: Final = 8191
"""The most pairs of exchange and routing key that are remembered; with more of them at once no return is identified any
more."""
RANGES: Final = 65536
"""The most ranges of numbers that are remembered for all pairs together; the same holds beyond it."""


class Returnable:
    """The numbers of publishes in doubt that may be returned, by exchange and routing key."""

    __slots__ = ("_lost", "_numbers", "_ranges")

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, str], MutableRangeSet] = {}
        self._ranges = 0
        """An upper bound of the number of ranges: those that `returned` removes count until `_prune`."""
        self._lost = False

    def publish(self, number: int, exchange: str, key: str, doubt: MutableRangeSet) -> None:
        """Records a publish that is returned if it cannot be delivered; `doubt` holds the numbers of all in doubt."""
        if self._lost:
            return
        numbers = self._numbers.get((exchange, key))
        full = self._ranges >= RANGES or (numbers is None and len(self._numbers) >= MOST)
        if full:
            if not self._prune(doubt):
                return
            numbers = self._numbers.get((exchange, key))
        if numbers is None:
            numbers = self._numbers[exchange, key] = MutableRangeSet()
        before = len(numbers.lows)
        numbers.add(number)
        self._ranges += len(numbers.lows) - before

    def returned(self, exchange: str, key: str, doubt: MutableRangeSet) -> int | None:
        """Returns the number of a returned publish, where only one can be meant."""
        numbers = self._numbers.get((exchange, key))
        if numbers is None:
            return None
        first = None
        if _begins(numbers, 0, doubt):
            first, last = numbers.lows[0], numbers.highs[0]
            if first < last and doubt.first_within(first + 1, last) is not None:
                return None
            numbers.highs[0] = first
            if _begins(numbers, 1, doubt):
                return None
        del self._numbers[exchange, key]
        return first

    def _prune(self, doubt: MutableRangeSet) -> bool:
        """Forgets publishes that are no longer in doubt; returns whether that left enough room."""
        self._numbers = {pair: left for pair, numbers in self._numbers.items() if (left := _in_doubt(numbers, doubt))}
        self._ranges = sum([len(numbers.lows) for numbers in self._numbers.values()])
        if len(self._numbers) > MOST // 2 or self._ranges > RANGES // 2:
            self._numbers.clear()
            self._lost = True
        return not self._lost


def _in_doubt(numbers: MutableRangeSet, doubt: MutableRangeSet) -> MutableRangeSet:
    """Returns whole those ranges that contain a number in doubt."""
    return MutableRangeSet(
        RangeSet([each for each in zip(numbers.lows, numbers.highs, strict=True) if doubt.first_within(*each) is not None])
    )


def _begins(numbers: MutableRangeSet, at: int, doubt: MutableRangeSet) -> bool:
    """Removes ranges from index `at` on, up to a number in doubt, which then begins a range; returns whether there is one.

    Nothing removed is looked at again: however many are returned, each number costs once.
    """
    lows, highs = numbers.lows, numbers.highs
    end, found = at, None
    while end < len(lows) and found is None:
        found = doubt.first_within(lows[end], highs[end])
        end += 1
    if found is not None:
        end -= 1
        lows[end] = found[0]
    del lows[at:end], highs[at:end]
    return found is not None
