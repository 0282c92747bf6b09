"""A message that a channel of an older dialect received, as programs use it: its properties, and the calls that settle it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqp_sansio.conversation.json_values import Json, plain
from amqp_sansio.engine.channels.client import Channel
from amqp_sansio.errors.core import many
from amqp_sansio.events.channel import MessageDelivered, MessageGot
from amqp_sansio.spec.values import Map

if TYPE_CHECKING:
    from amqp_sansio.conversation.channels.core import ChannelCore

_NO_HEADERS: Final = Map()
_PERSISTENT: Final = 2


class Message:
    """A message that was delivered, or that `get` fetched: its body and properties, and the calls that settle it.

    Properties raise HeaderError when the sender encoded a field wrongly.  Settle a message once, by `accept`, `release` or
    `reject`: doing so again raises LocalProtocolError, and doing so after the channel that delivered it is over raises
    StaleDelivery; the server then delivers it again.
    """

    __slots__ = ("_channel", "_core", "queue", "received", "subscription")

    def __init__(
        self, received: MessageDelivered | MessageGot, core: ChannelCore, channel: Channel, subscription: str, queue: str
    ) -> None:
        self.received: Final = received
        self.subscription: Final = subscription
        """The tag of its consumer; "" when `get` fetched it."""
        self.queue: Final = queue
        """The queue that it came from."""
        self._core: Final = core
        self._channel: Final = channel

    @property
    def tag(self) -> int:
        """Its delivery tag, by which it is settled: the lower 32 bits."""
        return self.received.tag

    @property
    def body(self) -> bytes:
        """The octets that the application sent."""
        return self.received.body

    @property
    def exchange(self) -> str:
        """The exchange that it was published to, "" for the default exchange."""
        return self.received.method.exchange

    @property
    def routing_key(self) -> str:
        """The routing key that it was published with."""
        return self.received.method.routing_key

    @property
    def redelivered(self) -> bool:
        """Whether it may have been delivered to a consumer before."""
        return self.received.method.redelivered

    @property
    def persistent(self) -> bool:
        """Whether it survives a restart of the broker while it is on a durable queue."""
        return self.received.properties.delivery_mode == _PERSISTENT

    @property
    def priority(self) -> int | None:
        """0 to 255; None counts as 0."""
        return self.received.properties.priority

    @property
    def expiration(self) -> str | None:
        """Milliseconds that it may wait on its queue, in digits."""
        return self.received.properties.expiration

    @property
    def ttl(self) -> int | None:
        """The same as a number, as `publish` takes it; None when `expiration` is not a number."""
        text = self.expiration
        return int(text) if text is not None and text.isascii() and text.isdigit() else None

    @property
    def timestamp(self) -> int | None:
        """When it was made: seconds since 1970, UTC."""
        return self.received.properties.timestamp

    @property
    def content_type(self) -> str | None:
        """The MIME type of the body."""
        return self.received.properties.content_type

    @property
    def content_encoding(self) -> str | None:
        """How the body is encoded, for example "gzip"."""
        return self.received.properties.content_encoding

    @property
    def correlation_id(self) -> str | None:
        """The id that relates it to another message, usually the request that it answers."""
        return self.received.properties.correlation_id

    @property
    def reply_to(self) -> str | None:
        """The queue to send the reply to."""
        return self.received.properties.reply_to

    @property
    def message_id(self) -> str | None:
        """The sender's id of the message."""
        return self.received.properties.message_id

    @property
    def type(self) -> str | None:
        """The kind of message, as the application names it."""
        return self.received.properties.type_

    @property
    def user_id(self) -> str | None:
        """The user that sent it; RabbitMQ verifies it."""
        return self.received.properties.user_id

    @property
    def app_id(self) -> str | None:
        """The application that sent it."""
        return self.received.properties.app_id

    @property
    def cluster_id(self) -> str | None:
        """Reserved for clusters of servers."""
        return self.received.properties.cluster_id

    @property
    def raw_headers(self) -> Map:
        """The application's headers with their wire types (see `amqp_sansio.spec.values`); empty without any."""
        return self.received.properties.headers or _NO_HEADERS

    @property
    def headers(self) -> dict[str, Json]:
        """The application's headers as plain values, which `json.dumps` takes, in a new dict.  See `raw_headers`."""
        return {key: plain(value) for key, value in self.raw_headers.items()}

    def accept(self) -> None:
        """Accepts it: the broker may forget it (basic.ack).  In a `transaction()` that takes effect with the commit.

        Raises LocalProtocolError after a transaction, because the channel is transactional for good.
        """
        self._core.transaction.must_count("accept")
        self._core.accept(self._channel, self.tag)
        if self._core.traces is not None:
            self._core.traces.settled(self, "accept")

    def release(self) -> None:
        """Gives it back to the queue, to be delivered again (basic.nack or basic.reject with requeue)."""
        self._give_back("release")

    def reject(self) -> None:
        """Rejects it as impossible to process: it is dead-lettered or dropped (basic.nack or basic.reject)."""
        self._give_back("reject")

    def _give_back(self, how: str) -> None:
        self._core.give_back(self._channel, self.tag, how == "release")
        if self._core.traces is not None:
            self._core.traces.settled(self, how)

    def __repr__(self) -> str:
        return f"<Message {self.tag} for {self.subscription!r}, {many(len(self.body), 'octet')}>"
