"""What a journal entry is made of: one small class of plain values for each durable change.

Each names its virtual host first.  Queues and exchanges go by their names, messages by their numbers (serials of the broker),
branches by the three parts of their xid.  Moments are seconds on the broker's clock plus its epoch.  Operations are applied in
the order in which they stand; a message is stored before it is enqueued, and is forgotten when it is on no queue and in no
prepared branch any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar, Final

from amqp_sansio.kernel.value import Value as Fields
from amqp_sansio.kernel.value import frozen
from amqp_sansio.ledger.demarcation import XidKey
from amqp_sansio.spec.values import Map, Value

FIRST_FORM: Final = "sessions"
"""The form of all messages in entries and snapshots of version 1, which did not say it."""


class Operation(Fields):
    """One durable change in one virtual host."""

    __slots__ = ("host",)
    FIELDS: ClassVar[tuple[str, ...]] = ("host",)

    def __init__(self, host: str) -> None:
        self.host: Final = host
        """The name of the virtual host."""

    def __hash__(self) -> int:
        return hash((type(self), tuple([frozen(value) for value in self.values()])))


class QueueDeclared(Operation):
    """A durable queue exists."""

    __slots__ = ("alternate", "arguments", "auto_delete", "exclusive", "queue")
    FIELDS: ClassVar[tuple[str, ...]] = ("host", "queue", "alternate", "exclusive", "auto_delete", "arguments")

    def __init__(
        self,
        host: str,
        queue: str,
        alternate: str = "",
        exclusive: bool = False,
        auto_delete: bool = False,
        arguments: Mapping[str, Value] | None = None,
    ) -> None:
        super().__init__(host)
        self.queue: Final = queue
        self.alternate: Final = alternate
        """The name of its alternate exchange, or ""."""
        self.exclusive: Final = exclusive
        self.auto_delete: Final = auto_delete
        self.arguments: Final = Map(arguments or {})


class QueueDeleted(Operation):
    """A durable queue is no more, nor are its bindings and what stood on it."""

    __slots__ = ("queue",)
    FIELDS: ClassVar[tuple[str, ...]] = ("host", "queue")

    def __init__(self, host: str, queue: str) -> None:
        super().__init__(host)
        self.queue: Final = queue


class ExchangeDeclared(Operation):
    """A durable exchange exists."""

    __slots__ = ("alternate", "arguments", "auto_delete", "exchange", "type")
    FIELDS: ClassVar[tuple[str, ...]] = ("host", "exchange", "type", "alternate", "auto_delete", "arguments")

    def __init__(
        self,
        host: str,
        exchange: str,
        type: str,
        alternate: str = "",
        auto_delete: bool = False,
        arguments: Mapping[str, Value] | None = None,
    ) -> None:
        super().__init__(host)
        self.exchange: Final = exchange
        self.type: Final = type
        """The word of exchange.declare: direct, fanout, topic, headers."""
        self.alternate: Final = alternate
        """The name of its alternate exchange, or ""."""
        self.auto_delete: Final = auto_delete
        self.arguments: Final = Map(arguments or {})


class ExchangeDeleted(Operation):
    """A durable exchange is no more, nor are its bindings."""

    __slots__ = ("exchange",)
    FIELDS: ClassVar[tuple[str, ...]] = ("host", "exchange")

    def __init__(self, host: str, exchange: str) -> None:
        super().__init__(host)
        self.exchange: Final = exchange


class Bound(Operation):
    """A durable queue is bound to a durable exchange (which may be a predeclared one)."""

    __slots__ = ("arguments", "exchange", "key", "queue")
    FIELDS: ClassVar[tuple[str, ...]] = ("host", "exchange", "queue", "key", "arguments")

    def __init__(self, host: str, exchange: str, queue: str, key: str, arguments: Mapping[str, Value] | None = None) -> None:
        super().__init__(host)
        self.exchange: Final = exchange
        self.queue: Final = queue
        self.key: Final = key
        self.arguments: Final = Map(arguments or {})


class Unbound(Operation):
    """A binding is no more."""

    __slots__ = ("exchange", "key", "queue")
    FIELDS: ClassVar[tuple[str, ...]] = ("host", "exchange", "queue", "key")

    def __init__(self, host: str, exchange: str, queue: str, key: str) -> None:
        super().__init__(host)
        self.exchange: Final = exchange
        self.queue: Final = queue
        self.key: Final = key


class MessageStored(Operation):
    """A message, whole.  It stands on no queue yet."""

    __slots__ = ("body", "expires", "form", "header", "number")
    FIELDS: ClassVar[tuple[str, ...]] = ("host", "number", "header", "body", "expires", "form")
    SECRETS: ClassVar[frozenset[str]] = frozenset({"header", "body"})

    def __init__(
        self, host: str, number: int, header: bytes, body: bytes | None, expires: float | None = None, form: str = FIRST_FORM
    ) -> None:
        super().__init__(host)
        self.number: Final = number
        """Its name in the journal, 1 and up, never used again."""
        self.header: Final = header
        """The header as it is delivered, with all that the message says of itself."""
        self.body: Final = body
        """None: no body; b"": one of 0 octets, where a family tells the two apart."""
        self.expires: Final = expires
        """When it expires; None: never."""
        self.form: Final = form
        """The name of the family in whose form the header is."""


class Enqueued(Operation):
    """A stored message stands on a durable queue, behind what stands there on its priority."""

    __slots__ = ("number", "queue", "redelivered")
    FIELDS: ClassVar[tuple[str, ...]] = ("host", "queue", "number", "redelivered")

    def __init__(self, host: str, queue: str, number: int, redelivered: bool = False) -> None:
        super().__init__(host)
        self.queue: Final = queue
        self.number: Final = number
        self.redelivered: Final = redelivered
        """Whether it may have been delivered from there before."""


class Dequeued(Operation):
    """A stored message is off a queue: accepted, rejected, expired or purged."""

    __slots__ = ("number", "queue")
    FIELDS: ClassVar[tuple[str, ...]] = ("host", "queue", "number")

    def __init__(self, host: str, queue: str, number: int) -> None:
        super().__init__(host)
        self.queue: Final = queue
        self.number: Final = number


class BranchPrepared(Operation):
    """A branch is prepared; it and what it holds back stay until it is decided, whatever happens."""

    __slots__ = ("accepted", "began_by", "published", "timeout", "xid")
    FIELDS: ClassVar[tuple[str, ...]] = ("host", "xid", "published", "accepted", "timeout", "began_by")

    def __init__(
        self,
        host: str,
        xid: XidKey,
        published: Iterable[tuple[int, tuple[str, ...]]] = (),
        accepted: Iterable[tuple[str, int]] = (),
        timeout: int = 0,
        began_by: str | None = None,
    ) -> None:
        super().__init__(host)
        self.xid: Final = xid
        self.published: Final = tuple(published)
        """Numbers of messages that commit puts on these queues, in order; each is stored before."""
        self.accepted: Final = tuple(accepted)
        """(queue, number) of the messages that commit takes off their queues."""
        self.timeout: Final = timeout
        """The timeout of the branch, in seconds, which dtx.get-timeout goes on to tell."""
        self.began_by: Final = began_by
        """The identity that began it, "" for an anonymous one; None where an older version did not say."""


class BranchDecided(Operation):
    """An administrator completed a prepared branch; its xid stays, with that outcome, until it is forgotten.

    What the decision moves stands in the same entry, as `Enqueued` and `Dequeued`.
    """

    __slots__ = ("status", "xid")
    FIELDS: ClassVar[tuple[str, ...]] = ("host", "xid", "status")

    def __init__(self, host: str, xid: XidKey, status: int) -> None:
        super().__init__(host)
        self.xid: Final = xid
        self.status: Final = status
        """The xa-status that dtx.commit and dtx.rollback answer from now on: one of the heuristic ones."""


class BranchEnded(Operation):
    """A prepared or decided branch is committed, rolled back or forgotten: its xid is free.

    What a commit moves stands in the same entry, as `Enqueued` and `Dequeued`.
    """

    __slots__ = ("xid",)
    FIELDS: ClassVar[tuple[str, ...]] = ("host", "xid")

    def __init__(self, host: str, xid: XidKey) -> None:
        super().__init__(host)
        self.xid: Final = xid


class SessionLeft(Operation):
    """A session that is in a snapshot lives on, or has ended: it is not to be restored from there."""

    __slots__ = ("identity", "session")
    FIELDS: ClassVar[tuple[str, ...]] = ("host", "identity", "session")

    def __init__(self, host: str, identity: str, session: bytes) -> None:
        super().__init__(host)
        self.identity: Final = identity
        """The user of the session; "" for the anonymous."""
        self.session: Final = session
        """Its name."""


class Opened(Operation):
    """Connections come again after a clean end, or after a snapshot that was taken without any: what is there may be delivered
    from now on."""

    __slots__ = ()


class Marks(Operation):
    """At a clean end: which of the messages on a durable queue may have been delivered before, and none but these."""

    __slots__ = ("numbers", "queue")
    FIELDS: ClassVar[tuple[str, ...]] = ("host", "queue", "numbers")

    def __init__(self, host: str, queue: str, numbers: Iterable[int] = ()) -> None:
        super().__init__(host)
        self.queue: Final = queue
        self.numbers: Final = tuple(numbers)


class Closed(Operation):
    """The clean end: nobody is connected and no session is kept, so nothing is delivered before the next `Opened`."""

    __slots__ = ()


OPERATIONS: Final[tuple[type[Operation], ...]] = (
    QueueDeclared, QueueDeleted, ExchangeDeclared, ExchangeDeleted, Bound, Unbound, MessageStored, Enqueued, Dequeued,
    BranchPrepared, BranchDecided, BranchEnded, SessionLeft, Opened, Marks, Closed,
)  # fmt: skip
"""Every class of them.  New ones go to the end: their place is their code where entries are encoded."""


class Entry(Fields):
    """Operations that become durable together, or not at all."""

    __slots__ = ("number", "operations")
    FIELDS: ClassVar[tuple[str, ...]] = ("number", "operations")

    def __init__(self, number: int, operations: Iterable[Operation]) -> None:
        self.number: Final = number
        """Its place in the journal: 1 more than that of the entry before."""
        self.operations: Final = tuple(operations)
