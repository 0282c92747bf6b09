"""Durable changes as numbered entries, and what waits until they are stored.

The broker writes; an adapter takes the entries, stores any number of them together, and reports up to which number they are
safe.  Whatever depends on an entry (a completion, a result, a message becoming visible) is held back until then.

An entry consists of operations, one small class of plain values for each kind of durable change.  Each names its virtual host
first.  Queues and exchanges are identified by name, messages by their numbers (serials of the broker), branches by the three
parts of their xid.  Moments are seconds on the broker's clock plus its epoch.  Operations are applied in order; a message is
stored before it is enqueued, and is forgotten when it is on no queue and in no prepared branch any more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import ClassVar, Final

import attrs

from amqp_sansio.errors import LocalProtocolError
from amqp_sansio.kernel.serials import whole
from amqp_sansio.kernel.value import ValueObject
from amqp_sansio.spec.values import Map, Value
from amqp_sansio.spec.xids import XidKey

FIRST_FORM: Final = "sessions"
"""The form of all messages in entries and snapshots of version 1, which lacks the field."""


def _map(given: Mapping[str, Value] | None) -> Map:
    return Map(given or {})


def _published(given: Iterable[tuple[int, tuple[str, ...]]]) -> tuple[tuple[int, tuple[str, ...]], ...]:
    return tuple(given)


def _accepted(given: Iterable[tuple[str, int]]) -> tuple[tuple[str, int], ...]:
    return tuple(given)


def _numbers(given: Iterable[int]) -> tuple[int, ...]:
    return tuple(given)


@attrs.frozen(repr=False)
class Operation(ValueObject):
    """One durable change in one virtual host."""

    FIELDS: ClassVar[tuple[str, ...]] = ("host",)
    host: str
    """The name of the virtual host."""

    def __init_subclass__(cls) -> None:
        cls.FIELDS = (*Operation.FIELDS, *cls.__annotations__)


@attrs.frozen(repr=False)
class QueueDeclared(Operation):
    """A durable queue was declared."""

    queue: str
    alternate: str = ""
    """The name of its alternate exchange, or ""."""
    exclusive: bool = False
    auto_delete: bool = False
    arguments: Map = attrs.field(default=None, converter=_map)


@attrs.frozen(repr=False)
class QueueDeleted(Operation):
    """A durable queue was deleted, with its bindings and messages."""

    queue: str


@attrs.frozen(repr=False)
class ExchangeDeclared(Operation):
    """A durable exchange was declared."""

    exchange: str
    type: str
    """The type in exchange.declare: direct, fanout, topic, headers."""
    alternate: str = ""
    """The name of its alternate exchange, or ""."""
    auto_delete: bool = False
    arguments: Map = attrs.field(default=None, converter=_map)


@attrs.frozen(repr=False)
class ExchangeDeleted(Operation):
    """A durable exchange was deleted, with its bindings."""

    exchange: str


@attrs.frozen(repr=False)
class Bound(Operation):
    """A durable queue was bound to a durable exchange (perhaps a predeclared one)."""

    exchange: str
    queue: str
    key: str
    arguments: Map = attrs.field(default=None, converter=_map)


@attrs.frozen(repr=False)
class Unbound(Operation):
    """A binding was removed."""

    exchange: str
    queue: str
    key: str


@attrs.frozen(repr=False)
class MessageStored(Operation):
    """A complete message, on no queue yet."""

    SECRETS = frozenset({"header", "body"})
    number: int
    """Its number in the journal, from 1, never reused."""
    header: bytes
    """The header as it is delivered, with all its properties."""
    body: bytes | None
    """None: no body; b"": one of 0 octets, where a family tells the two apart."""
    expires: float | None = None
    """When it expires; None: never."""
    form: str = FIRST_FORM
    """The name of the family whose form the header has."""


@attrs.frozen(repr=False)
class Enqueued(Operation):
    """A stored message was added to a durable queue, behind those of its priority."""

    queue: str
    number: int
    redelivered: bool = False
    """Whether it may have been delivered from there before."""


@attrs.frozen(repr=False)
class Dequeued(Operation):
    """A stored message was removed from a queue: accepted, rejected, expired or purged."""

    queue: str
    number: int


@attrs.frozen(repr=False)
class BranchPrepared(Operation):
    """A branch was prepared; it and what it holds back stay until it is decided."""

    xid: XidKey
    published: tuple[tuple[int, tuple[str, ...]], ...] = attrs.field(default=(), converter=_published)
    """Numbers of messages that commit puts on these queues, in order; each is stored before."""
    accepted: tuple[tuple[str, int], ...] = attrs.field(default=(), converter=_accepted)
    """(queue, number) of the messages that commit takes off their queues."""
    timeout: int = 0
    """The timeout of the branch in seconds, for dtx.get-timeout."""
    began_by: str | None = None
    """The identity that began it, "" for an anonymous one; None in older versions, which lack it."""


@attrs.frozen(repr=False)
class BranchDecided(Operation):
    """An administrator completed a prepared branch; its xid keeps that outcome until it is forgotten.

    What the decision moves is in the same entry, as `Enqueued` and `Dequeued`.
    """

    xid: XidKey
    status: int
    """The xa-status that dtx.commit and dtx.rollback return from now on: one of the heuristic ones."""


@attrs.frozen(repr=False)
class BranchEnded(Operation):
    """A prepared or decided branch is committed, rolled back or forgotten: its xid is free.

    What a commit moves is in the same entry, as `Enqueued` and `Dequeued`.
    """

    xid: XidKey


@attrs.frozen(repr=False)
class SessionLeft(Operation):
    """A session in a snapshot has continued or ended: it must not be restored from there."""

    identity: str
    """The user of the session; "" for the anonymous."""
    session: bytes
    """Its name."""


@attrs.frozen(repr=False)
class Opened(Operation):
    """Connections return after a clean end, or after a snapshot without any: messages may be delivered from now on."""


@attrs.frozen(repr=False)
class Marks(Operation):
    """At a clean end: exactly these messages on a durable queue may have been delivered before."""

    queue: str
    numbers: tuple[int, ...] = attrs.field(default=(), converter=_numbers)


@attrs.frozen(repr=False)
class Closed(Operation):
    """The clean end: no client is connected and no session is kept, so nothing is delivered before the next `Opened`."""


OPERATIONS: Final[tuple[type[Operation], ...]] = (
    QueueDeclared, QueueDeleted, ExchangeDeclared, ExchangeDeleted, Bound, Unbound, MessageStored, Enqueued, Dequeued,
    BranchPrepared, BranchDecided, BranchEnded, SessionLeft, Opened, Marks, Closed,
)  # fmt: skip
"""All classes of operations.  Append new ones: the index is the code in encoded entries."""


class Entry(ValueObject):
    """Operations that become durable together, or not at all."""

    __slots__ = ("number", "operations")
    FIELDS: ClassVar[tuple[str, ...]] = ("number", "operations")

    def __init__(self, number: int, operations: Iterable[Operation]) -> None:
        self.number: Final = number
        """Its number in the journal: 1 more than that of the entry before."""
        self.operations: Final = tuple(operations)


class Journal:
    """The journal of one broker.  `enabled` False: nothing is kept, every number is 0 and nothing ever waits.

    `last` is the number of the last entry written, `done` that of the last one journalled.
    """

    __slots__ = ("_taken", "_untaken", "_waiting", "done", "enabled", "last")

    def __init__(self, enabled: bool = False, last: int = 0) -> None:
        self.enabled = enabled
        self.last = last
        self.done = last
        self._taken = last
        self._untaken: list[Entry] = []
        self._waiting: dict[int, list[Callable[[], object]]] = {}

    def write(self, *operations: Operation) -> int:
        """Writes one entry of these operations, all or nothing.  Returns its number; 0 when nothing must be journalled."""
        if not operations or not self.enabled:
            return 0
        self.last += 1
        self._untaken.append(Entry(self.last, operations))
        return self.last

    def take(self) -> tuple[Entry, ...]:
        """Returns the entries written since the last call, in order, each once."""
        entries = tuple(self._untaken)
        self._untaken.clear()
        self._taken = self.last
        return entries

    def journalled(self, number: int) -> None:
        """Records that entries up to `number` are stored; runs what waited for them, in the order of the entries.

        Repeating a number changes nothing.  Raises LocalProtocolError for one that was not taken yet.
        """
        if not whole(number, self._taken):
            raise LocalProtocolError(
                f"journalled({number!r})", f"entries are taken up to {self._taken}", (f"0..{self._taken}",), "journal"
            )
        while self.done < number:
            self.done += 1
            for then in self._waiting.pop(self.done, ()):
                then()

    def begin(self, number: int) -> None:
        """Continues after entry `number` of another broker, before anything was written."""
        self.last = self.done = self._taken = number

    def after(self, number: int, then: Callable[[], object]) -> None:
        """Calls `then` once entry `number` is journalled: at once when it already is (0 always is)."""
        if number <= self.done:
            then()
        else:
            self._waiting.setdefault(number, []).append(then)

    def __repr__(self) -> str:
        return f"<Journal: {self.last} written, {self._taken} taken, {self.done} journalled>"
