"""Single deliveries: transfers that their recipient has not finished, along the rows of `tables.transfer`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Generic, NamedTuple, TypeAlias, TypeVar

from amqp_sansio.kernel.picking import pick
from amqp_sansio.kernel.serials import RangeSet
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
        for id, delivery, _ in planned:
            self.provisional[id] = delivery

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
