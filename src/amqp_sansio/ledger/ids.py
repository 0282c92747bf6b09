"""One half of a session: the ids of the commands that one side sends, and the other side's feedback about them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from amqp_sansio.kernel.machine import Machine
from amqp_sansio.kernel.serials import HALF, TOP, MutableRangeSet, RangeSet, between, serial_add
from amqp_sansio.tables.session import STREAM

WIDEST: Final = 1 << 30
"""A set of ids wider than this drops its oldest ids, long before serial numbers lose their order at 2**31."""


def trim(ids: MutableRangeSet, next_id: int) -> None:
    """Drops the oldest half of a set that is too wide for serial numbers; the other side knew them long ago."""
    oldest = ids.next_from(serial_add(next_id, 1))
    if oldest is not None and (next_id - oldest) & TOP > WIDEST:
        ids.discard(RangeSet([(serial_add(next_id, 1), serial_add(next_id, -WIDEST // 2))]))


def bound(ids: MutableRangeSet, next_id: int, ranges: int) -> bool:
    """Keeps at most `ranges` ranges of a set of ids before the next id; returns whether it dropped the oldest."""
    excess = ids.range_count - ranges
    if excess > 0:
        ids.discard(ids.first_ranges(serial_add(next_id, 1 - HALF), excess))
    return excess > 0


class Ids:
    """Commands by id, until their receiver completes them.

    * `next_id`: of the next command.
    * `outstanding`: sent, as far as known, and not complete: in doubt when nothing more arrives.
    * `confirmed`: those of them that will certainly complete.
    * `known`: complete, and not yet acknowledged by their sender with known-completed, if it has to.
    * `awaited`: the name of each awaited result, for matching.
    """

    __slots__ = ("awaited", "confirmed", "known", "next_id", "outstanding")

    def __init__(self, next_id: int = 0) -> None:
        self.next_id = next_id
        self.outstanding: MutableRangeSet = MutableRangeSet()
        self.confirmed: MutableRangeSet = MutableRangeSet()
        self.known: MutableRangeSet = MutableRangeSet()
        self.awaited: dict[int, str] = {}

    # --- sent by the sender ---------------------------------------------------------------------------------------------------

    def take(self) -> int:
        """Notes that a command is sent; returns its id."""
        id = self.next_id
        self.next_id = id + 1 & TOP
        highs = self.outstanding.highs
        if highs and id and highs[-1] == id - 1:  # nearly always: `add` inlined
            highs[-1] = id
        else:
            self.outstanding.add(id)
        return id

    def take_run(self, count: int) -> int | None:
        """Notes that `count` commands are sent; returns the first id.  None, with nothing changed, where ids wrap."""
        id = self.next_id
        if id + count > TOP:
            return None
        self.next_id = id + count
        self.outstanding.add_range(id, id + count - 1)
        return id

    def wait(self, id: int, result: str, results: int) -> int | None:
        """Notes that the last command has a result of this name.

        Beyond `results` of them it drops the oldest and returns its id; None where all are kept.
        """
        oldest = next(iter(self.awaited)) if len(self.awaited) >= results else None
        if oldest is not None:
            del self.awaited[oldest]
        self.awaited[id] = result
        return oldest

    def skip(self, ids: RangeSet) -> None:
        """Notes that these will never come."""
        self.outstanding.discard(ids)
        self.confirmed.discard(ids)

    # --- sent by the receiver -------------------------------------------------------------------------------------------------

    def beyond(self, ids: RangeSet) -> RangeSet:
        """Returns the ids that were not sent yet, about which no feedback is possible."""
        return between(ids, self.next_id, serial_add(self.next_id, HALF - 1))

    def complete(self, ids: RangeSet) -> RangeSet:
        """Notes that these are complete; returns those that are new.  Ignores ids that were never sent."""
        news = self.outstanding.take(ids)
        if news and self.confirmed:
            self.confirmed.discard(news)
        return news

    def complete_run(self, low: int, high: int) -> RangeSet | None:
        """Like `complete` for the ids from `low` to `high`, without set algebra, which is nearly always possible.

        Returns None, with nothing changed, unless all of them were sent, the oldest outstanding ones are among them, and what
        is outstanding is one range.
        """
        lows, highs = self.outstanding.lows, self.outstanding.highs
        if len(highs) != 1 or not low <= (first := lows[0]) <= high < self.next_id <= low + HALF:
            return None
        if (last := highs[0]) > high:
            last = high
            lows[0] = high + 1
        else:
            lows.clear()
            highs.clear()
        news = RangeSet.span(first, last)
        if self.confirmed.highs:
            self.confirmed.discard(news)
        return news

    def confirm(self, ids: RangeSet) -> RangeSet:
        """Notes that these will certainly complete; returns those that are new.  Ignores ids that were never sent."""
        news = self.confirmed.missing(self.outstanding.common(ids))
        if news:
            self.confirmed.update(news)
        return news

    def bound(self, ranges: int) -> bool:
        """Keeps at most `ranges` ranges of what is outstanding.

        Returns whether it dropped the oldest, which begins doubt.
        """
        return bound(self.outstanding, self.next_id, ranges)


class OwnIds(Ids):
    """The commands of `sender`, as kept by one of the two sides from the beginning.

    * `begun`: some were sent; until then none are known.
    * `stream`: what is legal about them on this attachment.
    """

    __slots__ = ("begun", "sender", "stream")

    def __init__(self, sender: str) -> None:
        super().__init__()
        self.begun = False
        self.sender: Final = sender
        self.stream = Machine(STREAM[sender])

    def begin_attachment(self) -> None:
        """Begins a new attachment: nothing may come before a command-point."""
        self.stream = Machine(STREAM[self.sender])

    def beyond(self, ids: RangeSet) -> RangeSet:
        """Like `Ids.beyond`; before the first command, all ids are."""
        return super().beyond(ids) if self.begun else ids

    def _sets(self, names: Mapping[str, str]) -> dict[str, object]:
        """Returns its sets of ids as plain values: these attributes, by their names in a snapshot."""
        return {name: getattr(self, attribute).freeze().ranges for name, attribute in names.items()}

    def _restore_sets(self, names: Mapping[str, str], snapshot: Mapping[str, Any]) -> None:
        for name, attribute in names.items():
            setattr(self, attribute, MutableRangeSet(RangeSet(snapshot[name])))
