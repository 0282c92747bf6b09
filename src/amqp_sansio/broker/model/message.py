"""Messages in a broker: one object each, on however many queues."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from amqp_sansio.broker.model.properties import DEFAULT_PRIORITY, Properties
from amqp_sansio.errors import DecodeError
from amqp_sansio.errors.core import many
from amqp_sansio.kernel.value import Value as Fields

if TYPE_CHECKING:
    from amqp_sansio.broker.model.form import Form
    from amqp_sansio.spec.values import Map


class Envelope(Fields):
    """The contents of a message header, decoded once; messages with the same header to the same exchange share it.

    It has what the model needs of every message; all else stays in the publisher's octets, which `form` can read.
    """

    __slots__ = (
        "_others", "_redelivered_header", "discard_unroutable", "empty_body", "exchange", "form", "header", "immediate",
        "persistent", "priority", "redelivered", "routing_key", "size", "ttl", "user_id",
    )  # fmt: skip
    FIELDS: ClassVar[tuple[str, ...]] = (
        "form", "header", "exchange", "routing_key", "priority", "persistent", "redelivered", "user_id", "ttl",
        "discard_unroutable", "immediate", "empty_body",
    )  # fmt: skip
    SECRETS: ClassVar[frozenset[str]] = frozenset({"header"})

    def __init__(
        self,
        form: Form,
        header: bytes,
        exchange: str = "",
        routing_key: str = "",
        priority: int = DEFAULT_PRIORITY,
        persistent: bool = False,
        redelivered: bool = False,
        user_id: bytes = b"",
        ttl: int | None = None,
        discard_unroutable: bool = False,
        immediate: bool = False,
        empty_body: bool = False,
    ) -> None:
        self.form: Final = form
        """The form in which the header is written: that of its publisher's family."""
        self.header: Final = header
        """The header, in the octets in which it is delivered to its publisher's family."""
        self.exchange: Final = exchange
        """The exchange to which the message was published."""
        self.routing_key: Final = routing_key
        self.priority: Final = priority
        """0 to 9."""
        self.persistent: Final = persistent
        self.redelivered: Final = redelivered
        """Whether it arrived marked as redelivered, and so is delivered with the mark."""
        self.user_id: Final = user_id
        """The publisher by its own claim; b"" without one."""
        self.ttl: Final = ttl
        """In milliseconds; None: for ever."""
        self.discard_unroutable: Final = discard_unroutable
        self.immediate: Final = immediate
        self.empty_body: Final = empty_body
        """Whether it arrived with an explicit body of 0 octets instead of none, and is delivered with one."""
        self.size: Final = len(header)
        self._redelivered_header = header if redelivered else b""
        self._others: dict[tuple[Form, bool], bytes] | None = None

    @property
    def redelivered_header(self) -> bytes:
        """The header with the redelivered mark, made when first needed."""
        if not self._redelivered_header:
            self._redelivered_header = self.form.marked(self.header)
        return self._redelivered_header

    def header_in(self, form: Form, redelivered: bool) -> bytes:
        """Returns the header in the form of another family, with the redelivered mark or as it came; made when first needed."""
        if form is self.form:
            return self.redelivered_header if redelivered else self.header
        if self._others is None:
            self._others = {}
        made = self._others.get((form, redelivered))
        if made is None:
            try:
                said = self.form.properties(self.redelivered_header if redelivered else self.header)
            except DecodeError:  # restored from disk: only what the model decoded is known
                said = Properties(
                    self.exchange, self.routing_key, self.persistent, self.priority, redelivered or self.redelivered, self.ttl
                )
            made = self._others[form, redelivered] = form.written(said)
        return made


class Message:
    """A message.  Its `Envelope` holds what the header says; the header is decoded again only on demand.

    `number` is its name in the journal: a serial of the broker, 1 and up.  `expires` is on the broker's clock.
    """

    __slots__ = ("arrived", "body", "envelope", "expires", "number", "publisher", "size", "stored")

    def __init__(
        self,
        number: int,
        envelope: Envelope,
        body: bytes,
        expires: float | None = None,
        publisher: int = 0,
        arrived: float = 0.0,
    ) -> None:
        self.number: Final = number
        self.envelope: Final = envelope
        self.body: Final = body
        self.size: Final = envelope.size + len(body)
        """Octets of header and body."""
        self.expires = expires
        """When it expires; None: never, or its time has not begun (`Traffic.begin_ttl`)."""
        self.publisher: Final = publisher
        """The number of the connection that published it; 0 when unknown, as after a restart."""
        self.arrived: Final = arrived
        """The moment of the last tick before it arrived, on the broker's clock; 0 when unknown, as after a restart."""
        self.stored = 0
        """How many places the journal knows it in: durable queues and prepared branches.  At 0 it must be stored first."""

    @property
    def header(self) -> bytes:
        """The header as it is first delivered, in the form of its publisher's family."""
        return self.envelope.header

    @property
    def redelivered_header(self) -> bytes:
        """The header with the redelivered mark, in the same form."""
        return self.envelope.redelivered_header

    @property
    def exchange(self) -> str:
        """The name of the exchange to which it was published."""
        return self.envelope.exchange

    @property
    def routing_key(self) -> str:
        """The key that direct and topic exchanges match."""
        return self.envelope.routing_key

    @property
    def priority(self) -> int:
        """0 to 9."""
        return self.envelope.priority

    @property
    def persistent(self) -> bool:
        """Whether it survives a failure, on a durable queue."""
        return self.envelope.persistent

    @property
    def redelivered(self) -> bool:
        """Whether it was published with the redelivered mark."""
        return self.envelope.redelivered

    @property
    def user_id(self) -> bytes:
        """The publisher by its own claim; b"" without one."""
        return self.envelope.user_id

    @property
    def application_headers(self) -> Map:
        """The headers that a headers exchange matches; an empty map when there are none.  Raises DecodeError."""
        envelope = self.envelope
        return envelope.form.headers(envelope.header)

    def __repr__(self) -> str:
        where = f"to {self.exchange!r} with key {self.routing_key!r}"
        return f"<Message {self.number}: {many(len(self.body), 'octet')} {where}, priority {self.priority}>"


class Intake:
    """Numbers the messages of a broker, which fronts make from publishes.

    `epoch` is POSIX time at moment 0 of the broker's clock, in seconds; with it a front writes the expiration of a message with
    a ttl into its header.  `last` is the last number assigned.
    """

    __slots__ = ("epoch", "last")

    def __init__(self, epoch: float | None = None, last: int = 0) -> None:
        self.epoch: Final = epoch
        self.last = last

    def made(self, envelope: Envelope, body: bytes, now: float = 0.0, publisher: int = 0) -> Message:
        """Makes an arriving message; `publisher` is the number of the connection, 0 when it has none."""
        ttl = envelope.ttl
        self.last += 1
        return Message(self.last, envelope, body, None if ttl is None else now + ttl / 1000, publisher, now)

    def copy(self, message: Message, envelope: Envelope | None = None) -> Message:
        """Returns a copy of a message with its own number, and with another envelope if given."""
        self.last += 1
        envelope = message.envelope if envelope is None else envelope
        return Message(self.last, envelope, message.body, message.expires, message.publisher, message.arrived)

    def restored(self, number: int, envelope: Envelope, body: bytes, expires: float | None = None) -> Message:
        """Returns a message as it was stored.  Later numbers continue after the highest."""
        self.last = max(self.last, number)
        return Message(number, envelope, body, expires)
