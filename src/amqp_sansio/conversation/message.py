"""A message that a session of 0-10 received, as programs use it: its properties by name, and the calls that settle it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from uuid import UUID

from amqp_sansio.conversation.json_values import Json, plain
from amqp_sansio.errors import DecodeError
from amqp_sansio.errors.core import many
from amqp_sansio.events import TransferReceived
from amqp_sansio.spec.codes import DeliveryMode, RejectCode
from amqp_sansio.spec.message import DeliveryProperties, MessageProperties, ReplyTo
from amqp_sansio.spec.values import Map
from amqp_sansio.wire.types import decode_list, decode_map

if TYPE_CHECKING:
    from amqp_sansio.conversation.inbox import Inbox
    from amqp_sansio.engine.session import Session

_NO_HEADERS: Final = Map()
_NO_DELIVERY: Final = DeliveryProperties()
_NO_MESSAGE: Final = MessageProperties()


class Message:
    """A message that arrived for a subscription: its body and properties, and the calls that settle it.

    Properties raise HeaderError when the sender encoded a field wrongly; a field that it left out is None, False or "".
    Settle a message once, by `accept`, `release` or `reject`: doing so again raises LocalProtocolError, and doing so after the
    session that delivered it is over raises SessionDetachedError.
    """

    __slots__ = ("_inbox", "received", "session")

    def __init__(self, received: TransferReceived, inbox: Inbox, session: Session) -> None:
        self.received: Final = received
        """The event that delivered it, with its raw header."""
        self.session: Final = session
        """The session that delivered it, on which alone it can be settled."""
        self._inbox: Final = inbox

    @property
    def id(self) -> int:
        """The id of its message.transfer in the session; message.accept and the like name it."""
        return self.received.id

    @property
    def body(self) -> bytes:
        """The octets that the application sent."""
        return self.received.body

    @property
    def subscription(self) -> str:
        """The name of its subscription: the destination of its message.transfer."""
        return self._inbox.destination

    @property
    def queue(self) -> str:
        """The queue that it came from."""
        return self._inbox.queue

    @property
    def _delivery(self) -> DeliveryProperties:
        return self.received.delivery_properties or _NO_DELIVERY

    @property
    def _message(self) -> MessageProperties:
        return self.received.message_properties or _NO_MESSAGE

    @property
    def redelivered(self) -> bool:
        """Whether it may have been delivered to a consumer before."""
        return self._delivery.redelivered

    @property
    def discard_unroutable(self) -> bool:
        """Whether the broker drops it, instead of rejecting it, when no queue takes it."""
        return self._delivery.discard_unroutable

    @property
    def immediate(self) -> bool:
        """Whether the sender asked the broker to take it only if a consumer is ready for it."""
        return self._delivery.immediate

    @property
    def persistent(self) -> bool:
        """Whether it survives a restart of the broker while it is on a durable queue."""
        return self._delivery.delivery_mode == DeliveryMode.PERSISTENT

    @property
    def priority(self) -> int | None:
        """0 to 9; None counts as 4."""
        return self._delivery.priority

    @property
    def ttl(self) -> int | None:
        """How long it may live, in milliseconds, as its sender set it."""
        return self._delivery.ttl

    @property
    def timestamp(self) -> int | None:
        """When the sender made it, or when the broker received it, if the broker set it: seconds since 1970, UTC."""
        return self._delivery.timestamp

    @property
    def expiration(self) -> int | None:
        """When it expires: seconds since 1970, UTC; Java clients write milliseconds."""
        return self._delivery.expiration

    @property
    def exchange(self) -> str:
        """The exchange that it was published to; "" for the default exchange."""
        return self._delivery.exchange or ""

    @property
    def routing_key(self) -> str:
        """The routing key that it was published with."""
        return self._delivery.routing_key or ""

    @property
    def resume_id(self) -> str | None:
        """The sender's id of a transfer that can be resumed after an interruption."""
        return self._delivery.resume_id

    @property
    def resume_ttl(self) -> int | None:
        """How long an interrupted transfer may be kept, in milliseconds."""
        return self._delivery.resume_ttl

    @property
    def content_length(self) -> int | None:
        """The length of the body in octets, as its sender declared it."""
        return self._message.content_length

    @property
    def message_id(self) -> UUID | None:
        """The sender's id of the message."""
        return self._message.message_id

    @property
    def correlation_id(self) -> str | None:
        """The id that relates it to another message, usually the request that it answers, as text.

        Octets that are not UTF-8 become surrogate escapes (PEP 383), and `publish` turns them back into the same octets.
        """
        return _text(self.raw_correlation_id)

    @property
    def raw_correlation_id(self) -> bytes | None:
        """The correlation id as octets."""
        return self._message.correlation_id

    @property
    def reply_to(self) -> ReplyTo | None:
        """Where to send the reply: exchange and routing key."""
        return self._message.reply_to

    @property
    def content_type(self) -> str | None:
        """The MIME type of the body."""
        return self._message.content_type

    @property
    def content_encoding(self) -> str | None:
        """How the body is encoded, for example "gzip"."""
        return self._message.content_encoding

    @property
    def user_id(self) -> str | None:
        """The user that sent it, as text (see `correlation_id`); some brokers verify it."""
        return _text(self._message.user_id)

    @property
    def app_id(self) -> str | None:
        """The application that sent it, as text (see `correlation_id`)."""
        return _text(self._message.app_id)

    @property
    def raw_headers(self) -> Map:
        """The application's headers with their wire types (see `amqp_sansio.spec.values`); empty without any."""
        found = self._message.application_headers
        return _NO_HEADERS if found is None else found

    @property
    def headers(self) -> dict[str, Json]:
        """The application's headers as plain values, which `json.dumps` takes, in a new dict.

        Octets become text where they are UTF-8, else hex digits; UUIDs and decimals become text.  `raw_headers` has the
        original values.
        """
        return {key: plain(value) for key, value in self.raw_headers.items()}

    def decoded(self) -> dict[str, Json] | list[Json]:
        """Decodes a body whose `content_type` is amqp/map or amqp/list, as plain values.

        Raises DecodeError for any other content type, and for malformed octets.
        """
        body = self.body
        read = {"amqp/map": decode_map, "amqp/list": decode_list}.get(self.content_type or "")
        if read is None:
            raise DecodeError("body", 0, f"its content type must be amqp/map or amqp/list, not {self.content_type!r}")
        value, end = read(body, 0, len(body))
        if end != len(body):
            raise DecodeError("body", end, f"{many(len(body) - end, 'octet')} after the {self.content_type}")
        return {key: plain(each) for key, each in value.items()} if isinstance(value, Map) else [plain(each) for each in value]

    def accept(self) -> None:
        """Accepts it: the broker may forget it.  In a transaction, this takes effect with the commit."""
        self._inbox.settle(self, "accept")

    def release(self, redelivered: bool = False) -> None:
        """Gives it back to the queue, to its original position; `redelivered` marks it as delivered before."""
        self._inbox.settle(self, "release", redelivered)

    def reject(self, code: RejectCode = RejectCode.UNSPECIFIED, text: str = "") -> None:
        """Rejects it as impossible to process, with a reason; it goes to the queue's alternate exchange, if any."""
        self._inbox.reject(self, code, text)

    def __repr__(self) -> str:
        return f"<Message {self.id} for {self.subscription!r}, {many(len(self.body), 'octet')}>"


def _text(octets: bytes | None) -> str | None:
    """Decodes octets in a way that `properties.octets_of` can reverse."""
    return None if octets is None else octets.decode("utf-8", "surrogateescape")
