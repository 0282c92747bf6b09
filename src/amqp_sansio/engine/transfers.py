"""The transfers that we received and have not finished with: their states run along the rows of `tables.transfer`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from amqp_sansio.errors import LocalProtocolError
from amqp_sansio.kernel.picking import pick
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.tables import transfer as rows

if TYPE_CHECKING:
    from amqp_sansio.engine.subscription import Subscription

EXPLICIT: Final = 0
NONE: Final = 1
PRE_ACQUIRED: Final = 0
NOT_ACQUIRED: Final = 1


class Delivery(NamedTuple):
    """One transfer: its state in the table of its accept-mode, whose subscription it came for, its cost in octets.

    `charge` is what of that cost the server is held to (see `Standing.charges_headers`).
    """

    state: str
    accept_mode: int
    subscription: Subscription | None
    octets: int
    completed: bool
    charge: int


_MOVES: Final = {accept_mode: table.moves for accept_mode, table in rows.TRANSFER.items()}

RULES: Final = {
    rows.ACCEPT: "message.accept.acquisition",
    rows.REJECT: "message.reject.acquisition",
}


class Transfers:
    """`deliveries` by command id: those that are not settled or not completed.

    `provisional`: those accepted in a local transaction that is open; its rollback makes them acquired again.
    """

    __slots__ = ("deliveries", "provisional")

    def __init__(self) -> None:
        self.deliveries: dict[int, Delivery] = {}
        self.provisional: dict[int, Delivery] = {}

    def plan(self, verb: str, ids: RangeSet) -> list[tuple[int, Delivery, str]]:
        """The deliveries, and the states that they come into, when the recipient says `verb` about `ids`; changes nothing.

        LocalProtocolError when it may not be said about every one of them.
        """
        found = pick(ids, self.deliveries)
        planned: list[tuple[int, Delivery, str]] = []
        bad: list[int] = []
        for id in found:
            delivery = self.deliveries[id]
            state = _MOVES[delivery[1]].get((delivery[0], rows.RECIPIENT, verb))
            if state is None:
                bad.append(id)
            else:
                planned.append((id, delivery, state))
        if bad or len(found) != len(ids) or not ids:
            raise self._misuse(verb, ids, bad)
        return planned

    def apply(self, planned: list[tuple[int, Delivery, str]], ids: RangeSet, completes: bool) -> RangeSet:
        """Makes a plan about `ids` true.

        With `completes`, what is settled is completed as well: returns what was not so before.
        """
        deliveries = self.deliveries
        done: list[int] = []
        given: dict[Subscription, tuple[int, int, int]] = {}
        for id, delivery, state in planned:
            if state != rows.END or not (completes or delivery.completed):
                deliveries[id] = delivery._replace(state=state)
                continue
            del deliveries[id]
            if not delivery.completed:
                done.append(id)
                subscription = delivery.subscription
                if subscription is not None:
                    messages, octets, charge = given.get(subscription, (0, 0, 0))
                    given[subscription] = messages + 1, octets + delivery.octets, charge + delivery.charge
        for subscription, (messages, octets, charge) in given.items():
            subscription._complete(messages, octets, charge)
        return ids if len(done) == len(planned) else RangeSet.of(*done)

    def accepted_provisionally(self, planned: list[tuple[int, Delivery, str]]) -> None:
        """What a plan is about is accepted in a transaction; to be said before `apply`."""
        for id, delivery, _ in planned:
            self.provisional[id] = delivery

    def decided(self, committed: bool) -> None:
        """The transaction is over: what was accepted in it is ours for good or, rolled back, acquired and not accepted."""
        if not committed:
            for id, delivery in self.provisional.items():
                now = self.deliveries.get(id)
                self.deliveries[id] = delivery._replace(completed=True if now is None else now.completed)
        self.provisional.clear()

    def acquired(self, asked: RangeSet, acquired: RangeSet) -> None:
        """The result of an acquire for `asked` came: `acquired` are ours now, the others are as before."""
        for id in pick(asked, self.deliveries):
            delivery = self.deliveries[id]
            verb = rows.RESULT_ACQUIRED if id in acquired else rows.RESULT_NOT_ACQUIRED
            state = rows.TRANSFER[delivery.accept_mode].moves.get((delivery.state, rows.SENDER, verb))
            if state is None:
                continue
            if delivery.completed and delivery.accept_mode == NONE:
                del self.deliveries[id]
            else:
                self.deliveries[id] = delivery._replace(state=state)

    def complete(self, ids: RangeSet) -> None:
        """These commands are completed: gives the window back, and forgets what is settled too."""
        for id in pick(ids, self.deliveries):
            delivery = self.deliveries[id]
            if delivery.completed:
                continue
            if delivery.subscription is not None:
                delivery.subscription._complete(1, delivery.octets, delivery.charge)
            moves = rows.TRANSFER[delivery.accept_mode].moves
            state = moves.get((delivery.state, rows.RECIPIENT, rows.COMPLETE), delivery.state)
            if state == rows.END:
                del self.deliveries[id]
            else:
                self.deliveries[id] = delivery._replace(state=state, completed=True)

    def unsettled(self, subscription: Subscription | None = None) -> RangeSet:
        """Transfers with explicit accept that are neither accepted, rejected nor released."""
        return RangeSet([
            (id, id)
            for id, d in self.deliveries.items()
            if d.state != rows.END and d.accept_mode == EXPLICIT and subscription in (None, d.subscription)
        ])  # fmt: skip

    def _misuse(self, verb: str, ids: RangeSet, bad: list[int]) -> LocalProtocolError:
        able: list[int] = []
        for id, delivery in self.deliveries.items():
            if (delivery.state, rows.RECIPIENT, verb) in rows.TRANSFER[delivery.accept_mode].moves:
                able.append(id)
        legal = [f"{verb} {RangeSet.of(*able)}"] if able else []
        if bad:
            delivery = self.deliveries[bad[0]]
            words = rows.TRANSFER[delivery.accept_mode].legal([delivery.state])
            legal += [f"{word.removeprefix('recipient:')} {bad[0]}" for word in words if word.startswith("recipient:")]
            state = f"{bad[0]} is {delivery.state}"
        else:
            state = "no such unsettled transfer" if ids else "no ids"
        return LocalProtocolError(f"{verb} {ids}", state, tuple(legal), RULES.get(verb, "message"))
