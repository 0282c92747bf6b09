"""The properties of a message, independent of any family."""

from __future__ import annotations

from typing import ClassVar, Final

from amqp_sansio.kernel.value import Value as Fields
from amqp_sansio.spec.values import Map

NO_HEADERS: Final = Map()
DEFAULT_PRIORITY: Final = 4
"""The default of a message whose publisher gave none; a form may define another."""


class Properties(Fields):
    """The properties that families have in common, as the publisher gave them; decoded on demand.

    None, "" or an empty map: the publisher did not set it.
    """

    __slots__ = (
        "app_id", "content_encoding", "content_type", "correlation_id", "exchange", "expiration", "headers", "message_id",
        "persistent", "priority", "redelivered", "reply_to", "routing_key", "timestamp", "ttl", "user_id",
    )  # fmt: skip
    FIELDS: ClassVar[tuple[str, ...]] = (
        "exchange", "routing_key", "persistent", "priority", "redelivered", "ttl", "timestamp", "expiration", "message_id",
        "correlation_id", "reply_to", "content_type", "content_encoding", "user_id", "app_id", "headers",
    )  # fmt: skip

    def __init__(
        self,
        exchange: str = "",
        routing_key: str = "",
        persistent: bool = False,
        priority: int | None = None,
        redelivered: bool = False,
        ttl: int | None = None,
        timestamp: int | None = None,
        expiration: int | None = None,
        message_id: str = "",
        correlation_id: bytes | None = None,
        reply_to: tuple[str, str] | None = None,
        content_type: str | None = None,
        content_encoding: str | None = None,
        user_id: bytes = b"",
        app_id: bytes | None = None,
        headers: Map = NO_HEADERS,
    ) -> None:
        self.exchange: Final = exchange
        """The exchange to which it was published."""
        self.routing_key: Final = routing_key
        self.persistent: Final = persistent
        """Whether delivery-mode makes it survive a failure, on a durable queue."""
        self.priority: Final = priority
        """As the publisher set it, even above 9."""
        self.redelivered: Final = redelivered
        self.ttl: Final = ttl
        """In milliseconds."""
        self.timestamp: Final = timestamp
        """POSIX time in the publisher's unit, seconds or milliseconds."""
        self.expiration: Final = expiration
        """A moment in the same unit."""
        self.message_id: Final = message_id
        """As text, whatever type the form uses."""
        self.correlation_id: Final = correlation_id
        self.reply_to: Final = reply_to
        """An exchange and a routing key."""
        self.content_type: Final = content_type
        self.content_encoding: Final = content_encoding
        self.user_id: Final = user_id
        """The publisher by its own claim."""
        self.app_id: Final = app_id
        self.headers: Final = headers
        """The application headers, which headers exchanges and selectors match."""
