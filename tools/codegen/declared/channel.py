"""Events of the channels of the older dialects."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, ClassVar, Final, Generic, TypeVar

from amqp_sansio.errors import DecodeError, HeaderError
from amqp_sansio.events.violation import Origin, Violation
from amqp_sansio.kernel.serials import EMPTY, TOP, RangeSet
from amqp_sansio.kernel.value import ValueObject
from amqp_sansio.spec.base import Method, Struct
from amqp_sansio.wire.codec import DEFAULT_READING
from amqp_sansio.wire.method_frames import HEADER_HEAD

if TYPE_CHECKING:  # the classes of a family's methods are imported when a dialect of it is used
    from amqp_sansio.spec.methods import basic
    from amqp_sansio.wire.method_codec import RepeatedProperties

M = TypeVar("M", bound=Method)


class ChannelRequested(ValueObject):
    """The client requests a channel (server role; channel.open).

    Answer with `accept` or `refuse` before the next `next_event`, else the config's policy answers.
    """

    channel: int


class ChannelOpened(ValueObject):
    """The server has opened the channel (client role; channel.open-ok).  What was sent on it before need not be repeated."""

    channel: int


class ChannelClosed(ValueObject):
    """The channel is over.  The event reports once what was outstanding on it.

    `code`, `text` and `method` are those of channel.close from either side (`method` is the name of the method at fault, "" for
    none); `violation` is set when `origin` is VIOLATION.  `calls` are the ids of our unanswered methods; `concerned` those of
    all methods that we sent after the last answered one, any of which the close may be about; `in_doubt` the numbers of
    published messages neither confirmed nor otherwise known to have been taken; `unsettled` the tags of deliveries that the
    client has not settled, which the server delivers again, perhaps to another consumer.
    """

    channel: int
    origin: Origin
    code: int | None = None
    text: str = ""
    method: str = ""
    violation: Violation | None = None
    calls: RangeSet = EMPTY
    concerned: RangeSet = EMPTY
    in_doubt: RangeSet = EMPTY
    unsettled: RangeSet = EMPTY


class MethodAnswered(ValueObject):
    """The peer answers our method `id` with `method`, such as queue.declare-ok."""

    channel: int
    id: int
    method: Method


class MethodReceived(ValueObject):
    """A method of the peer without an event of its own.

    `id` is set when the method requires an answer: `reply(id, ...)`.  A method with no-wait set is never answered.
    """

    channel: int
    id: int | None
    method: Method


class Content(ValueObject, Generic[M]):
    """A method with a content: the base of the events that carry messages.

    `header` is the payload of the content header, `body` the message.  Properties are decoded on access, in the encoding of the
    connection's dialect and within its limits.  A pickled or constructed copy does not know the connection: it uses RabbitMQ's
    type codes for field tables, and the default limits.
    """

    __slots__ = ("_how", "_memo", "_method", "_tag", "body", "channel", "header")
    FIELDS: ClassVar[tuple[str, ...]] = ("channel", "method", "header", "body")

    def __init__(self, channel: int, method: M, header: bytes = b"", body: bytes = b"") -> None:
        self.channel: Final = channel
        self._method: Final = method
        self.header: Final = header
        self.body: Final = body
        self._tag: int | None = None  # the delivery-tag, where `_method` is shared by deliveries and has another one
        self._how: RepeatedProperties | None = None  # how to decode the properties
        self._memo: Struct | None = None  # the properties, once decoded

    @property
    def method(self) -> M:
        """The method that carries the content."""
        return self._method

    def read_as(self, how: RepeatedProperties) -> None:
        """Sets how the properties are decoded on access; for the engine."""
        self._how = how

    @property
    def property_octets(self) -> bytes:
        """The undecoded properties, flags first: `publish` and `deliver` accept them unchanged."""
        return self.header[HEADER_HEAD - 2 :]

    def read_properties(self) -> Struct:
        """Decodes the properties, of the class of the method.  Raises HeaderError when they cannot be decoded."""
        return self._memo or self._read()

    @property
    def properties(self) -> basic.Properties:
        """The properties of a content of class basic.  Raises HeaderError as `read_properties` does."""
        properties = self._memo
        if properties is None and self._how is not None:  # `read_properties` inlined
            try:
                properties = self._memo = self._how.read(self.header)
            except DecodeError:
                properties = self._read()  # which tells of it
        if properties is None:
            properties = self._read()
        if properties.NAME != "basic.properties":
            raise HeaderError("header", 0, f"is of class basic, not of that with {type(properties).__name__}", 502)
        return properties  # type: ignore[return-value]  # that is its name

    def _read(self) -> Struct:
        try:
            properties = (self._how or _deployed()).read(self.header)
        except DecodeError as error:
            raise HeaderError(error.what, error.octet, error.rule, error.code) from None
        if properties is None:
            raise HeaderError("header", 0, "is that of no class with contents", 502)
        self._memo = properties
        return properties


def _deployed() -> RepeatedProperties:
    codec = import_module("amqp_sansio.wire.layouts.v0_9_1").CODEC
    made: RepeatedProperties = import_module("amqp_sansio.wire.method_codec").RepeatedProperties(codec, DEFAULT_READING)
    return made


class MessageDelivered(Content["basic.Deliver"]):
    """A message for a consumer (client role; basic.deliver).  `method` has its consumer tag, exchange and routing key."""

    __slots__ = ()
    __match_args__ = ("channel", "method", "header", "body")

    @property
    def method(self) -> basic.Deliver:
        """The basic.deliver: the consumer tag, delivery-tag, exchange, routing key, and whether it is a redelivery."""
        like, tag = self._method, self._tag
        if tag is None:
            return like
        return type(like)(like.consumer_tag, tag, like.redelivered, like.exchange, like.routing_key)

    @property
    def consumer_tag(self) -> str:
        """The tag of the consumer that the message is for."""
        return self._method.consumer_tag

    @property
    def tag(self) -> int:
        """The tag that settles it: the lower 32 bits of the delivery-tag, as sets of tags hold them."""
        return (self._method.delivery_tag if self._tag is None else self._tag) & TOP


class MessageGot(Content["basic.GetOk"]):
    """The message that answers our basic.get `id` (basic.get-ok).  For an empty queue comes MethodAnswered
    (basic.get-empty)."""

    __slots__ = ("id",)
    FIELDS: ClassVar[tuple[str, ...]] = ("channel", "id", "method", "header", "body")
    __match_args__ = ("channel", "id", "method", "header", "body")

    def __init__(self, channel: int, id: int, method: basic.GetOk, header: bytes = b"", body: bytes = b"") -> None:
        super().__init__(channel, method, header, body)
        self.id: Final = id

    @property
    def tag(self) -> int:
        """The tag that settles it: the lower 32 bits of the delivery-tag, as sets of tags hold them."""
        return self.method.delivery_tag & TOP


class MessageReturned(Content["basic.Return"]):
    """The server returns a message of ours that it could not route or deliver (client role; basic.return).

    `number` is that of its publish where it is certain, that is where exactly one mandatory or immediate message with this
    exchange and routing key is in doubt.  It is None where there are more, or beyond 8191 pairs of exchange and key or 65536
    ranges of their numbers.
    """

    __slots__ = ("number",)
    FIELDS: ClassVar[tuple[str, ...]] = ("channel", "number", "method", "header", "body")
    __match_args__ = ("channel", "number", "method", "header", "body")

    def __init__(self, channel: int, number: int | None, method: basic.Return, header: bytes = b"", body: bytes = b"") -> None:
        super().__init__(channel, method, header, body)
        self.number: Final = number


class ContentReceived(Content[Method]):
    """A method with a content of the peer without an event of its own, such as a client's basic.publish.

    `number`: that of a message on a channel in confirm mode, to confirm it by; else None.
    """

    __slots__ = ("number",)
    FIELDS: ClassVar[tuple[str, ...]] = ("channel", "number", "method", "header", "body")
    __match_args__ = ("channel", "number", "method", "header", "body")

    def __init__(self, channel: int, number: int | None, method: Method, header: bytes = b"", body: bytes = b"") -> None:
        super().__init__(channel, method, header, body)
        self.number: Final = number


class Confirmed(ValueObject):
    """The server has taken over these messages of ours (basic.ack), by the numbers of their publishes; each comes once."""

    channel: int
    ids: RangeSet


class Nacked(ValueObject):
    """The server has not taken over these messages of ours (basic.nack), by the numbers of their publishes."""

    channel: int
    ids: RangeSet


class DeliveriesSettled(ValueObject):
    """The client has settled these deliveries (server role).

    `verb` is basic.ack, basic.nack, basic.reject, or that of a recover, which returns everything outstanding; `requeue` means
    that they are to be delivered again.  On a transacted channel, what the client settles takes effect when it commits; what it
    rolls back it settles again, with another event.
    """

    channel: int
    ids: RangeSet
    verb: str
    requeue: bool = False


class ConsumerCancelled(ValueObject):
    """A consumer has ended (client role): it gets no more messages.

    `origin` is PEER when the server cancelled it, for example because its queue is gone; LOCAL when this answers our cancel.
    """

    channel: int
    consumer_tag: str
    origin: Origin


class FlowChanged(ValueObject):
    """The server pauses or resumes our publishing (client role; channel.flow, already answered)."""

    channel: int
    active: bool
