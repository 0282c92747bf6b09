"""What of a table is under ids that somebody named: at the cost of whichever of the two is smaller."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from amqp_sansio.kernel.serials import MODULUS, TOP, RangeSet

_T = TypeVar("_T")


def pick(ids: RangeSet, live: Mapping[int, _T]) -> list[int]:
    """The keys of `live` that are in the set, ascending by RFC 1982.

    Costs whichever is smaller, the ids of the set or the keys, and never more than the keys a few times over.
    """
    ranges = ids.ranges
    if not live or not ranges:
        return []
    low, high = ranges[0]
    if low == high and len(ranges) == 1:  # who waits for each one by itself
        return [low] if low in live else []
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


def take(ids: RangeSet, live: dict[int, _T]) -> list[_T]:
    """What `live` holds (never None) under ids of the set, ascending by RFC 1982; it holds that no more.  Costs what `pick`
    does."""
    ranges = ids.ranges
    if len(ranges) == 1:
        low, high = ranges[0]
        if 0 <= high - low < len(live):
            pop = live.pop
            return [each for each in [pop(id, None) for id in range(low, high + 1)] if each is not None]
    return [live.pop(id) for id in pick(ids, live)]
