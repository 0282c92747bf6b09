"""A message in the hands of its receiver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from uuid import UUID

from amqp_sansio.events import TransferReceived
from amqp_sansio.spec.message import ReplyTo
from amqp_sansio.spec.values import Map

if TYPE_CHECKING:
    from amqp_sansio.conversation.inbox import Inbox
    from amqp_sansio.engine.session import Session

_NONE: Final = Map()


class Message:
    """A message that came for a subscription: its body, its properties, and what may be done with it.

    Properties raise `HeaderError` where the sender encoded a field wrongly.  Settle it once: `accept`, `release` or `reject`; a
    second time is LocalProtocolError, and SessionDetachedError when the session that brought it is over.
    """

    __slots__ = ("_inbox", "received", "session")

    def __init__(self, received: TransferReceived, inbox: Inbox, session: Session) -> None:
        self.received: Final = received
        self.session: Final = session
        """The session that brought it: nobody else can settle it."""
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
        """The destination that it came for."""
        return self._inbox.destination

    @property
    def redelivered(self) -> bool:
        """Whether somebody may have had it before."""
        properties = self.received.delivery_properties
        return properties is not None and bool(properties.redelivered)

    @property
    def exchange(self) -> str:
        """The exchange that it was published to, "" for the default exchange."""
        properties = self.received.delivery_properties
        return (properties.exchange if properties is not None else None) or ""

    @property
    def routing_key(self) -> str:
        """The key that it was published with."""
        properties = self.received.delivery_properties
        return (properties.routing_key if properties is not None else None) or ""

    @property
    def message_id(self) -> UUID | None:
        """What the sender calls it."""
        properties = self.received.message_properties
        return properties.message_id if properties is not None else None

    @property
    def correlation_id(self) -> bytes | None:
        """What it answers."""
        properties = self.received.message_properties
        return properties.correlation_id if properties is not None else None

    @property
    def reply_to(self) -> ReplyTo | None:
        """Where an answer is awaited: exchange and routing key."""
        properties = self.received.message_properties
        return properties.reply_to if properties is not None else None

    @property
    def content_type(self) -> str | None:
        """The MIME type of the body."""
        properties = self.received.message_properties
        return properties.content_type if properties is not None else None

    @property
    def headers(self) -> Map:
        """The application headers; empty without any."""
        properties = self.received.message_properties
        found = properties.application_headers if properties is not None else None
        return _NONE if found is None else found

    def accept(self) -> None:
        """It is done: the broker may forget it.  In a transaction, once that is committed."""
        self._inbox.settle(self, "accept")

    def release(self, redelivered: bool = False) -> None:
        """Gives it back to the queue, at its place; `redelivered` marks it."""
        self._inbox.settle(self, "release", redelivered)

    def reject(self, code: int = 0, text: str = "") -> None:
        """It cannot be processed: it goes to the queue's alternate exchange, if any."""
        self._inbox.reject(self, code, text)

    def __repr__(self) -> str:
        return f"<Message {self.id} for {self.subscription!r}, {len(self.body)} octets>"
