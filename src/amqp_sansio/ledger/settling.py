"""The states of one sender's transfers, by the rows of TRANSFER: a set of ids per state, and nothing per message.

For judging words about transfers; `ledger.transfers` keeps each one, for working on them.
"""

from __future__ import annotations

from typing import Final

from amqp_sansio.kernel.serials import EMPTY, MutableRangeSet, Range, RangeSet
from amqp_sansio.ledger.ids import bound
from amqp_sansio.tables import transfer as rows


class Settling:
    """Takes transfers and both sides' words about them.  A refused word changes nothing.

    Ids that it does not have are in doubt, and no side is accused because of them.
    """

    __slots__ = ("_asked", "_wanted", "standing")

    def __init__(self) -> None:
        self.standing: Final[dict[tuple[int, str], MutableRangeSet]] = {}
        """The ids by accept-mode and state."""
        self._asked: Final[dict[int, tuple[Range, ...]]] = {}
        """The ids of each acquire without a result, by its command id."""
        self._wanted = 0
        """The number of ranges in those."""

    def sent(self, low: int, high: int, accept_mode: int, acquired: bool) -> None:
        """Notes transfers of the sender with ids from `low` to `high`; `acquired`: they are pre-acquired."""
        verb = rows.TRANSFER_PRE_ACQUIRED if acquired else rows.TRANSFER_NOT_ACQUIRED
        self._at(accept_mode, rows.TRANSFER[accept_mode].moves[rows.START, rows.SENDER, verb]).add_range(low, high)

    def said(self, speaker: str, verb: str, ids: RangeSet) -> RangeSet:
        """Takes a word about transfers; returns those of them for which it is illegal."""
        refused = EMPTY
        moved: list[tuple[int, str, RangeSet]] = []
        for (accept_mode, state), standing in self.standing.items():
            found = standing.common(ids)
            if found:
                after = rows.TRANSFER[accept_mode].moves.get((state, speaker, verb))
                if after is None:
                    refused |= found
                elif after != state:
                    standing.discard(found)
                    moved.append((accept_mode, after, found))
        for accept_mode, after, found in moved:
            self._at(accept_mode, after).update(found)
        return refused

    def acquire(self, id: int, ids: RangeSet) -> None:
        """Notes the recipient's acquire with command `id`; its result names those that it gets."""
        self.said(rows.RECIPIENT, rows.ACQUIRE, ids)
        self._asked[id] = ids.ranges
        self._wanted += len(ids.ranges)

    def acquired(self, id: int, ids: RangeSet) -> None:
        """Notes the sender's result for that command: these are the recipient's."""
        asked = self._answered(id)
        self.said(rows.SENDER, rows.RESULT_ACQUIRED, asked & ids)
        self.said(rows.SENDER, rows.RESULT_NOT_ACQUIRED, asked - ids)

    def _answered(self, id: int) -> RangeSet:
        asked = self._asked.pop(id, ())
        self._wanted -= len(asked)
        return RangeSet(asked)

    def bound(self, next_id: int, ranges: int) -> bool:
        """Keeps at most `ranges` ranges of each set of ids before the next id; returns whether it dropped the oldest."""
        gone = [bound(standing, next_id, ranges) for standing in self.standing.values()]
        while self._wanted > ranges:
            gone.append(bool(self._answered(next(iter(self._asked)))))
        return any(gone)

    def lose(self) -> None:
        """Drops everything after a gap."""
        self.standing.clear()
        self._asked.clear()
        self._wanted = 0

    def _at(self, accept_mode: int, state: str) -> MutableRangeSet:
        return self.standing.setdefault((accept_mode, state), MutableRangeSet())
