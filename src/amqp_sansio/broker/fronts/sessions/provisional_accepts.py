"""The messages that a session has accepted in local transactions, and those of the open one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqp_sansio.broker.fronts.sessions.consumer import Unsettled
from amqp_sansio.kernel.picking import ById
from amqp_sansio.kernel.serials import MutableRangeSet, RangeSet

if TYPE_CHECKING:
    from amqp_sansio.broker.model.entry import Entry

SPARE_RANGES: Final = 16
"""Ranges that `accepted` may have beyond twice the transfers, before those are dropped in which nothing is."""


class ProvisionalAccepts(ById[Unsettled]):
    """Transfers by id that the session has accepted in a local transaction at least once, and that are not settled yet.

    A rollback leaves them here, and an accept of what is here costs the ranges that it names: a client that accepts everything
    and rolls back, again and again, makes the broker look at each transfer once.
    """

    __slots__ = ("accepted",)

    def __init__(self) -> None:
        super().__init__()
        self.accepted: Final = MutableRangeSet()
        """The ids that the open transaction has accepted, and others of which nothing is here."""

    def accept(self, ids: RangeSet) -> None:
        """The open transaction accepts those of the ids that are here."""
        accepted = self.accepted
        accepted.update(ids)
        if accepted.range_count > 2 * len(self) + SPARE_RANGES:
            here = self.ids.common(accepted.freeze())
            accepted.clear()
            accepted.update(here)

    def accepted_ids(self) -> RangeSet:
        """The ids that the open transaction takes off their queues if it is committed."""
        return self.ids.common(self.accepted.freeze())

    def entries(self) -> list[Entry]:
        """Their messages."""
        return [self[id].entry for id in self.among(self.accepted.freeze())]

    def commit(self) -> None:
        """What the transaction has accepted is settled, and the next one has accepted nothing."""
        self.take(self.accepted.freeze())
        self.accepted.clear()

    def rollback(self) -> None:
        """The transaction has accepted nothing; what is here is the session's as before."""
        self.accepted.clear()

    def clear(self) -> None:
        """Nothing is here any more."""
        super().clear()
        self.accepted.clear()
