"""Subscriptions of a session: ours, and the peer's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from amqp_sansio.errors import EncodeError, LocalProtocolError, NoCredit
from amqp_sansio.kernel.serials import RangeSet, pick, serial_lt, whole
from amqp_sansio.kernel.snapshots import typed
from amqp_sansio.ledger.credit import INFINITE, MESSAGE, OCTET, CreditBook
from amqp_sansio.ledger.ids import CompletedSums, TransferBook
from amqp_sansio.spec import message
from amqp_sansio.spec.codes import FlowMode

if TYPE_CHECKING:
    from amqp_sansio.engine.connection import CommandId
    from amqp_sansio.engine.session import Session


CreditCommand: TypeAlias = message.Stop | message.Flush | message.Cancel | message.Flow | message.SetFlowMode


class Terms:
    """What both sides know of a subscription: its queue and destination, its modes and its credit."""

    __slots__ = ("accept_mode", "acquire_mode", "destination", "_book", "queue")

    def __init__(
        self, queue: str, destination: str, accept_mode: int, acquire_mode: int, book: CreditBook | None = None
    ) -> None:
        self.queue: Final = queue
        self.destination: Final = destination
        self.accept_mode: Final = accept_mode
        self.acquire_mode: Final = acquire_mode
        self._book: Final = book or CreditBook()

    @property
    def message_credit(self) -> int:
        """How many more messages may be transferred: 0 to 2**32 - 2, or INFINITE."""
        return self._book.messages.available

    @property
    def octet_credit(self) -> int:
        """How many more octets of header and body may be transferred: 0 to 2**32 - 2, or INFINITE."""
        return self._book.octets.available

    @property
    def mode(self) -> FlowMode:
        """Whether completed transfers give their credit back (WINDOW) or not (CREDIT)."""
        return FlowMode(self._book.mode)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.destination!r} to {self.queue!r}>"


class Subscription(Terms):
    """One of our subscriptions.  Messages come while there is credit in both units; it starts with none, in window mode.

    The credit is an upper bound of what may still come: messages that the peer has sent and we have not read are not subtracted
    yet.
    """

    __slots__ = ("_cancel_id", "_session")

    def __init__(
        self, session: Session, queue: str, destination: str, accept_mode: int, acquire_mode: int, book: CreditBook,
        cancel_id: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__(queue, destination, accept_mode, acquire_mode, book)
        self._session: Final = session
        self._cancel_id = cancel_id
        """The id of the command that cancelled it."""

    @property
    def cancelled(self) -> bool:
        """Whether message.cancel was sent."""
        return self._cancel_id is not None

    @property
    def unsettled(self) -> RangeSet:
        """Transfers of this subscription with explicit accept that are neither accepted, rejected nor released."""
        return self._session._transfers.unsettled(self)

    def grant(self, messages: int, octets: int = INFINITE) -> CommandId:
        """Grants credit in both units, each 0 to 2**32 - 1 (INFINITE); with 0 in either, nothing flows.

        Sends nothing for a unit whose grant is 0 or that already has infinite credit.  Returns the id of the last command sent.
        Raises LocalProtocolError when nothing would be sent.
        """
        for value in (messages, octets):
            if not whole(value, INFINITE):
                raise EncodeError("message.flow.value", f"0 to {INFINITE}, not {value!r}")
        flows = [
            message.Flow(self.destination, unit, value)
            for unit, value, credit in ((MESSAGE, messages, self._book.messages), (OCTET, octets, self._book.octets))
            if value and not (value == INFINITE == credit.limit and not self._book.flushing)
        ]
        if not flows:
            raise LocalProtocolError(
                "message.flow", "all of that is granted already", ("grant of more", "message.stop", "message.flush")
            )
        return self._session.send_all(flows)[-1]

    def flush(self, sync: bool = False) -> CommandId:
        """Asks for what credit and queue allow now, and then drops the credit.  Done when the command is complete."""
        return self._session.send(message.Flush(self.destination), sync=sync)

    def stop(self, sync: bool = False) -> CommandId:
        """Withdraws all credit.  No message comes after the command is complete."""
        return self._session.send(message.Stop(self.destination), sync=sync)

    def cancel(self, sync: bool = False) -> CommandId:
        """Ends the subscription.  Messages may come until the command is complete, and can still be settled later."""
        return self._session.send(message.Cancel(self.destination), sync=sync)

    def set_mode(self, mode: FlowMode, sync: bool = False) -> CommandId:
        """Sets whether completed transfers give their credit back (WINDOW) or not (CREDIT).

        Legal only without credit in either unit.
        """
        return self._session.send(message.SetFlowMode(self.destination, mode), sync=sync)

    def check_usable(self, said: str) -> None:
        """Raises LocalProtocolError when it is cancelled."""
        if self.cancelled:
            raise LocalProtocolError(f"{said} {self.destination!r}", "cancelled", ("message.subscribe",))


class Subscriptions:
    """All of our subscriptions in a session, and the commands that withdraw their credit.

    * `current`: by destination.
    * `withdrawals`: our message.stop, flush and cancel that the peer has not completed yet, with their subscriptions.
    * `completed`: those that it has completed, while earlier messages may still come.
    * `unreported`: ledgers with completions that we have not reported to the peer.
    """

    __slots__ = ("completed", "current", "resumed_at", "unreported", "withdrawals")

    def __init__(self) -> None:
        self.current: Final[dict[str, Subscription]] = {}
        self.withdrawals: Final[dict[int, Subscription]] = {}
        self.completed: Final[list[int]] = []
        self.resumed_at: int | None = None
        """The id of our first command after a resume, until the peer has completed it or a later one."""
        self.unreported: Final[dict[CreditBook, None]] = {}

    def named(self, command: CreditCommand) -> Subscription | None:
        """Returns the subscription that a command names; None when it throttles everything that the peer publishes.

        Raises LocalProtocolError when there is no such subscription, or it is cancelled.
        """
        verb, destination = command.VERB, command.destination or ""
        subscription = self.current.get(destination)
        if subscription is not None:
            subscription.check_usable(verb)
        elif destination or isinstance(command, message.Flush | message.Cancel):
            legal = [f"{verb} {name!r}" for name, each in self.current.items() if not each.cancelled][:8]
            rule = f"{verb}.destination{'.subscription-not-found' if isinstance(command, message.Cancel) else ''}"
            raise LocalProtocolError(f"{verb} {destination!r}", "no such subscription", (*legal, "message.subscribe"), rule)
        return subscription

    def take_back(self, subscription: Subscription, id: int, command: message.Stop | message.Flush | message.Cancel) -> None:
        """Records that our command `id` withdraws a subscription's credit."""
        if isinstance(command, message.Cancel):
            subscription._cancel_id = id
        subscription._book.take_back(id, isinstance(command, message.Flush))
        self.withdrawals[id] = subscription

    def add(self, subscription: Subscription) -> None:
        """Adds a subscription."""
        self.current[subscription.destination] = subscription

    def resume(self, next_id: int) -> None:
        """Records that the session was resumed before our command `next_id`."""
        self.resumed_at = next_id

    def withdraw(self, completed: RangeSet) -> bool:
        """Handles completed commands: stop, flush and cancel among them have withdrawn their credit.

        Returns True when a subscription has ended with it.  After a resume, a server reports its completions before it resends
        lost messages; only completions of later commands follow those.
        """
        for id in pick(completed, self.withdrawals):
            self.withdrawals[id]._book.end_flush(id)
            self.completed.append(id)
        if self.resumed_at is not None and serial_lt(completed.last, self.resumed_at):
            return False
        self.resumed_at = None
        gone = [self._withdrawn(id) for id in self.completed]
        self.completed.clear()
        return True in gone

    def _withdrawn(self, id: int) -> bool:
        subscription = self.withdrawals.pop(id)
        subscription._book.carried_out(id)
        current = self.current.get(subscription.destination)
        if current is not subscription:
            if current is not None:
                current._book.carried_out(id)
        elif subscription._cancel_id == id:
            del self.current[subscription.destination]
            return True
        return False

    def complete(self, subscription: Subscription, messages: int, octets: int, charge: int) -> None:
        """Records completed transfers of a subscription: see `CreditBook.complete`."""
        subscription._book.complete(messages, octets, charge)
        self.unreported[subscription._book] = None

    def give_back(self, given: CompletedSums[Subscription]) -> None:
        """Moves the windows for completed deliveries."""
        for subscription, (messages, octets, charge) in given.items():
            self.complete(subscription, messages, octets, charge)

    def reported(self) -> None:
        """Records that all completions were reported to the peer."""
        for book in self.unreported:
            book.reported()
        self.unreported.clear()

    def snapshot(self, transfers: TransferBook[Subscription]) -> dict[str, object]:
        """Returns the state as plain values, with deliveries and withdrawals, which may belong to cancelled subscriptions."""
        every = dict.fromkeys([*self.current.values(), *transfers.subscriptions(), *self.withdrawals.values()])
        numbers = {each: number for number, each in enumerate(every)}
        return {
            "current": {name: numbers[each] for name, each in self.current.items()},
            **transfers.snapshot(numbers),
            "withdrawn": tuple(self.completed),
            "withdrawals": tuple([(id, numbers[each]) for id, each in self.withdrawals.items()]),
            "subscriptions": tuple([
                (each.queue, each.destination, each.accept_mode, each.acquire_mode, each._cancel_id, each._book.snapshot())
                for each in every
            ]),
        }  # fmt: skip

    def restore(self, snapshot: Mapping[str, Any], session: Session) -> None:
        """Restores what `snapshot` returned.  Raises TypeError, ValueError or KeyError for anything else."""
        every = [
            Subscription(
                session, queue, destination, accept_mode, acquire_mode, CreditBook.restore(*book),
                typed(cancel_id, int, type(None)),
            )
            for queue, destination, accept_mode, acquire_mode, cancel_id, book in snapshot["subscriptions"]
        ]  # fmt: skip
        self.current.update({name: every[at] for name, at in snapshot["current"].items()})
        session._transfers.restore(snapshot, every)
        self.completed.extend([id for id in snapshot["withdrawn"] if type(id) is int])
        self.withdrawals.update({id: every[at] for id, at in snapshot["withdrawals"]})
        self.unreported.update({each._book: None for each in every if each._book.owes_report})


