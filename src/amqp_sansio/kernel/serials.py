"""Serial numbers of 32 bits (RFC 1982) and sets of them, stored as ranges.

The numbers lie on a circle: 0 follows 2**32 - 1.  A set is a few ranges and every operation is algebra on ranges: nothing here
iterates the ids inside one, because a single range may hold billions.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import Final

from amqp_sansio.kernel.lines import (
    HALF,
    MODULUS,
    TOP,
    Range,
    check,
    circle,
    intersect,
    line_of,
    merge,
    subtract,
    whole,
)


def serial_add(a: int, n: int) -> int:
    """Returns the serial number `n` after `a`; `n` may be negative."""
    return (a + n) & TOP


def serial_diff(a: int, b: int) -> int:
    """Returns how far `a` is after `b`: the n with -2**31 < n <= 2**31 for which `serial_add(b, n) == a`."""
    n = (a - b) & TOP
    return n - MODULUS if n > HALF else n


def serial_lt(a: int, b: int) -> bool:
    """Whether `a` comes before `b`: b is 1 to 2**31 - 1 after a.  Of two that are 2**31 apart, neither does."""
    return 0 < ((b - a) & TOP) < HALF


def serial_le(a: int, b: int) -> bool:
    """Whether `a` is `b` or comes before it."""
    return ((b - a) & TOP) < HALF


class RangeSet:
    """An immutable set of serial numbers.

    Equal, hashed and pickled by value.  It deliberately has no iteration over ids: see `ranges`.  Any ranges may be given, in
    any order, overlapping or touching; (4294967295, 0) holds two ids.  Raises ValueError for what is not a 32-bit number.
    """

    __slots__ = ("_line",)
    _line: tuple[Range, ...]

    def __init__(self, ranges: Iterable[Range] = ()) -> None:
        object.__setattr__(self, "_line", line_of(ranges))

    @classmethod
    def of(cls, *ids: int) -> RangeSet:
        """Returns the set of these ids."""
        return RangeSet([(id, id) for id in ids])

    @classmethod
    def span(cls, low: int, high: int) -> RangeSet:
        """Returns the set of the ids from `low` to `high`, both included; wraps when low is greater."""
        if 0 <= low <= high <= TOP:
            made = RangeSet.__new__(RangeSet)
            _set_line(made, ((low, high),))
            return made
        return RangeSet([(low, high)])

    @classmethod
    def _of_line(cls, line: tuple[Range, ...]) -> RangeSet:
        made = RangeSet.__new__(RangeSet)
        _set_line(made, line)
        return made

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a RangeSet is immutable: {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a RangeSet is immutable: {name}")

    @property
    def ranges(self) -> tuple[Range, ...]:
        """The ranges, both ends included, ascending by RFC 1982; no two touch."""
        line = self._line
        return line if len(line) < 2 else circle(line)

    @property
    def first(self) -> int:
        """The lowest id by RFC 1982.  Raises ValueError when the set is empty."""
        if not self._line:
            raise ValueError("an empty set has no first id")
        return self.ranges[0][0]

    @property
    def last(self) -> int:
        """The highest id by RFC 1982.  Raises ValueError when the set is empty."""
        line = self._line
        if not line:
            raise ValueError("an empty set has no last id")
        return line[0][1] if len(line) == 1 else circle(line)[-1][1]

    def __bool__(self) -> bool:
        return bool(self._line)

    def __len__(self) -> int:
        return sum([high - low + 1 for low, high in self._line])

    def __contains__(self, id: object) -> bool:
        if not isinstance(id, int):
            return False
        at = bisect_right(self._line, (id, MODULUS)) - 1
        return at >= 0 and id <= self._line[at][1]

    def __or__(self, other: RangeSet) -> RangeSet:
        if not isinstance(other, RangeSet):
            return NotImplemented
        if not other._line:
            return self
        if not self._line:
            return other
        return RangeSet._of_line(merge(sorted(self._line + other._line)))

    def __and__(self, other: RangeSet) -> RangeSet:
        if not isinstance(other, RangeSet):
            return NotImplemented
        return RangeSet._of_line(intersect(self._line, other._line))

    def __sub__(self, other: RangeSet) -> RangeSet:
        if not isinstance(other, RangeSet):
            return NotImplemented
        return RangeSet._of_line(subtract(self._line, other._line))

    def isdisjoint(self, other: RangeSet) -> bool:
        """Whether no id is in both."""
        return not intersect(self._line, other._line)

    def issubset(self, other: RangeSet) -> bool:
        """Whether every id of this set is in the other."""
        return not subtract(self._line, other._line)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RangeSet):
            return NotImplemented
        return self._line == other._line

    def __hash__(self) -> int:
        return hash((RangeSet, self._line))

    def __repr__(self) -> str:
        shown = ", ".join([f"({low}, {high})" for low, high in self.ranges])
        return f"RangeSet([{shown}])" if shown else "RangeSet()"

    def __str__(self) -> str:
        return "{" + ", ".join([str(low) if low == high else f"{low}-{high}" for low, high in self.ranges]) + "}"

    def __reduce__(self) -> tuple[type[RangeSet], tuple[tuple[Range, ...]]]:
        return RangeSet, (self.ranges,)


_set_line: Final = vars(RangeSet)["_line"].__set__  # bypasses `__setattr__`, which prevents changes
EMPTY: Final = RangeSet()


class MutableRangeSet:
    """A mutable set of serial numbers.

    A change costs the ranges that it names and those that it meets, whatever the size of the set, plus one copy of memory to
    move the rest.  The caller limits how many ranges it holds (`range_count`).
    """

    __slots__ = ("highs", "lows")

    def __init__(self, ranges: RangeSet = EMPTY) -> None:
        self.lows: list[int] = [low for low, _ in ranges._line]
        """The first id of each range, ascending."""
        self.highs: list[int] = [high for _, high in ranges._line]
        """The last id of each range.  Hot code may move the ends of ranges itself, to save the call, as long as none touch."""

    def add(self, id: int) -> None:
        """Adds one id."""
        highs = self.highs
        if highs and id == highs[-1] + 1 and id <= TOP:
            highs[-1] = id
        elif not highs and 0 <= id <= TOP:
            self.lows.append(id)
            highs.append(id)
        else:
            self._add_line(check(id), id)

    def add_range(self, low: int, high: int) -> None:
        """Adds the ids from `low` to `high`, both included, over the top when low is greater."""
        if type(low) is int and type(high) is int and 0 <= low <= high <= TOP:  # nearly always
            self._add_line(low, high)
            return
        check(low)
        check(high)
        if low <= high:
            self._add_line(low, high)
        else:
            self._add_line(low, TOP)
            self._add_line(0, high)

    def update(self, ids: RangeSet) -> None:
        """Adds all ids of a set."""
        highs = self.highs
        if len(ids._line) == 1 and len(highs) == 1:  # nearly always: it extends the only range, or follows it
            low, high = ids._line[0]
            if self.lows[0] <= low <= highs[0] + 1:
                highs[0] = max(high, highs[0])
                return
        if len(ids._line) * 16 <= len(highs) or len(ids._line) <= 4:
            for low, high in ids._line:
                self._add_line(low, high)
        else:
            self._replace((self.freeze() | ids)._line)

    def discard(self, ids: RangeSet) -> None:
        """Removes all ids of a set."""
        lows = self.lows
        if not lows or not ids._line:
            return
        if len(ids._line) * 16 <= len(lows) or len(ids._line) == 1:
            for low, high in ids._line:
                self._cut_line(low, high)
        else:
            self._replace(subtract(tuple(zip(lows, self.highs, strict=True)), ids._line))

    def take(self, ids: RangeSet) -> RangeSet:
        """Removes all ids of a set; returns those that were present."""
        lows, highs = self.lows, self.highs
        if lows and len(ids._line) == 1 and (one := ids._line[0])[0] == lows[0] and one[1] <= highs[0]:
            # Nearly always: the oldest ones.  What follows, with its calls inlined.
            if one[1] == highs[0]:
                del lows[0], highs[0]
            else:
                lows[0] = one[1] + 1
            return ids
        taken = self.common(ids)
        if taken._line:
            self.discard(taken)
        return taken

    def common(self, ids: RangeSet) -> RangeSet:
        """Returns the ids that are in this set.  Costs the ranges of `ids` and those of this set that they meet."""
        lows, highs = self.lows, self.highs
        found: list[Range] = []
        for low, high in ids._line:
            at = bisect_left(highs, low)
            while at < len(lows) and lows[at] <= high:
                found.append((max(low, lows[at]), min(high, highs[at])))
                at += 1
        return RangeSet._of_line(tuple(found))

    def next_from(self, id: int) -> int | None:
        """Returns the first id of the set from `id` on, around the circle; None when the set is empty."""
        lows, highs = self.lows, self.highs
        if not lows:
            return None
        at = bisect_left(highs, id)
        return max(id, lows[at]) if at < len(lows) else lows[0]

    def discard_id(self, id: int) -> None:
        """Removes an id if it is present."""
        at = bisect_right(self.lows, id) - 1
        if at < 0 or id > self.highs[at]:
            return
        low, high = self.lows[at], self.highs[at]
        if low == high:
            del self.lows[at]
            del self.highs[at]
        elif id == low:
            self.lows[at] = id + 1
        elif id == high:
            self.highs[at] = id - 1
        else:
            self.highs[at] = id - 1
            self.lows.insert(at + 1, id + 1)
            self.highs.insert(at + 1, high)

    def missing(self, ids: RangeSet) -> RangeSet:
        """Returns the ids that are not in this set.  Costs the ranges of `ids` and those of this set that they meet."""
        lows, highs = self.lows, self.highs
        if len(ids._line) == 1 and (not highs or ids._line[0][0] > highs[-1]):  # nearly always: what follows
            return ids
        left: list[Range] = []
        for low, high in ids._line:
            at = bisect_left(highs, low)
            while at < len(lows) and lows[at] <= high:
                if lows[at] > low:
                    left.append((low, lows[at] - 1))
                low = highs[at] + 1
                at += 1
            if low <= high:
                left.append((low, high))
        return RangeSet._of_line(tuple(left))

    def around(self, ids: RangeSet) -> RangeSet:
        """Returns the whole ranges of this set that contain ids of that one."""
        lows, highs = self.lows, self.highs
        found: list[Range] = []
        for low, high in ids._line:
            at = bisect_left(highs, low)
            if found and at < len(highs) and highs[at] == found[-1][1]:
                at += 1
            while at < len(lows) and lows[at] <= high:
                found.append((lows[at], highs[at]))
                at += 1
        return RangeSet._of_line(tuple(found))

    def first_ranges(self, id: int, most: int) -> RangeSet:
        """Returns the first ranges, at most `most`, from `id` on, around the circle; omits the part of a range before it."""
        lows, highs = self.lows, self.highs
        at = bisect_left(highs, id)
        found = [(max(id, low), high) for low, high in zip(lows[at : at + most], highs[at : at + most], strict=True)]
        left = min(at, most - len(found))
        return RangeSet._of_line(merge([*zip(lows[:left], highs[:left], strict=True), *found]))

    def first_within(self, low: int, high: int) -> Range | None:
        """Returns the first consecutive ids from `low` to `high`, which is not less; None when there are none."""
        at = bisect_left(self.highs, low)
        if at == len(self.highs) or self.lows[at] > high:
            return None
        return max(low, self.lows[at]), min(high, self.highs[at])

    def end_of(self, id: int) -> int:
        """Returns the last id of the range that contains this id, which must be present."""
        return self.highs[bisect_left(self.highs, id)]

    def clear(self) -> None:
        """Removes all ids."""
        self.lows.clear()
        self.highs.clear()

    def freeze(self) -> RangeSet:
        """Returns an immutable copy."""
        lows = self.lows
        if len(lows) == 1:  # nearly always
            return RangeSet._of_line(((lows[0], self.highs[0]),))
        return RangeSet._of_line(tuple(zip(lows, self.highs, strict=True)))

    @property
    def range_count(self) -> int:
        """The number of ranges; one that wraps counts twice."""
        return len(self.lows)

    def __bool__(self) -> bool:
        return bool(self.lows)

    def __len__(self) -> int:
        return sum(self.highs) - sum(self.lows) + len(self.lows)

    def __contains__(self, id: object) -> bool:
        if not isinstance(id, int):
            return False
        at = bisect_right(self.lows, id) - 1
        return at >= 0 and id <= self.highs[at]

    def __repr__(self) -> str:
        return f"Mutable{self.freeze()!r}"

    def copy(self) -> MutableRangeSet:
        """Returns a copy."""
        return MutableRangeSet(self.freeze())

    def _replace(self, line: tuple[Range, ...]) -> None:
        self.lows = [low for low, _ in line]
        self.highs = [high for _, high in line]

    def _cut_line(self, low: int, high: int) -> None:
        lows, highs = self.lows, self.highs
        start = bisect_left(highs, low)
        stop = bisect_right(lows, high)
        if start >= stop:
            return
        first, last = lows[start], highs[stop - 1]
        left_lows: list[int] = []
        left_highs: list[int] = []
        if first < low:
            left_lows.append(first)
            left_highs.append(low - 1)
        if last > high:
            left_lows.append(high + 1)
            left_highs.append(last)
        lows[start:stop] = left_lows
        highs[start:stop] = left_highs

    def _add_line(self, low: int, high: int) -> None:
        lows, highs = self.lows, self.highs
        # The ranges that touch or overlap the new one: those that end at low - 1 or later and begin at high + 1 or earlier.
        start = bisect_left(highs, low - 1)
        stop = bisect_right(lows, high + 1)
        if start < stop:
            low = min(low, lows[start])
            high = max(high, highs[stop - 1])
        lows[start:stop] = [low]
        highs[start:stop] = [high]


def between(ids: RangeSet, low: int, high: int) -> RangeSet:
    """Returns the ids from `low` to `high`, both included; wraps when low is greater."""
    if len(ids._line) == 1 and low <= high:
        first, last = ids._line[0]
        if last < low or first > high:
            return EMPTY
        if low <= first and last <= high:
            return ids
    return ids & RangeSet.span(low, high)


__all__ = [
    "EMPTY",
    "HALF",
    "MODULUS",
    "TOP",
    "MutableRangeSet",
    "Range",
    "RangeSet",
    "between",
    "serial_add",
    "serial_diff",
    "serial_le",
    "serial_lt",
    "whole",
]
