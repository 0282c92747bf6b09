"""Serial numbers of 32 bits (RFC 1982), sets of them as ranges, and tables by them.

The numbers lie on a circle: 0 follows 2**32 - 1.  A line is an ascending tuple of disjoint ranges that neither touch
nor wrap.  Every operation is algebra on ranges, because a single range may hold billions of ids: nothing here iterates them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias, TypeVar

MODULUS: Final = 1 << 32
"""The number of serial numbers."""
HALF: Final = 1 << 31
TOP: Final = MODULUS - 1
"""The largest serial number."""

Range: TypeAlias = tuple[int, int]
"""Both ends belong to the range; it wraps when the first is greater than the second."""


def whole(value: object, most: int = TOP) -> bool:
    """Whether a value, which callers may have given, is an int from 0 to `most`."""
    return isinstance(value, int) and 0 <= value <= most


def check(number: int) -> int:
    """Returns the number.  Raises ValueError when it is not a serial number."""
    if not whole(number):
        raise ValueError(f"{number} is not a serial number: 0 to {TOP}")
    return number


def line_of(ranges: Iterable[Range]) -> tuple[Range, ...]:
    """Returns the line of any ranges, which may wrap, touch, overlap and come in any order."""
    pieces: list[Range] = []
    for low, high in ranges:
        check(low)
        check(high)
        if low <= high:
            pieces.append((low, high))
        else:
            pieces.append((low, TOP))
            pieces.append((0, high))
    pieces.sort()
    return merge(pieces)


def merge(pieces: list[Range]) -> tuple[Range, ...]:
    """Returns the line of ascending pieces that may touch and overlap."""
    if len(pieces) < 2:
        return tuple(pieces)
    merged: list[Range] = []
    low, high = pieces[0]
    for next_low, next_high in pieces:
        if next_low <= high + 1:
            if next_high > high:
                high = next_high
        else:
            merged.append((low, high))
            low, high = next_low, next_high
    merged.append((low, high))
    return tuple(merged)


def intersect(a: tuple[Range, ...], b: tuple[Range, ...]) -> tuple[Range, ...]:
    """Returns the ids in both lines."""
    found: list[Range] = []
    i = j = 0
    while i < len(a) and j < len(b):
        low = max(a[i][0], b[j][0])
        high = min(a[i][1], b[j][1])
        if low <= high:
            found.append((low, high))
        if a[i][1] < b[j][1]:
            i += 1
        else:
            j += 1
    return tuple(found)


def subtract(a: tuple[Range, ...], b: tuple[Range, ...]) -> tuple[Range, ...]:
    """Returns the ids in the first line and not in the second."""
    left: list[Range] = []
    j = 0
    for low, high in a:
        while j < len(b) and b[j][1] < low:
            j += 1
        k = j
        while k < len(b) and b[k][0] <= high:
            if b[k][0] > low:
                left.append((low, b[k][0] - 1))
            low = b[k][1] + 1
            k += 1
        if low <= high:
            left.append((low, high))
    return tuple(left)


def circle(line: tuple[Range, ...]) -> tuple[Range, ...]:
    """Returns the ranges of a non-empty line in their order on the circle.

    They start after the widest gap; that is the ascending order of RFC 1982 for every set that fits into half the circle, and a
    deterministic order for all others.
    """
    if line[-1][1] - line[0][0] < HALF:
        return line
    ranges = list(line)
    if len(ranges) > 1 and ranges[0][0] == 0 and ranges[-1][1] == TOP:
        ranges[-1] = (ranges[-1][0], ranges[0][1])
        del ranges[0]
    start = max(range(len(ranges)), key=lambda at: ((ranges[at][0] - ranges[at - 1][1]) & TOP, -ranges[at][0]))
    return tuple(ranges[start:] + ranges[:start])


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
