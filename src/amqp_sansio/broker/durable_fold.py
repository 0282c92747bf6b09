"""Folds the operations of a snapshot and of later journal entries into the durable state, as plain values.

It is independent of the model: a broker is built from the result.  An operation that cannot apply raises RestoreError, so a
journal with a gap is never mistaken for a complete one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import attrs

from amqp_sansio.broker.journal import (
    Bound,
    BranchDecided,
    BranchEnded,
    BranchPrepared,
    Closed,
    Dequeued,
    Enqueued,
    Entry,
    ExchangeDeclared,
    ExchangeDeleted,
    Marks,
    MessageStored,
    Opened,
    Operation,
    QueueDeclared,
    QueueDeleted,
    SessionLeft,
    Unbound,
)
from amqp_sansio.errors import RestoreError
from amqp_sansio.spec.xids import XidKey


class HostLedger:
    """The durable part of one virtual host."""

    def __init__(self, name: str) -> None:
        self.name: Final = name
        self.exchanges: Final[dict[str, ExchangeDeclared]] = {}
        """The exchanges by name, without the predeclared ones."""
        self.queues: Final[dict[str, QueueDeclared]] = {}
        self.bindings: Final[dict[str, dict[tuple[str, str], Bound]]] = {}
        """By queue, and then by exchange and key."""
        self.messages: Final[dict[int, MessageStored]] = {}
        self.contents: Final[dict[str, dict[int, bool]]] = {}
        """By queue, the numbers of its messages in order, and whether each counts as redelivered."""
        self._keys: Final[dict[str, dict[tuple[str, str], None]]] = {}  # by exchange, the queues and keys of its bindings
        self._branches: Final[dict[XidKey, BranchPrepared]] = {}  # as they were prepared
        self._prepared_after: Final[dict[XidKey, int]] = {}  # the number of queues deleted before then
        self._deletions: Final[dict[str, int]] = {}  # by queue name, the number of its last deletion
        self._deleted = 0  # the number of queues deleted
        self.decided: Final[dict[XidKey, int]] = {}
        """The status of decided branches."""
        self.transient: Final[set[str]] = set()
        """Queues that exist only for a session's sake; a durable one of that name replaces them."""
        self.deleted: Final[set[str]] = set()
        """Queues that were deleted, even if another one of the name exists."""
        self.volatile: Final[dict[tuple[str, int], None]] = {}
        """Messages, by queue and number, that exist only for a session's sake."""
        self.lent: Final[set[int]] = set()
        """Messages that a session's transaction holds back: they are on no queue, and may be stored once more."""
        self._places: dict[int, int] = {}  # on how many queues and in how many branches each message is

    def apply(self, operation: Operation) -> None:
        """Applies one operation.  Raises ValueError or KeyError when it cannot apply."""
        match operation:
            case MessageStored():
                if operation.number in self.lent:  # the session committed it
                    self.lent.discard(operation.number)
                    del self.messages[operation.number]
                _new(self.messages, operation.number, operation, "message")
                self._places[operation.number] = 0
            case Enqueued():
                if operation.number not in self.messages:
                    raise KeyError(f"message {operation.number}")
                _new(self.contents[operation.queue], operation.number, operation.redelivered, "message on the queue")
                self._places[operation.number] += 1
            case Dequeued():
                self.leave(operation.queue, operation.number)
            case Marks():
                self._mark(operation)
            case BranchPrepared() | BranchDecided() | BranchEnded():
                self._branch(operation)
            case _:
                self._topology(operation)

    def _mark(self, operation: Marks) -> None:
        contents = self.contents[operation.queue]
        for number in contents:
            contents[number] = False
        for number in operation.numbers:
            if number not in contents:
                raise KeyError(f"message {number}")
            contents[number] = True

    def _topology(self, operation: Operation) -> None:
        match operation:
            case QueueDeclared():
                if operation.queue in self.transient:
                    self.delete_queue(operation.queue)
                _new(self.queues, operation.queue, _told_apart(operation), "queue")
                self.contents[operation.queue] = {}
                self.bindings[operation.queue] = {}
            case QueueDeleted():
                self.delete_queue(operation.queue)
                self.deleted.add(operation.queue)
            case ExchangeDeclared():
                _new(self.exchanges, operation.exchange, operation, "exchange")
            case ExchangeDeleted():
                del self.exchanges[operation.exchange]
                for queue, key in self._keys.pop(operation.exchange, ()):
                    del self.bindings[queue][operation.exchange, key]
            case Bound():
                _new(self.bindings[operation.queue], (operation.exchange, operation.key), operation, "binding")
                self._keys.setdefault(operation.exchange, {})[operation.queue, operation.key] = None
            case Unbound():
                del self.bindings[operation.queue][operation.exchange, operation.key]
                self._forget_key(operation.exchange, operation.queue, operation.key)
            case _:
                raise ValueError(f"{type(operation).__name__} is not an operation of this version")

    def _branch(self, operation: BranchPrepared | BranchDecided | BranchEnded) -> None:
        xid = operation.xid
        if isinstance(operation, BranchPrepared):
            for number, _ in operation.published:
                self._places[number] += 1
            _new(self._branches, xid, operation, "branch")
            self._prepared_after[xid] = self._deleted
            return
        branch = self._branches[xid]
        if isinstance(operation, BranchDecided):
            self._branches[xid] = attrs.evolve(branch, published=(), accepted=())
            self.decided[xid] = operation.status
        else:
            del self._branches[xid], self._prepared_after[xid]
            self.decided.pop(xid, None)
        for number, _ in branch.published:
            self._leaves(number)

    def lend(self) -> None:
        """Ends a snapshot's part: messages on no queue and in no branch exist for a session."""
        self.lent.update([number for number, places in self._places.items() if not places])

    def delete_queue(self, name: str) -> None:
        """Removes a queue with its messages.  Raises KeyError for an unknown one."""
        del self.queues[name]
        for exchange, key in self.bindings.pop(name):
            self._forget_key(exchange, name, key)
        self.transient.discard(name)
        self._deleted += 1
        self._deletions[name] = self._deleted
        for number in self.contents.pop(name):
            self._leaves(number)

    def _forget_key(self, exchange: str, queue: str, key: str) -> None:
        keys = self._keys[exchange]
        del keys[queue, key]
        if not keys:
            del self._keys[exchange]

    @property
    def branches(self) -> dict[XidKey, BranchPrepared]:
        """Returns the prepared and decided branches, without messages of queues deleted since."""
        if not self._deletions:
            return dict(self._branches)
        return {xid: self._standing(branch, self._prepared_after[xid]) for xid, branch in self._branches.items()}

    def _standing(self, branch: BranchPrepared, after: int) -> BranchPrepared:
        """Returns what is left of a branch.  A queue declared later is a different one, even under the same name."""
        gone = self._deletions
        published = [
            (number, tuple([queue for queue in queues if gone.get(queue, 0) <= after])) for number, queues in branch.published
        ]
        accepted = [(queue, number) for queue, number in branch.accepted if gone.get(queue, 0) <= after]
        return attrs.evolve(branch, published=published, accepted=accepted)

    def leave(self, queue: str, number: int) -> None:
        """Removes a message from a queue.  Raises KeyError when it is not there."""
        del self.contents[queue][number]
        self._leaves(number)

    def _leaves(self, number: int) -> None:
        """Drops a message once it has left its last place."""
        self._places[number] -= 1
        if not self._places[number]:
            del self._places[number], self.messages[number]

    def operations(self) -> tuple[Operation, ...]:
        """Returns the operations that rebuild this state on an empty host."""
        made: list[Operation] = [*self.exchanges.values(), *self.queues.values()]
        for bindings in self.bindings.values():
            made += bindings.values()
        made += [message for _, message in sorted(self.messages.items())]
        for queue, contents in self.contents.items():
            made += [Enqueued(self.name, queue, number, redelivered) for number, redelivered in contents.items()]
        made += self.branches.values()
        made += [BranchDecided(self.name, xid, self.decided[xid]) for xid in self._branches if xid in self.decided]
        return tuple(made)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, HostLedger):
            return NotImplemented
        return self.operations() == other.operations()

    __hash__ = None  # type: ignore[assignment]  # it changes

    def __repr__(self) -> str:
        return f"<HostLedger {self.name!r}: {len(self.queues)} queues, {len(self.messages)} messages>"


