"""Entries in the order of their positions, in blocks: ends in no time, any place in the time of a bisection."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from operator import attrgetter
from typing import Final

from amqp_sansio.broker.model.entry import Entry

BLOCK: Final = 512
"""Entries of a block that is filled from behind; one that is filled in the middle is halved at twice as many."""

_position: Final = attrgetter("position")


def _first(block: list[Entry]) -> int:
    return block[0].position


class Line:
    """Entries by position, ascending.  No block is empty."""

    __slots__ = ("_blocks",)

    def __init__(self) -> None:
        self._blocks: list[list[Entry]] = []

    @property
    def head(self) -> Entry | None:
        """The first one."""
        return self._blocks[0][0] if self._blocks else None

    def append(self, entry: Entry) -> None:
        """Puts an entry with the highest position so far behind all others."""
        blocks = self._blocks
        if blocks and len(blocks[-1]) < BLOCK:
            blocks[-1].append(entry)
        else:
            blocks.append([entry])

    def insert(self, entry: Entry) -> None:
        """Puts an entry where its position belongs."""
        blocks = self._blocks
        if not blocks:
            blocks.append([entry])
            return
        at = max(bisect_right(blocks, entry.position, key=_first) - 1, 0)
        block = blocks[at]
        if block[-1].position < entry.position:
            block.append(entry)
        else:
            block.insert(bisect_left(block, entry.position, key=_position), entry)
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
            at = bisect_right(blocks, entry.position, key=_first) - 1
            block = blocks[at]
            del block[bisect_left(block, entry.position, key=_position)]
        if not block:
            del blocks[at]

    def after(self, position: int) -> Entry | None:
        """The first one whose position is higher."""
        blocks = self._blocks
        at = max(bisect_right(blocks, position, key=_first) - 1, 0)
        if at < len(blocks):
            block = blocks[at]
            if block[-1].position > position:
                return block[bisect_right(block, position, key=_position)]
            if at + 1 < len(blocks):
                return blocks[at + 1][0]
        return None

    def __iter__(self) -> Iterator[Entry]:
        for block in self._blocks:
            yield from block

    def __bool__(self) -> bool:
        return bool(self._blocks)
