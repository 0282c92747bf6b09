"""AMQP for plain, blocking code: `with connect(url) as connection: ...`.

Any number of threads may use one connection and what comes from it: one lock serialises them, and a thread in the background
keeps it alive while they are busy.
"""

from __future__ import annotations

from amqp_sansio.adapters.sync.connection import Connection, connect
from amqp_sansio.adapters.sync.pending import Pending
from amqp_sansio.adapters.sync.session import Session, Subscription
from amqp_sansio.conversation.message import Message
from amqp_sansio.conversation.retry import NEVER, RetryPolicy

__all__ = ["NEVER", "Connection", "Message", "Pending", "RetryPolicy", "Session", "Subscription", "connect"]