class Subscriber(Terms):
    """A subscription of the peer: where `Session.deliver` sends, and how much it may send."""

    __slots__ = ()


class Subscribers:
    """All of the peer's subscriptions in a session.

    * `current`: by destination.
    * `flushes`: the peer's incomplete message.flush commands, whose completion ends the credit.
    * `windows`: incomplete deliveries in window mode: their subscriber, octets, and `CreditBook.switches` when sent.
    * `replenished`: subscribers that the last completions returned credit to.
    """

    __slots__ = ("current", "flushes", "replenished", "windows")

    def __init__(self) -> None:
        self.current: Final[dict[str, Subscriber]] = {}
        self.flushes: Final[dict[int, Subscriber]] = {}
        self.windows: Final[dict[int, tuple[Subscriber, int, int]]] = {}
        self.replenished: Final[dict[Subscriber, None]] = {}

    def unable(self, destination: str, cost: int) -> LocalProtocolError | NoCredit:
        """Returns why a transfer of `cost` octets to a destination is not possible: no subscriber, or no credit."""
        subscriber = self.current.get(destination)
        if subscriber is None:
            return self.no_such(destination)
        book = subscriber._book
        if book.lacks(cost) == OCTET:
            return NoCredit(destination, "byte", cost, book.octets.available)
        return NoCredit(destination, "message", 1, book.messages.available)

    def no_such(self, destination: str) -> LocalProtocolError:
        """Returns the error for a transfer to a destination without a subscriber, with the destinations that have one."""
        legal = tuple([f"message.transfer {name!r}" for name in list(self.current)[:8]])
        return LocalProtocolError(f"message.transfer {destination!r}", "no such subscriber", legal)

    def completed(self, ids: RangeSet) -> None:
        """Moves the windows for our commands that the peer has completed."""
        self.replenished.clear()
        for id in pick(ids, self.windows):
            subscriber, octets, switches = self.windows.pop(id)
            if switches == subscriber._book.switches:
                subscriber._book.give_back(1, octets)
                self.replenished[subscriber] = None

    def begin_flush(self, subscriber: Subscriber, id: int) -> None:
        """Records the peer's message.flush with command id `id`."""
        subscriber._book.begin_flush(id)
        self.flushes[id] = subscriber

    def end_flushes(self, ids: RangeSet) -> None:
        """Ends the credit of each message.flush among the peer's completed commands."""
        for id in pick(ids, self.flushes):
            self.flushes.pop(id)._book.end_flush(id)

    def snapshot(self) -> dict[str, object]:
        """Returns the state as plain values."""
        windows = [
            (id, whose, cost) for id, (whose, cost, switches) in self.windows.items() if switches == whose._book.switches
        ]
        every = dict.fromkeys([*self.current.values(), *self.flushes.values(), *[whose for _, whose, _ in windows]])
        numbers = {each: number for number, each in enumerate(every)}
        return {
            "current_subscribers": {name: numbers[each] for name, each in self.current.items()},
            "subscriber_flushes": tuple([(id, numbers[each]) for id, each in self.flushes.items()]),
            "windows": tuple([(id, numbers[whose], cost) for id, whose, cost in windows]),
            "subscribers": tuple([
                (each.queue, each.destination, each.accept_mode, each.acquire_mode, each._book.granted()) for each in every
            ]),
        }  # fmt: skip

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Restores what `snapshot` returned.  Raises TypeError, ValueError or KeyError for anything else."""
        every = [
            Subscriber(queue, destination, accept_mode, acquire_mode, CreditBook.restore(book))
            for queue, destination, accept_mode, acquire_mode, book in snapshot["subscribers"]
        ]
        self.current.update({name: every[at] for name, at in snapshot["current_subscribers"].items()})
        self.flushes.update({id: every[at] for id, at in snapshot["subscriber_flushes"]})
        self.windows.update({id: (every[at], cost, 0) for id, at, cost in snapshot["windows"]})
