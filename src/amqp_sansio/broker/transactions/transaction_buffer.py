"""The work that a transaction holds back: invisible publishes, and accepts that have not yet removed messages from queues."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Sized
from typing import TYPE_CHECKING, Final, Protocol

from amqp_sansio.broker import conditions
from amqp_sansio.broker.conditions import Refused
from amqp_sansio.broker.journal import MessageStored, Operation
from amqp_sansio.errors.core import many
from amqp_sansio.limits import BrokerLimits

if TYPE_CHECKING:
    from amqp_sansio.broker.model.message import Entry, Message
    from amqp_sansio.broker.model.queue import Queue


class Host(Protocol):
    """The part of a virtual host that transactions use."""

    held_messages: int
    held_octets: int

    @property
    def name(self) -> str: ...

    def admit(self, publishes: Iterable[tuple[Message, Sequence[Queue]]]) -> None: ...

    def commit(
        self,
        publishes: Sequence[tuple[Message, Sequence[Queue]]],
        entries: Sequence[Entry],
        operations: Sequence[Operation] = (),
        admitted: bool = False,
    ) -> int: ...

    def release(self, entries: Iterable[Entry], set_redelivered: bool = False) -> None: ...

    def stored(self, message: Message) -> MessageStored: ...


class Work:
    """The work of a transaction, in order.  After a commit or rollback it is empty and can be used again.

    The work of a transaction that ended without its sessions' knowledge (a timeout) is `closed`: publishes are dropped, and
    accepted messages return to their queues.
    """

    __slots__ = ("_copies", "_host", "_limits", "_provisional", "accepted", "closed", "octets", "published")

    def __init__(self, host: Host, limits: BrokerLimits, provisional: Sized = ()) -> None:
        self._host: Final = host
        self._limits: Final = limits
        self._provisional: Final = provisional  # accepts that the session of a local transaction keeps itself
        self.published: list[tuple[Message, tuple[Queue, ...]]] = []
        """The messages, with the queues on which commit puts them."""
        self.accepted: dict[Entry, None] = {}
        """The entries that commit removes, in order; until then they are acquired."""
        self._copies = 0  # of the messages in `published`, counted once per queue
        self.octets = 0
        """Octets of header and body of the messages in `published`."""
        self.closed = False

    def publish(self, message: Message, queues: Sequence[Queue]) -> None:
        """Holds a message back from these queues.  Raises Refused (506), naming the limit, when it holds too much."""
        if self.closed:
            return
        self._room(len(queues), message.size)
        self.hold(message, queues)

    def hold(self, message: Message, queues: Sequence[Queue]) -> None:
        """Does the same as `publish` without the limits, for a message that the broker took earlier."""
        self.published.append((message, tuple(queues)))
        self.octets += message.size
        self._copies += len(queues)
        self._host.held_messages += len(queues)
        self._host.held_octets += message.size

    def accept(self, entries: Iterable[Entry]) -> None:
        """Holds accepts of acquired messages back.  Raises Refused (506), naming the limit, when it holds too much."""
        taken = tuple(entries)
        if self.closed:
            self._host.release(taken, True)
            return
        self._room(len(taken), 0)
        self.accepted.update(dict.fromkeys(taken))

    def admit(self, accepts: int) -> None:
        """Raises Refused (506), naming the limit, when `accepts` more would be too much for the transaction."""
        self._room(accepts, 0)

    def commit(self, operations: Sequence[Operation] = (), admitted: bool = False, taken: Sequence[Entry] = ()) -> int:
        """Applies all work in one journal entry, together with `operations`; returns the number of that entry.

        `taken` are the messages whose accepts the session keeps itself: they leave their queues, too.  Nothing is visible
        before it is journalled.  Raises Refused (506), and changes nothing, when a queue has no room, unless that was checked
        before (`admitted`).
        """
        number = self._host.commit(self.published, (*self.accepted, *taken), operations, admitted)
        self._clear()
        return number

    def rollback(self, requeue: bool) -> tuple[Entry, ...]:
        """Discards all work; returns the accepted messages, still acquired.

        With `requeue` they return to their queues, marked as redelivered (for a branch, and at the end of a session); without,
        their consumers keep them (tx.rollback).
        """
        entries = tuple(self.accepted)
        self._clear()
        if requeue:
            self._host.release(entries, True)
        return entries

    def close(self) -> None:
        """Rolls back, and stops holding work back."""
        self.closed = True
        self.rollback(True)

    def _clear(self) -> None:
        self._host.held_messages -= self._copies
        self._host.held_octets -= self.octets
        self.published = []
        self.accepted = {}
        self._copies = self.octets = 0

    def _room(self, messages: int, octets: int) -> None:
        held = self._copies + len(self.accepted) + len(self._provisional) + messages
        limits, host = self._limits, self._host
        if held > limits.transaction_messages:
            raise _over("transaction_messages", limits.transaction_messages, held)
        if self.octets + octets > limits.transaction_octets:
            raise _over("transaction_octets", limits.transaction_octets, self.octets + octets)
        if octets and host.held_messages + messages > limits.held_messages:
            raise _over("held_messages", limits.held_messages, host.held_messages + messages, "all transactions")
        if host.held_octets + octets > limits.held_octets:
            raise _over("held_octets", limits.held_octets, host.held_octets + octets, "all transactions")

    def __repr__(self) -> str:
        parts = many(len(self.published), "message"), many(self.octets, "octet"), many(len(self.accepted), "accept")
        return f"<Work: {', '.join(parts)}>"


def _over(limit: str, value: int, asked: int, who: str = "the transaction") -> Refused:
    return Refused(conditions.LIMIT, limit=limit, value=value, why=f"{who} would hold {asked}")
