"""Looks up a set of ids in a table, at the cost of the smaller of the two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeVar

from amqp_sansio.kernel.serials import MODULUS, TOP, MutableRangeSet, RangeSet

_T = TypeVar("_T")


def pick(ids: RangeSet, live: Mapping[int, _T]) -> list[int]:
    """Returns the keys of `live` that are in the set, ascending by RFC 1982.

    It costs the smaller of the two, the ids of the set or the keys, and never more than a few times the keys.
    """
    ranges = ids._line
    if not live or not ranges:
        return []
    low, high = ranges[0]
    if low == high and len(ranges) == 1:  # a caller that passes each id by itself
        return [low] if low in live else []
    ranges = ids.ranges
    found: list[int] = []
    if len(ids) <= 4 * len(live):
        for low, high in ranges:
            if low <= high:
                found += [id for id in range(low, high + 1) if id in live]
            else:
                found += [id for id in range(low, MODULUS) if id in live]
                found += [id for id in range(high + 1) if id in live]
        return found
    found = [id for id in live if id in ids]
    if found:
        origin = ids.first
        found.sort(key=lambda id: (id - origin) & TOP)
    return found


class ById(dict[int, _T]):
    """A dict by serial numbers for ids that a peer chooses: looking up a set of them costs what is found.

    `pick` costs the smaller of both sets, even repeatedly without a result; this class costs the number of ranges given.
    """

    __slots__ = ("ids",)

    def __init__(self) -> None:
        super().__init__()
        self.ids: Final = MutableRangeSet()

    def __setitem__(self, id: int, value: _T) -> None:
        super().__setitem__(id, value)
        highs = self.ids.highs
        if highs and highs[-1] == id - 1:  # nearly always: `add` inlined
            highs[-1] = id
        else:
            self.ids.add(id)

    def __delitem__(self, id: int) -> None:
        super().__delitem__(id)
        self.ids.discard_id(id)

    def remove(self, id: int) -> _T:
        """Removes an id that is present, and returns its value."""
        value = self[id]
        del self[id]
        return value

    def push(self, id: int, value: _T, most: int) -> _T | None:
        """Adds a value; returns the oldest one, which it removes, where `most` are present already."""
        gone = self.remove(next(iter(self))) if len(self) >= most else None
        self[id] = value
        return gone

    def add_all(self, others: Mapping[int, _T]) -> None:
        """Adds several, like `update`."""
        for id, value in others.items():
            self[id] = value

    def run(self, low: int, values: Sequence[_T]) -> None:
        """Adds values under consecutive ids from `low` on, none of them above TOP."""
        if values:
            self.update(enumerate(values, low))
            self.ids.add_range(low, low + len(values) - 1)

    def drop(self, id: int) -> _T | None:
        """Removes an id; returns its value, None when it is absent."""
        value = self.get(id)
        if value is not None:
            del self[id]
        return value

    def take(self, ids: RangeSet) -> list[_T]:
        """Removes the ids in the set; returns their values, ascending by RFC 1982."""
        line = ids._line
        if len(line) == 1 and line[0][0] == line[0][1]:  # one id, of those that are looked up one by one
            value = self.drop(line[0][0])
            return [] if value is None else [value]
        found: list[_T] = []
        for low, high in self.ids.take(ids).ranges:
            if low <= high:
                found += map(self.pop, range(low, high + 1))
            else:
                found += map(self.pop, [*range(low, MODULUS), *range(high + 1)])
        return found

    def clear(self) -> None:
        super().clear()
        self.ids.clear()

    def among(self, ids: RangeSet) -> list[int]:
        """Returns the keys that are in the set, ascending by RFC 1982."""
        line = ids._line
        if len(line) == 1 and line[0][0] == line[0][1]:
            return [line[0][0]] if line[0][0] in self else []
        found: list[int] = []
        for low, high in self.ids.common(ids).ranges:
            found += range(low, high + 1) if low <= high else [*range(low, MODULUS), *range(high + 1)]
        return found
