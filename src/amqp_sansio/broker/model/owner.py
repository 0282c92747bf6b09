"""The owner of queues, subscriptions and transactions: a session or a connection, for as long as it lives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from amqp_sansio.broker.model.message import Message

Lifetime: TypeAlias = Literal["session", "connection"]
"""The kind of an owner, which determines its lifetime."""
SESSION: Final = "session"
"""A session may outlive its connection, and move to another one later."""
CONNECTION: Final = "connection"
"""A connection's resources end with it."""


class Owner:
    """The owner of exclusive queues, subscriptions and transactions; compared by identity.

    Fronts make one for each session and each connection, and call `VirtualHost.owner_ended` at its end.
    """

    __slots__ = ("_on", "lifetime", "number")

    def __init__(self, lifetime: Lifetime, number: int = 0, connection: Owner | None = None) -> None:
        self.lifetime: Final = lifetime
        self.number: Final = number
        """The number of a connection among those of the broker, from 1 on, which identifies the origin of messages; 0: none."""
        self._on = connection

    @property
    def connection(self) -> Owner | None:
        """The connection of a session, None while it has none; a connection itself."""
        return self if self.lifetime == CONNECTION else self._on

    def moved(self, connection: Owner | None) -> None:
        """Moves the session to another connection, or to none."""
        self._on = connection

    def __repr__(self) -> str:
        return f"<Owner: a {self.lifetime}{f', number {self.number}' if self.number else ''}>"


def connection_of(owner: Owner | None) -> Owner | None:
    """Returns the connection of an owner; None without an owner, and for a session without a connection."""
    return None if owner is None else owner.connection


def published_by(message: Message, owner: Owner | None) -> bool:
    """Returns whether the message came from the connection that is this owner, or its own; False when the origin is unknown."""
    if not message.publisher or owner is None:
        return False
    connection = owner.connection
    return connection is not None and connection.number == message.publisher
