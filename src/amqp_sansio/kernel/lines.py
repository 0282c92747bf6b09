"""Lines: ascending tuples of disjoint, non-touching ranges of serial numbers within 0 to TOP, none of which wraps.

Every operation costs the number of ranges, never the ids inside one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias

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
