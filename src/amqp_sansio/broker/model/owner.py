"""Whose queues and subscriptions are: sessions and connections, as the model sees them.

An owner is any object that is compared by identity: a connection, which may have a `number`, or a session, whose connection is
its `peer`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from amqp_sansio.broker.model.message import Message


def connection_of(owner: object) -> object:
    """The connection of a session; None of one that has none now."""
    return getattr(owner, "peer", None)


def published_by(message: Message, owner: object) -> bool:
    """Whether the message came on the connection that is this owner, or its own; False when nobody knows whence it came."""
    if not message.publisher:
        return False
    connection = getattr(owner, "peer", owner)
    return getattr(connection, "number", 0) == message.publisher
