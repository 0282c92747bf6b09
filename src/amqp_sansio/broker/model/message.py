"""A message in a broker: one object however many queues it is on."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from amqp_sansio.broker.model.properties import DEFAULT_PRIORITY, Properties
from amqp_sansio.errors import DecodeError
from amqp_sansio.kernel.value import Value as Fields

if TYPE_CHECKING:
    from amqp_sansio.broker.model.form import Form
    from amqp_sansio.spec.values import Map


class Envelope(Fields):
    """What the header of a message says, read once: messages with the same header to the same exchange share it.

    It has what the model asks of every message; all else stays in the octets of the publisher, which `form` can read.
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
        """How the header is written: that of its publisher's family."""
        self.header: Final = header
        """What it says of itself, in the octets in which it is delivered to its publisher's family."""
        self.exchange: Final = exchange
        """The exchange to which the message was published."""
        self.routing_key: Final = routing_key
        self.priority: Final = priority
        """0 to 9."""
        self.persistent: Final = persistent
        self.redelivered: Final = redelivered
        """Whether it came marked so; then it is delivered so."""
        self.user_id: Final = user_id
        """The publisher, as it claims; b"" when it does not."""
        self.ttl: Final = ttl
        """Milliseconds, None for ever."""
        self.discard_unroutable: Final = discard_unroutable
        self.immediate: Final = immediate
        self.empty_body: Final = empty_body
        """Whether it came with a body of 0 octets where it could have had none, and is delivered with one."""
        self.size: Final = len(header)
        self._redelivered_header = header if redelivered else b""
        self._others: dict[tuple[Form, bool], bytes] | None = None

    @property
    def redelivered_header(self) -> bytes:
        """The header with the redelivered mark; made when it is first needed."""
        if not self._redelivered_header:
            self._redelivered_header = self.form.marked(self.header)
        return self._redelivered_header

    def header_in(self, form: Form, redelivered: bool) -> bytes:
        """The header in the form of another family, with the redelivered mark or as it came; made when it is first needed."""
        if form is self.form:
            return self.redelivered_header if redelivered else self.header
        if self._others is None:
            self._others = {}
        made = self._others.get((form, redelivered))
        if made is None:
            try:
                said = self.form.properties(self.redelivered_header if redelivered else self.header)
            except DecodeError:  # one restored from a disk: what the model read of it is all that is known
                said = Properties(
                    self.exchange, self.routing_key, self.persistent, self.priority, redelivered or self.redelivered, self.ttl
                )
            made = self._others[form, redelivered] = form.written(said)
        return made


class Message:
    """A message.  What its header says is that of its `Envelope`; the header is read again only when somebody asks.

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
        """When it is of no more use; None: never, or its time has not begun (`Traffic.begin_ttl`)."""
        self.publisher: Final = publisher
        """The number of the connection on which it was published; 0 when nobody knows that, as after a restart."""
        self.arrived: Final = arrived
        """The moment of the last tick before it came, on the broker's clock; 0 when nobody knows that, as after a restart."""
        self.stored = 0
        """In how many places the journal knows it: durable queues and prepared branches.  At 0 it must be stored first."""

    @property
    def header(self) -> bytes:
        """The header as it is delivered the first time, in the form of its publisher's family."""
        return self.envelope.header

    @property
    def redelivered_header(self) -> bytes:
        """The header with the redelivered mark, likewise."""
        return self.envelope.redelivered_header

    @property
    def exchange(self) -> str:
        """The name of the exchange to which it was published."""
        return self.envelope.exchange

    @property
    def routing_key(self) -> str:
        """What direct and topic exchanges look at."""
        return self.envelope.routing_key

    @property
    def priority(self) -> int:
        """0 to 9."""
        return self.envelope.priority

    @property
    def persistent(self) -> bool:
        """Whether it outlives a failure, on a durable queue."""
        return self.envelope.persistent

    @property
    def redelivered(self) -> bool:
        """Whether it was published with that mark."""
        return self.envelope.redelivered

    @property
    def user_id(self) -> bytes:
        """The publisher, as it claims; b"" when it does not."""
        return self.envelope.user_id

    @property
    def application_headers(self) -> Map:
        """What a headers exchange looks at; an empty map when there are none.  Raises DecodeError."""
        envelope = self.envelope
        return envelope.form.headers(envelope.header)

    def __repr__(self) -> str:
        where = f"to {self.exchange!r} with key {self.routing_key!r}"
        return f"<Message {self.number}: {len(self.body)} octets {where}, priority {self.priority}>"


class Intake:
    """Numbers the messages of a broker, which fronts make of what is published.

    `epoch` is POSIX time at moment 0 of the broker's clock, in seconds; with it a front writes the expiration of a message with
    a ttl into its header.  `last` is the number that was given last.
    """

    __slots__ = ("epoch", "last")

    def __init__(self, epoch: float | None = None, last: int = 0) -> None:
        self.epoch: Final = epoch
        self.last = last

    def made(self, envelope: Envelope, body: bytes, now: float = 0.0, publisher: int = 0) -> Message:
        """A message that comes now; `publisher` is the number of the connection, 0 when it has none."""
        ttl = envelope.ttl
        self.last += 1
        return Message(self.last, envelope, body, None if ttl is None else now + ttl / 1000, publisher, now)

    def copy(self, message: Message, envelope: Envelope | None = None) -> Message:
        """The same message with a number of its own, and with another envelope where one is given."""
        self.last += 1
        envelope = message.envelope if envelope is None else envelope
        return Message(self.last, envelope, message.body, message.expires, message.publisher, message.arrived)

    def restored(self, number: int, envelope: Envelope, body: bytes, expires: float | None = None) -> Message:
        """A message as it was stored.  The numbers go on behind the highest."""
        self.last = max(self.last, number)
        return Message(number, envelope, body, expires)
