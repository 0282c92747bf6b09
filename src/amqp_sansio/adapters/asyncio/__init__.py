"""AMQP on asyncio: `async with connect(url) as connection: ...`."""

from __future__ import annotations

from amqp_sansio.adapters.asyncio.connection import Connection, connect
from amqp_sansio.conversation.session import Session, Subscription

__all__ = ["Connection", "Session", "Subscription", "connect"]
