"""Transfers along the rows of `tables.transfer`: single deliveries, for working on them, and sets of ids, for judging words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Generic, NamedTuple, TypeAlias, TypeVar

from amqp_sansio.kernel.picking import pick
from amqp_sansio.kernel.serials import EMPTY, MutableRangeSet, Range, RangeSet
from amqp_sansio.ledger.ids import bound
from amqp_sansio.tables import transfer as rows

W = TypeVar("W")

EXPLICIT: Final = 0
NONE: Final = 1


class Delivery(NamedTuple, Generic[W]):
    """One transfer: its state in the table of its accept-mode, its subscription, its cost in octets.

    `charge` is the part of the cost that its sender is held to.
    """

    state: str
    accept_mode: int
    subscription: W | None
    octets: int
    completed: bool
    charge: int


_MOVES: Final = {accept_mode: table.moves for accept_mode, table in rows.TRANSFER.items()}

Plan: TypeAlias = list[tuple[int, Delivery[W], str]]
"""Deliveries by id, with their next states."""
Completed: TypeAlias = dict[W, tuple[int, int, int]]
"""By subscription: how many messages were completed, their octets, and their charge."""


class Transfers(Generic[W]):
    """`deliveries` by command id: those that are not settled or not completed.

    `provisional`: those accepted in an open local transaction; its rollback makes them acquired again.
    """

    __slots__ = ("deliveries", "provisional")

    def __init__(self) -> None:
        self.deliveries: dict[int, Delivery[W]] = {}
        self.provisional: dict[int, Delivery[W]] = {}

    def plan(self, verb: str, ids: RangeSet) -> tuple[Plan[W], list[int]]:
        """Returns the effect of the recipient's `verb` about `ids`, and the ids for which it is illegal; changes nothing."""
        planned: Plan[W] = []
        bad: list[int] = []
        for id in pick(ids, self.deliveries):
            delivery = self.deliveries[id]
            state = _MOVES[delivery[1]].get((delivery[0], rows.RECIPIENT, verb))
            if state is None:
                bad.append(id)
            else:
                planned.append((id, delivery, state))
        return planned, bad

    def apply(self, planned: Plan[W], ids: RangeSet, completes: bool) -> tuple[RangeSet, Completed[W]]:
        """Applies a plan about `ids`.

        With `completes`, what is settled is completed as well, unless it was before.
        """
        deliveries = self.deliveries
        done: list[int] = []
        given: Completed[W] = {}
        for id, delivery, state in planned:
            if state != rows.END or not (completes or delivery.completed):
                deliveries[id] = delivery._replace(state=state)
                continue
            del deliveries[id]
            if not delivery.completed:
                done.append(id)
                _count(given, delivery)
        return (ids if len(done) == len(planned) else RangeSet.of(*done)), given

    def accepted_provisionally(self, planned: Plan[W]) -> None:
        """Notes that the plan's deliveries are accepted in a transaction; call it before `apply`."""
        self.provisional.update({id: delivery for id, delivery, _ in planned})

    def decided(self, committed: bool) -> None:
        """Ends the transaction: what was accepted in it is ours for good or, rolled back, acquired and not accepted."""
        if not committed:
            for id, delivery in self.provisional.items():
                now = self.deliveries.get(id)
                self.deliveries[id] = delivery._replace(completed=True if now is None else now.completed)
        self.provisional.clear()

    def acquired(self, asked: RangeSet, acquired: RangeSet) -> None:
        """Notes the result of an acquire for `asked`: `acquired` are ours now, the others are as before."""
        for id in pick(asked, self.deliveries):
            delivery = self.deliveries[id]
            verb = rows.RESULT_ACQUIRED if id in acquired else rows.RESULT_NOT_ACQUIRED
            state = _MOVES[delivery.accept_mode].get((delivery.state, rows.SENDER, verb))
            if state is None:
                continue
            if delivery.completed and delivery.accept_mode == NONE:
                del self.deliveries[id]
            else:
                self.deliveries[id] = delivery._replace(state=state)

    def complete(self, ids: RangeSet) -> Completed[W]:
        """Completes these commands; returns what is new.  Drops what is also settled."""
        given: Completed[W] = {}
        for id in pick(ids, self.deliveries):
            delivery = self.deliveries[id]
            if delivery.completed:
                continue
            _count(given, delivery)
            state = _MOVES[delivery.accept_mode].get((delivery.state, rows.RECIPIENT, rows.COMPLETE), delivery.state)
            if state == rows.END:
                del self.deliveries[id]
            else:
                self.deliveries[id] = delivery._replace(state=state, completed=True)
        return given

    def unsettled(self, subscription: W | None = None) -> RangeSet:
        """Returns transfers with explicit accept that are neither accepted, rejected nor released."""
        return RangeSet([
            (id, id)
            for id, d in self.deliveries.items()
            if d.state != rows.END and d.accept_mode == EXPLICIT and subscription in (None, d.subscription)
        ])  # fmt: skip

    def _tables(self) -> dict[str, dict[int, Delivery[W]]]:
        """Returns both tables, by their names in a snapshot."""
        return {"deliveries": self.deliveries, "provisional": self.provisional}

    def subscriptions(self) -> list[W]:
        """Returns the subscriptions of deliveries, one for each."""
        every = (*self.deliveries.values(), *self.provisional.values())
        return [delivery.subscription for delivery in every if delivery.subscription is not None]

    def snapshot(self, numbers: Mapping[W, int]) -> dict[str, object]:
        """Returns it as plain values, with subscriptions as these numbers."""
        return {
            name: tuple([
                (id, state, accept_mode, None if whose is None else numbers[whose], *more)
                for id, (state, accept_mode, whose, *more) in table.items()
            ])
            for name, table in self._tables().items()
        }  # fmt: skip

    def restore(self, snapshot: Mapping[str, Any], subscriptions: Sequence[W]) -> None:
        """Restores what `snapshot` returned, with `subscriptions` by number.  Raises TypeError, ValueError or KeyError for
        anything else."""
        for name, table in self._tables().items():
            for id, state, accept_mode, at, *more in snapshot[name]:
                table[id] = Delivery(state, accept_mode, None if at is None else subscriptions[at], *more)


def _count(given: Completed[W], delivery: Delivery[W]) -> None:
    subscription = delivery.subscription
    if subscription is not None:
        messages, octets, charge = given.get(subscription, (0, 0, 0))
        given[subscription] = messages + 1, octets + delivery.octets, charge + delivery.charge


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
