"""The credit of a session's subscriptions as it is used up and restored: rows of `credit`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol, TypeAlias

import attrs

from amqp_sansio.captures.replay.rows import Rows, passed
from amqp_sansio.ledger.credit import INFINITE, OCTET, WINDOW_MODE, CreditBook, Exhausted, Subscription, Subscriptions
from amqp_sansio.spec.message import Cancel, Flush, SetFlowMode, Stop, Subscribe
from amqp_sansio.spec.message import Flow as Grant

SubscriberCommand: TypeAlias = Cancel | Flush | Grant | SetFlowMode | Stop | Subscribe

SUBSCRIPTIONS: Final = 4096
"""Subscriptions of a session that make rows; beyond it the oldest makes none any more."""


class Books(Protocol):
    """Gives access to the observer's books, which are updated before an event arrives here."""

    def subscriptions(self, channel: int) -> Subscriptions | None: ...


@attrs.define(eq=False)
class SubscriptionRecord:
    """One subscription.  `stalled` is since when a delivery has left it without credit, or None."""

    queue: str | None
    stalled: int | None = None


class CreditLine:
    """The credit that one side of a session has granted.  `head` are direction, session and channel of its rows."""

    __slots__ = ("_books", "_head", "_rows", "subscriptions")

    def __init__(self, rows: Rows, books: Books, head: tuple[str, str | None, int]) -> None:
        self._rows: Final = rows
        self._books: Final = books
        self._head: Final = head
        self.subscriptions: dict[str, SubscriptionRecord] = {}

    def hear(self, time: int, command: SubscriberCommand) -> None:
        """Takes a command of the subscriber about credit."""
        name = command.destination or ""
        event = command.VERB.rpartition(".")[2]
        if isinstance(command, Subscribe):
            if len(self.subscriptions) >= SUBSCRIPTIONS:
                del self.subscriptions[next(iter(self.subscriptions))]
            self.subscriptions.pop(name, None)
            self.subscriptions[name] = SubscriptionRecord(command.queue)
        found = self.subscriptions.get(name)
        if found is None:
            return
        unit: str | None = None
        value: int | None = None
        if isinstance(command, Grant):
            value = INFINITE if command.value is None else command.value
            unit = "byte" if command.unit == OCTET else "message"
        elif isinstance(command, Cancel):
            del self.subscriptions[name]
        self._tell(time, name, found, event, unit, value, self._ended(name, found, time))

    def deliveries(self, name: str, id: int | None, times: Sequence[int]) -> str | None:
        """Takes transfers, the first with command id `id`; returns the queue of the subscription, None if unknown.

        Of deliveries without ids, the last counts as the one that used up the credit.
        """
        found = self.subscriptions.get(name)
        if found is None:
            return None
        exhausted = self._exhausted(name) if found.stalled is None else None
        if exhausted is not None:
            which, messages, octets = exhausted
            if which is not None and id is not None:
                at = which - id
            elif which == id:
                at = len(times) - 1
            else:
                at = -1
            if 0 <= at < len(times):
                found.stalled = times[at]
                self._tell(times[at], name, found, "exhausted", left=(messages, octets))
        return found.queue

    def completed(self, time: int) -> None:
        """Notes completed transfers, which move windows."""
        book = self._books.subscriptions(self._head[2])
        for name in () if book is None else tuple(book.moved):
            found = self.subscriptions.get(name)
            if found is not None and found.stalled is not None and not self._exhausted(name):
                self._tell(time, name, found, "refilled", stalled=self._ended(name, found, time))

    def end(self, time: int) -> None:
        """Ends all subscriptions: nothing more comes in the session."""
        for name, found in self.subscriptions.items():
            if found.stalled is not None:
                self._tell(time, name, found, "end", stalled=passed(found.stalled, time))
        self.forget()

    def forget(self) -> None:
        """Notes a gap: credit is unknown until the next subscribe."""
        self.subscriptions.clear()

    def _entry(self, name: str) -> Subscription | None:
        book = self._books.subscriptions(self._head[2])
        return None if book is None else book.entries.get(name)

    def _exhausted(self, name: str) -> Exhausted | None:
        entry = self._entry(name)
        return None if entry is None else entry.exhausted

    def _ended(self, name: str, found: SubscriptionRecord, time: int) -> int | None:
        """Returns for how long it was stalled, if that has ended and the clock is consistent."""
        since = found.stalled
        if since is None or self._exhausted(name):
            return None
        found.stalled = None
        return passed(since, time)

    def _tell(
        self,
        time: int,
        name: str,
        found: SubscriptionRecord,
        event: str,
        unit: str | None = None,
        value: int | None = None,
        stalled: int | None = None,
        left: tuple[int, int] | None = None,
    ) -> None:
        entry = self._entry(name)
        credit = CreditBook() if entry is None else entry.book
        mode = "window" if credit.mode == WINDOW_MODE else "credit"
        messages, octets = left or (credit.messages.available, credit.octets.available)
        self._rows.by_table["credit"].append(
            (time, *self._head, name, found.queue, event, unit, value, mode, messages, octets, stalled)
        )