def _told_apart(q: QueueDeclared) -> QueueDeclared:
    """Normalises the exclusive flag: it only matters for queues that end with their owner; others lose their owner."""
    return attrs.evolve(q, exclusive=q.exclusive and q.auto_delete)


def _new(known: dict, key: object, value: object, what: str) -> None:  # type: ignore[type-arg]  # several kinds of dicts
    if key in known:
        raise ValueError(f"{what} {key!r} is there already")
    known[key] = value


class FoldedState:
    """The durable state of a broker.  `number` is that of the last journal entry in it."""

    def __init__(self, number: int = 0, last_message: int = 0) -> None:
        self.number = number
        self.last_message = last_message
        """The highest message number so far."""
        self.entered = 0
        """The number of entries after the snapshot."""
        self.closed = False
        """Whether the last of them marks a clean end."""
        self.hosts: Final[dict[str, HostLedger]] = {}
        self.left: Final[set[tuple[str, str, bytes]]] = set()
        """Virtual host, identity and name of sessions not to be restored."""

    def host(self, name: str) -> HostLedger:
        """Returns the ledger of a virtual host; a new one when there was none."""
        host = self.hosts.get(name)
        if host is None:
            host = self.hosts[name] = HostLedger(name)
        return host

    def add(self, operations: Iterable[Operation], what: str) -> None:
        """Applies operations in order.  Raises RestoreError, which names `what`, when one cannot apply."""
        for operation in operations:
            if isinstance(operation, Opened | Closed):
                continue
            if isinstance(operation, SessionLeft):
                self.left.add((operation.host, operation.identity, operation.session))
                continue
            try:
                self.host(operation.host).apply(operation)
            except (KeyError, ValueError) as why:
                told = f"there is no {why.args[0]!r}" if isinstance(why, KeyError) else str(why)
                raise RestoreError(what, f"{type(operation).__name__} does not match the restored state: {told}") from None
            if isinstance(operation, MessageStored):
                self.last_message = max(self.last_message, operation.number)

    def enter(self, entry: Entry) -> bool:
        """Applies a journal entry; returns False for one that is included already.  Raises RestoreError for a gap."""
        if entry.number <= self.number:
            return False
        if entry.number != self.number + 1:
            raise RestoreError(f"journal entry {entry.number}", f"entry {self.number + 1} comes first")
        self.add(entry.operations, f"journal entry {entry.number}")
        self.number = entry.number
        self.closed = bool(entry.operations) and isinstance(entry.operations[-1], Closed)
        self.entered += 1
        return True
