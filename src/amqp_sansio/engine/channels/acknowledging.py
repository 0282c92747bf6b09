"""Acknowledges a set of tags with as few methods as possible: one by one, or "all up to and including"."""

from __future__ import annotations

from collections.abc import Iterator

from amqp_sansio.kernel.serials import HALF, MODULUS, TOP, MutableRangeSet, RangeSet, serial_add


def fewest(tags: RangeSet, outstanding: MutableRangeSet, next_tag: int) -> Iterator[tuple[int, bool]]:
    """Returns the fewest acknowledgements that name exactly `tags`, all of them `outstanding`: each a tag, and whether it
    includes all before it.

    One acknowledgement covers the oldest outstanding tags, as far as all of them are named; the others need one each.
    `next_tag` is that of the next delivery: serial numbers are ordered by it.
    """
    ranges = tags.ranges
    begin = serial_add(next_tag, -HALF)
    first = outstanding.next_from(begin)
    taken = 0
    last = None
    for low, high in ranges:
        if first != low:
            break
        last, taken = high, taken + 1
        first = outstanding.next_from(serial_add(high, 1))
    if last is not None:
        yield last, ranges[0][0] != last
    for low, high in ranges[taken:]:
        yield from _each(low, high)


def one_by_one(tags: RangeSet) -> Iterator[tuple[int, bool]]:
    """Returns acknowledgements of one tag each."""
    for low, high in tags.ranges:
        yield from _each(low, high)


def _each(low: int, high: int) -> Iterator[tuple[int, bool]]:
    """Yields each tag of a range.  All are outstanding, so that a limit bounds how many there are."""
    for tag in range(low, high + 1 if low <= high else high + 1 + MODULUS):
        yield tag & TOP, False
