"""A message, as a broker keeps it: one object whatever the number of queues that it is on."""

from __future__ import annotations

from typing import ClassVar, Final

from amqp_sansio.kernel.value import Value as Fields
from amqp_sansio.spec.message import DeliveryProperties, MessageProperties
from amqp_sansio.spec.values import Map
from amqp_sansio.wire.headers import HEADER_WRITERS, decode_headers
from amqp_sansio.wire.types import decode_struct32

NO_HEADERS: Final = Map()


def rebuilt(
    properties: DeliveryProperties,
    redelivered: bool | None = None,
    exchange: str | None = None,
    expiration: int | None = None,
) -> DeliveryProperties:
    """The same delivery-properties with what is given changed."""
    p = properties
    return DeliveryProperties(
        p.discard_unroutable,
        p.immediate,
        p.redelivered if redelivered is None else redelivered,
        p.priority,
        p.delivery_mode,
        p.ttl,
        p.timestamp,
        p.expiration if expiration is None else expiration,
        p.exchange if exchange is None else exchange,
        p.routing_key,
        p.resume_id,
        p.resume_ttl,
    )


def _marked(header: bytes) -> bytes:
    """A header segment that begins with delivery-properties, with the redelivered mark."""
    first, end = decode_struct32(header, 0, len(header))
    assert type(first) is DeliveryProperties
    return HEADER_WRITERS[DeliveryProperties](rebuilt(first, redelivered=True)) + header[end:]


class Envelope(Fields):
    """What the header of a message says, read once: messages with the same header to the same exchange share it."""

    __slots__ = (
        "_redelivered_header", "discard_unroutable", "empty_body", "exchange", "header", "immediate", "persistent", "priority",
        "redelivered", "routing_key", "size", "ttl", "user_id",
    )  # fmt: skip
    FIELDS: ClassVar[tuple[str, ...]] = (
        "header", "exchange", "routing_key", "priority", "persistent", "redelivered", "user_id", "ttl", "discard_unroutable",
        "immediate", "empty_body",
    )  # fmt: skip
    SECRETS: ClassVar[frozenset[str]] = frozenset({"header"})

    def __init__(
        self,
        header: bytes,
        exchange: str = "",
        routing_key: str = "",
        priority: int = 4,
        persistent: bool = False,
        redelivered: bool = False,
        user_id: bytes = b"",
        ttl: int | None = None,
        discard_unroutable: bool = False,
        immediate: bool = False,
        empty_body: bool = False,
    ) -> None:
        self.header: Final = header
        """The header segment as it is delivered: delivery-properties first, with the exchange, then the other structs raw."""
        self.exchange: Final = exchange
        """The exchange to which the message was published."""
        self.routing_key: Final = routing_key
        self.priority: Final = priority
        """0 to 9."""
        self.persistent: Final = persistent
        self.redelivered: Final = redelivered
        """Whether it came marked so; then it is delivered so."""
        self.user_id: Final = user_id
        """What message-properties say; b"" when they do not."""
        self.ttl: Final = ttl
        """Milliseconds, None for ever."""
        self.discard_unroutable: Final = discard_unroutable
        self.immediate: Final = immediate
        self.empty_body: Final = empty_body
        """Whether it came with a body segment of 0 octets, and is delivered with one."""
        self.size: Final = len(header)
        self._redelivered_header = header if redelivered else b""


class Message:
    """A message.  What its header says is that of its `Envelope`; the header is decoded again only when somebody asks.

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
        """The header segment as it is delivered the first time."""
        return self.envelope.header

    @property
    def redelivered_header(self) -> bytes:
        """The header segment with the redelivered mark; made when it is first needed."""
        envelope = self.envelope
        if not envelope._redelivered_header:
            envelope._redelivered_header = _marked(envelope.header)
        return envelope._redelivered_header

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
        """Who says to have published it; b"" when nobody does."""
        return self.envelope.user_id

    @property
    def application_headers(self) -> Map:
        """What a headers exchange looks at; an empty map when there are none.  Raises HeaderError."""
        header = self.envelope.header
        for struct in decode_headers(header, 0, len(header)):
            if type(struct) is MessageProperties:
                return struct.application_headers if struct.application_headers is not None else NO_HEADERS
        return NO_HEADERS

    def __repr__(self) -> str:
        where = f"to {self.exchange!r} with key {self.routing_key!r}"
        return f"<Message {self.number}: {len(self.body)} octets {where}, priority {self.priority}>"
