"""The other side's subscriptions with us."""

from __future__ import annotations

from typing import Final

from amqp_sansio.engine.subscription import Terms
from amqp_sansio.errors import LocalProtocolError, NoCredit
from amqp_sansio.kernel.picking import pick
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.ledger.credit import OCTET


class Subscriber(Terms):
    """Somebody at the other side who subscribed to us: where `Session.deliver` sends, and how much it may."""

    __slots__ = ()


class Subscribers:
    """All of a session.

    * `current`: by destination.
    * `flushes`: their message.flush that are not completed, and whose credit they end.
    * `windows`: deliveries in window mode that are not completed: whose, their octets, and `CreditBook.switches` at that time.
    * `replenished`: whose window the last completions gave something back to.
    """

    __slots__ = ("current", "flushes", "replenished", "windows")

    def __init__(self) -> None:
        self.current: Final[dict[str, Subscriber]] = {}
        self.flushes: Final[dict[int, Subscriber]] = {}
        self.windows: Final[dict[int, tuple[Subscriber, int, int]]] = {}
        self.replenished: Final[dict[Subscriber, None]] = {}

    @property
    def unaccepting(self) -> bool:
        """Whether one has accept-mode none."""
        return any(each.accept_mode == 1 for each in self.current.values())

    def able(self, destination: str, cost: int) -> Subscriber:
        """The one of a destination, when it has the credit.  LocalProtocolError, NoCredit."""
        subscriber = self.current.get(destination)
        if subscriber is None:
            raise self.no_such(destination)
        book = subscriber._book
        unit = book.lacks(cost)
        if unit == OCTET:
            raise NoCredit(destination, "byte", cost, book.octets.available)
        if unit is not None:
            raise NoCredit(destination, "message", 1, book.messages.available)
        return subscriber

    def no_such(self, destination: str) -> LocalProtocolError:
        """What to raise for a transfer to a destination that nobody subscribed with; lists those that there are."""
        legal = tuple([f"message.transfer {name!r}" for name in list(self.current)[:8]])
        return LocalProtocolError(f"message.transfer {destination!r}", "no such subscriber", legal)

    def delivered(self, subscriber: Subscriber, id: int, cost: int) -> None:
        """Our transfer `id`, of so many octets, was sent to it."""
        book = subscriber._book
        book.transfer(cost)
        if book.mode:
            self.windows[id] = subscriber, cost, book.switches

    def completed(self, ids: RangeSet) -> None:
        """The other side has completed these commands of ours: windows move."""
        self.replenished.clear()
        for id in pick(ids, self.windows):
            subscriber, octets, switches = self.windows.pop(id)
            if switches == subscriber._book.switches:
                subscriber._book.give_back(1, octets)
                self.replenished[subscriber] = None

    def begin_flush(self, subscriber: Subscriber, id: int) -> None:
        """It said message.flush as command `id`."""
        subscriber._book.begin_flush(id)
        self.flushes[id] = subscriber

    def end_flushes(self, ids: RangeSet) -> None:
        """These commands of the other side are completed: the flushes among them end the credit."""
        for id in pick(ids, self.flushes):
            self.flushes.pop(id)._book.end_flush(id)
