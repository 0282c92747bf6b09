"""Finds the publish that a returned message may belong to."""

from __future__ import annotations

from typing import Final

from amqp_sansio.kernel.serials import MutableRangeSet, RangeSet

MOST: Final = 8191
"""Pairs of exchange and routing key that are remembered; with more of them at once no return is named any more."""
RANGES: Final = 65536
"""Ranges of numbers that are remembered for all of them together, likewise."""


class Returnable:
    """The numbers of publishes that may come back, by exchange and routing key, as far as they are in doubt."""

    __slots__ = ("_lost", "_numbers", "_ranges")

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, str], MutableRangeSet] = {}
        self._ranges = 0
        """How many ranges there are, at most: those that `returned` takes away count until `_prune`."""
        self._lost = False

    def publish(self, number: int, exchange: str, key: str, doubt: MutableRangeSet) -> None:
        """A message is published that comes back when nothing can be done with it; `doubt`: the numbers of all in doubt."""
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
        """One comes back: its number where only one can be meant."""
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
        """Forgets what is in doubt no more; whether enough room is left by it."""
        self._numbers = {pair: left for pair, numbers in self._numbers.items() if (left := _in_doubt(numbers, doubt))}
        self._ranges = sum([len(numbers.lows) for numbers in self._numbers.values()])
        if len(self._numbers) > MOST // 2 or self._ranges > RANGES // 2:
            self._numbers.clear()
            self._lost = True
        return not self._lost


def _in_doubt(numbers: MutableRangeSet, doubt: MutableRangeSet) -> MutableRangeSet:
    """The ranges in which there is a number that is in doubt, whole."""
    return MutableRangeSet(
        RangeSet([each for each in zip(numbers.lows, numbers.highs, strict=True) if doubt.first_within(*each) is not None])
    )


def _begins(numbers: MutableRangeSet, at: int, doubt: MutableRangeSet) -> bool:
    """Takes ranges away, from this one on, up to a number that is in doubt; whether there is one, which then begins a range.

    What is taken away is never looked at again: however many come back, each number costs once.
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
