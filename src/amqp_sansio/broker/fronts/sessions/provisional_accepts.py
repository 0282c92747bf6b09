"""The messages that a session has accepted in local transactions, and those of the open one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqp_sansio.broker.fronts.sessions.consumer import Unsettled
from amqp_sansio.kernel.serials import ById, MutableRangeSet, RangeSet

if TYPE_CHECKING:
    from amqp_sansio.broker.model.message import Entry

SPARE_RANGES: Final = 16
"""How many ranges `accepted` may have, beyond twice the transfers, before empty ones are dropped."""


class ProvisionalAccepts(ById[Unsettled]):
    """Transfers by id that the session has accepted in a local transaction at least once, and not settled yet.

    A rollback leaves them here, and an accept costs only the ranges that it names: a client that repeatedly accepts everything
    and rolls back makes the broker look at each transfer once.
    """

    __slots__ = ("accepted",)

    def __init__(self) -> None:
        super().__init__()
        self.accepted: Final = MutableRangeSet()
        """The ids that the open transaction has accepted, and possibly others that are not here."""

    def accept(self, ids: RangeSet) -> None:
        """Records accepts of the open transaction for ids that are here."""
        accepted = self.accepted
        accepted.update(ids)
        if accepted.range_count > 2 * len(self) + SPARE_RANGES:
            here = self.ids.common(accepted.freeze())
            accepted.clear()
            accepted.update(here)

    def accepted_ids(self) -> RangeSet:
        """Returns the ids that the open transaction removes from their queues if committed."""
        return self.ids.common(self.accepted.freeze())

    def entries(self) -> list[Entry]:
        """Returns their messages."""
        return [self[id].entry for id in self.among(self.accepted.freeze())]

    def commit(self) -> None:
        """Settles what the transaction has accepted, and starts the next one."""
        self.take(self.accepted.freeze())
        self.accepted.clear()

    def rollback(self) -> None:
        """Forgets the accepts of the transaction; the transfers stay."""
        self.accepted.clear()

    def clear(self) -> None:
        """Drops all transfers."""
        super().clear()
        self.accepted.clear()
