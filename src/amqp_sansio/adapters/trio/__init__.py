"""AMQP on trio: `async with connect(url) as connection: ...`."""

from __future__ import annotations

from amqp_sansio.adapters.trio.connection import Connection, connect
from amqp_sansio.conversation.session import Session, Subscription

__all__ = ["Connection", "Session", "Subscription", "connect"]
