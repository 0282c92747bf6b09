"""The owner of queues, subscriptions and transactions: a session or a connection, for as long as it lives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from amqp_sansio.broker.model.message import Message

Lifetime: TypeAlias = Literal["session", "connection"]
"""What an owner lives as long as."""
SESSION: Final = "session"
"""It may outlive the connection that it is on, and be on another one later."""
CONNECTION: Final = "connection"
"""It ends with the connection."""


class Owner:
    """The owner of exclusive queues, subscriptions and transactions; compared by identity.

    Fronts make one for each session and each connection, and say `VirtualHost.owner_ended` at its end.
    """

    __slots__ = ("_on", "lifetime", "number")

    def __init__(self, lifetime: Lifetime, number: int = 0, connection: Owner | None = None) -> None:
        self.lifetime: Final = lifetime
        self.number: Final = number
        """Of a connection, among those of the broker, 1 and up: by it a message knows where it came from; 0: it has none."""
        self._on = connection

    @property
    def connection(self) -> Owner | None:
        """The connection that a session is on, None while it is on none; a connection itself."""
        return self if self.lifetime == CONNECTION else self._on

    def moved(self, connection: Owner | None) -> None:
        """The session is on another connection from now on, or on none."""
        self._on = connection

    def __repr__(self) -> str:
        return f"<Owner: a {self.lifetime}{f', number {self.number}' if self.number else ''}>"


def connection_of(owner: Owner | None) -> Owner | None:
    """The connection of an owner; None of nobody, and of a session that is on none now."""
    return None if owner is None else owner.connection


def published_by(message: Message, owner: Owner | None) -> bool:
    """Whether the message came on the connection that is this owner, or its own; False when nobody knows whence it came."""
    if not message.publisher or owner is None:
        return False
    connection = owner.connection
    return connection is not None and connection.number == message.publisher
