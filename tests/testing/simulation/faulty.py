"""Brokers and clients that are wrong in one way each, for simulations that must find it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from amqp_sansio.broker.broker import Broker
from amqp_sansio.broker.config import BrokerConfig
from amqp_sansio.broker.fronts.sessions.holder import SessionConsumer, SessionHolder
from amqp_sansio.broker.journal import BranchPrepared, Dequeued, Entry, Journal, Operation
from amqp_sansio.broker.model.message import ACQUIRED, BlockList
from amqp_sansio.broker.model.queueing import HostMessages
from amqp_sansio.broker.transactions import Work
from amqp_sansio.engine.outbound import Outbound
from amqp_sansio.ledger.credit import INFINITE, MESSAGE, OCTET, CreditBook


class Forgetful(Broker):
    """Forgets operations of one kind in the journal."""

    forgets: type[Operation] = Dequeued

    def journal(self) -> tuple[Entry, ...]:
        entries = []
        for entry in super().journal():
            kept = [each for each in entry.operations if not isinstance(each, self.forgets)]
            entries.append(Entry(entry.number, kept))
        return tuple(entries)


class ForgetfulOfBranches(Forgetful):
    """Forgets branches that are prepared."""

    forgets = BranchPrepared


def make(kind: type[Broker]) -> Callable[[BrokerConfig, Mapping[str, object] | None, Sequence[Entry]], Broker]:
    """What makes brokers of that class."""
    return lambda config, snapshot, entries: kind.restore(snapshot, entries, config=config)


@contextmanager
def doubles_on_resume() -> Iterator[None]:
    """What a session held that is detached is given to others as well, without a mark."""
    detached = SessionHolder.detached

    def wrong(self: SessionHolder) -> None:
        detached(self)
        if not self.ended:
            for record in self.unsettled.values():
                if record.entry.state == ACQUIRED:
                    record.entry.queue.release(record.entry, False)

    with patch.object(SessionHolder, "detached", wrong):
        yield


@contextmanager
def ignores_octets() -> Iterator[None]:
    """Only messages are counted against a window, and not their octets."""

    def lacks(book: CreditBook, octets: int) -> int | None:
        messages = book.messages
        spent = messages.limit != INFINITE and messages.used >= messages.limit
        return MESSAGE if spent or not book.octets.limit else None

    with patch.object(CreditBook, "lacks", lacks):
        yield


@contextmanager
def ignores_windows() -> Iterator[None]:
    """Transfers cost nothing."""
    with patch.object(CreditBook, "lacks", lambda self, octets: None if self.messages.limit and self.octets.limit else OCTET):
        yield


@contextmanager
def loses_order() -> Iterator[None]:
    """What comes last goes first."""

    def wrong(self: BlockList) -> Any:
        entries = list(self)
        return entries[-1] if entries else None

    with patch.object(BlockList, "head", property(wrong)):
        yield


@contextmanager
def half_commits() -> Iterator[None]:
    """Of what a transaction published, the last is left out."""
    commit = Work.commit

    def wrong(self: Work, operations: Sequence[Operation] = (), admitted: bool = False) -> int:
        if len(self.published) > 1:
            self._host.held_messages -= 1
            message, _ = self.published.pop()
            self._host.held_octets -= message.size
            self.octets -= message.size
        return commit(self, operations, admitted)

    with patch.object(Work, "commit", wrong):
        yield


@contextmanager
def leaks_credit() -> Iterator[None]:
    """Completions do not give the window back."""
    complete = CreditBook.give_back

    def wrong(self: CreditBook, messages: int, octets: int) -> None:
        if messages != 1:
            complete(self, messages, octets)

    with patch.object(CreditBook, "give_back", wrong):
        yield


@contextmanager
def deadlocks() -> Iterator[None]:
    """Who had no credit once is never asked again."""
    with patch.object(SessionConsumer, "wake", lambda self: None):
        yield


@contextmanager
def answers_early() -> Iterator[None]:
    """Nothing waits for the disk."""
    with patch.object(Journal, "after", lambda self, number, then: then()):
        yield


@contextmanager
def replays_the_wrong() -> Iterator[None]:
    """What is said again when a session is resumed is now and then something else that was said."""
    say = Outbound.say

    def wrong(self: Outbound, payload: bytes, header: bytes | None, body: bytes | None) -> int:
        id = say(self, payload, header, body)
        if self.kept and id % 3 == 0:
            self.kept[id] = next(iter(self.kept.values()))
        return id

    with patch.object(Outbound, "say", wrong):
        yield


@contextmanager
def drops_releases() -> Iterator[None]:
    """What is released never comes back."""
    with patch.object(HostMessages, "release", lambda self, entries, set_redelivered=False: None):
        yield
