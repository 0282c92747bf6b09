"""The observer's book of a session's subscriptions, by hand: it hears before the rows are made."""

from __future__ import annotations

from collections.abc import Sequence

from amqp_sansio.captures.replay.credit import CreditLine, SubscriberCommand
from amqp_sansio.captures.replay.rows import Rows
from amqp_sansio.engine.findings import Findings
from amqp_sansio.engine.witness import CreditWitness
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.ledger.credit import Subscriptions
from amqp_sansio.limits import DEFAULT_LIMITS


class ByHand:
    """One book for every channel."""

    def __init__(self) -> None:
        self.heard = CreditWitness(Findings(False, DEFAULT_LIMITS), False)

    def subscriptions(self, channel: int) -> Subscriptions | None:
        return self.heard.book


class Line:
    """A credit line and the book that it reads, each fed with every word."""

    def __init__(self) -> None:
        self.rows = Rows()
        self.books = ByHand()
        self.credit = CreditLine(self.rows, self.books, ("C", "s", 0))

    def hear(self, time: int, id: int | None, command: SubscriberCommand) -> None:
        self.books.heard.hear(id, command)
        self.credit.hear(time, command)

    def delivered(self, time: int, id: int | None, name: str, octets: int) -> str | None:
        self.books.heard.book.delivered(id, name, octets, octets)
        return self.credit.deliveries(name, id, (time,))

    def deliveries(self, times: Sequence[int], id: int, name: str, octets: Sequence[int]) -> str | None:
        assert self.books.heard.book.deliveries(id, name, octets, octets)
        return self.credit.deliveries(name, id, times)

    def completed(self, ids: RangeSet, time: int) -> None:
        self.books.heard.book.completed(ids)
        self.credit.completed(time)

    def carried_out(self, ids: RangeSet) -> None:
        self.books.heard.book.carried_out(ids)

    def end(self, time: int) -> None:
        self.credit.end(time)
