"""A received message of a session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from uuid import UUID

from amqp_sansio.conversation.json_values import Plain, plain
from amqp_sansio.errors import DecodeError
from amqp_sansio.errors.core import many
from amqp_sansio.events import TransferReceived
from amqp_sansio.spec.codes import DeliveryMode, RejectCode
from amqp_sansio.spec.message import ReplyTo
from amqp_sansio.spec.values import Map
from amqp_sansio.wire.types import decode_list, decode_map

if TYPE_CHECKING:
    from amqp_sansio.conversation.inbox import Inbox
    from amqp_sansio.engine.session import Session

_NONE: Final = Map()


class Message:
    """A message that arrived for a subscription: its body and properties, and the calls that settle it.

    Properties raise HeaderError where the sender encoded a field wrongly.  Settle a message once, by `accept`, `release` or
    `reject`: a second time raises LocalProtocolError, and SessionDetachedError when the session that delivered it is over.
    """

    __slots__ = ("_inbox", "received", "session")

    def __init__(self, received: TransferReceived, inbox: Inbox, session: Session) -> None:
        self.received: Final = received
        self.session: Final = session
        """The session that delivered it, on which alone it can be settled."""
        self._inbox: Final = inbox

    @property
    def id(self) -> int:
        """Its command id in the session, by which it is settled."""
        return self.received.id

    @property
    def body(self) -> bytes:
        """The content."""
        return self.received.body

    @property
    def subscription(self) -> str:
        """The destination of its subscription."""
        return self._inbox.destination

    @property
    def queue(self) -> str:
        """The queue that it came from."""
        return self._inbox.queue

    @property
    def redelivered(self) -> bool:
        """Whether it may have been delivered to a consumer before."""
        properties = self.received.delivery_properties
        return properties is not None and properties.redelivered

    @property
    def discard_unroutable(self) -> bool:
        """Whether the sender asked the broker to drop it where no queue takes it."""
        properties = self.received.delivery_properties
        return properties is not None and properties.discard_unroutable

    @property
    def immediate(self) -> bool:
        """Whether the sender asked that a consumer take it at once."""
        properties = self.received.delivery_properties
        return properties is not None and properties.immediate

    @property
    def persistent(self) -> bool:
        """Whether it survives a restart of the broker on a durable queue."""
        properties = self.received.delivery_properties
        return properties is not None and properties.delivery_mode == DeliveryMode.PERSISTENT

    @property
    def priority(self) -> int | None:
        """0 to 9; None counts as 4."""
        properties = self.received.delivery_properties
        return properties.priority if properties is not None else None

    @property
    def ttl(self) -> int | None:
        """Milliseconds until it expires, from its sender."""
        properties = self.received.delivery_properties
        return properties.ttl if properties is not None else None

    @property
    def timestamp(self) -> int | None:
        """When it was made, or reached the broker: seconds since 1970, UTC."""
        properties = self.received.delivery_properties
        return properties.timestamp if properties is not None else None

    @property
    def expiration(self) -> int | None:
        """When it expires: seconds since 1970, UTC."""
        properties = self.received.delivery_properties
        return properties.expiration if properties is not None else None

    @property
    def exchange(self) -> str:
        """The exchange that it was published to, "" for the default exchange."""
        properties = self.received.delivery_properties
        return (properties.exchange if properties is not None else None) or ""

    @property
    def routing_key(self) -> str:
        """The routing key that it was published with."""
        properties = self.received.delivery_properties
        return (properties.routing_key if properties is not None else None) or ""

    @property
    def resume_id(self) -> str | None:
        """The id of a transfer that can be resumed."""
        properties = self.received.delivery_properties
        return properties.resume_id if properties is not None else None

    @property
    def resume_ttl(self) -> int | None:
        """Milliseconds that an interrupted transfer is kept."""
        properties = self.received.delivery_properties
        return properties.resume_ttl if properties is not None else None

    @property
    def content_length(self) -> int | None:
        """Octets of the whole content, from its sender."""
        properties = self.received.message_properties
        return properties.content_length if properties is not None else None

    @property
    def message_id(self) -> UUID | None:
        """The sender's id of the message."""
        properties = self.received.message_properties
        return properties.message_id if properties is not None else None

    @property
    def correlation_id(self) -> str | None:
        """The id that relates it to another message, usually the request that it answers, as text.

        Octets that are not UTF-8 become surrogate escapes (PEP 383), and `publish` turns them back into the same octets.
        """
        return _text(self.raw_correlation_id)

    @property
    def raw_correlation_id(self) -> bytes | None:
        """The correlation id as octets."""
        properties = self.received.message_properties
        return properties.correlation_id if properties is not None else None

    @property
    def reply_to(self) -> ReplyTo | None:
        """Where to send the reply: exchange and routing key."""
        properties = self.received.message_properties
        return properties.reply_to if properties is not None else None

    @property
    def content_type(self) -> str | None:
        """The MIME type of the body."""
        properties = self.received.message_properties
        return properties.content_type if properties is not None else None

    @property
    def content_encoding(self) -> str | None:
        """How the body is encoded, for example compressed."""
        properties = self.received.message_properties
        return properties.content_encoding if properties is not None else None

    @property
    def user_id(self) -> str | None:
        """The user that sent it, as text (see `correlation_id`); some brokers verify it."""
        properties = self.received.message_properties
        return _text(properties.user_id) if properties is not None else None

    @property
    def app_id(self) -> str | None:
        """The application that sent it, as text (see `correlation_id`)."""
        properties = self.received.message_properties
        return _text(properties.app_id) if properties is not None else None

    @property
    def raw_headers(self) -> Map:
        """The application's headers with their wire types (see `amqp_sansio.spec.values`); empty without any."""
        properties = self.received.message_properties
        found = properties.application_headers if properties is not None else None
        return _NONE if found is None else found

    @property
    def headers(self) -> dict[str, Plain]:
        """The application's headers as plain values, which `json.dumps` takes, in a new dict.

        Octets become text where they are UTF-8, else hex digits; UUIDs and decimals become text.  `raw_headers` has the
        original values.
        """
        return {key: plain(value) for key, value in self.raw_headers.items()}

    def decoded(self) -> dict[str, Plain] | list[Plain]:
        """Decodes the body of a message whose `content_type` is amqp/map or amqp/list, as plain values.

        Raises DecodeError for any other content type, and for malformed octets.
        """
        body = self.body
        read = {"amqp/map": decode_map, "amqp/list": decode_list}.get(self.content_type or "")
        if read is None:
            raise DecodeError("body", 0, f"a content type of amqp/map or amqp/list is decoded, not {self.content_type!r}")
        value, end = read(body, 0, len(body))
        if end != len(body):
            raise DecodeError("body", end, f"{many(len(body) - end, 'octet')} behind the {self.content_type}")
        return {key: plain(each) for key, each in value.items()} if isinstance(value, Map) else [plain(each) for each in value]

    def accept(self) -> None:
        """Accepts it: the broker may forget it.  In a transaction that takes effect with the commit."""
        self._inbox.settle(self, "accept")

    def release(self, redelivered: bool = False) -> None:
        """Gives it back to the queue, to its original position; `redelivered` marks it so."""
        self._inbox.settle(self, "release", redelivered)

    def reject(self, code: RejectCode = RejectCode.UNSPECIFIED, text: str = "") -> None:
        """Rejects it as impossible to process: it goes to the queue's alternate exchange, if any."""
        self._inbox.reject(self, code, text)

    def __repr__(self) -> str:
        return f"<Message {self.id} for {self.subscription!r}, {many(len(self.body), 'octet')}>"


def _text(octets: bytes | None) -> str | None:
    """Decodes octets so that `properties.octets_of` can reverse it."""
    return None if octets is None else octets.decode("utf-8", "surrogateescape")
