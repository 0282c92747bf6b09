"""Entries in the order of a number of theirs, in blocks: ends in no time, any place in the time of a bisection."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Final

from amqp_sansio.broker.model.entry import Entry

BLOCK: Final = 512
"""Entries of a block that is filled from behind; one that is filled in the middle is halved at twice as many."""

_position: Final = attrgetter("position")


class Line:
    """Entries by `key`, ascending: by their positions unless another number is named.  No block is empty."""

    __slots__ = ("_blocks", "_key")

    def __init__(self, key: Callable[[Entry], int] = _position) -> None:
        self._blocks: list[list[Entry]] = []
        self._key: Final = key

    def _first(self, block: list[Entry]) -> int:
        return self._key(block[0])

    @property
    def head(self) -> Entry | None:
        """The first one."""
        return self._blocks[0][0] if self._blocks else None

    def append(self, entry: Entry) -> None:
        """Puts an entry with the highest key so far behind all others."""
        blocks = self._blocks
        if blocks and len(blocks[-1]) < BLOCK:
            blocks[-1].append(entry)
        else:
            blocks.append([entry])

    def insert(self, entry: Entry) -> None:
        """Puts an entry where its key belongs."""
        blocks = self._blocks
        if not blocks:
            blocks.append([entry])
            return
        key = self._key
        place = key(entry)
        at = max(bisect_right(blocks, place, key=self._first) - 1, 0)
        block = blocks[at]
        if key(block[-1]) < place:
            block.append(entry)
        else:
            block.insert(bisect_left(block, place, key=key), entry)
        if len(block) > 2 * BLOCK:
            blocks[at : at + 1] = [block[:BLOCK], block[BLOCK:]]

    def remove(self, entry: Entry) -> None:
        """Takes an entry out, which is in."""
        blocks = self._blocks
        block = blocks[0]
        if block[0] is entry:
            at = 0
            del block[0]
        else:
            place = self._key(entry)
            at = bisect_right(blocks, place, key=self._first) - 1
            block = blocks[at]
            del block[bisect_left(block, place, key=self._key)]
        if not block:
            del blocks[at]

    def after(self, place: int) -> Entry | None:
        """The first one whose key is higher."""
        blocks = self._blocks
        key = self._key
        at = max(bisect_right(blocks, place, key=self._first) - 1, 0)
        if at < len(blocks):
            block = blocks[at]
            if key(block[-1]) > place:
                return block[bisect_right(block, place, key=key)]
            if at + 1 < len(blocks):
                return blocks[at + 1][0]
        return None

    def __iter__(self) -> Iterator[Entry]:
        for block in self._blocks:
            yield from block

    def __bool__(self) -> bool:
        return bool(self._blocks)
