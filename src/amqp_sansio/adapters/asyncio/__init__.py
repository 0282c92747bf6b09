"""AMQP on asyncio: `async with connect(url) as connection: ...`."""

from __future__ import annotations

import amqp_sansio.errors as errors  # else pyright takes `__all__` of the package
from amqp_sansio.adapters.asyncio.connection import Connection, connect
from amqp_sansio.conversation.line import Pending
from amqp_sansio.conversation.message import Message
from amqp_sansio.conversation.retry import NEVER, RetryPolicy
from amqp_sansio.conversation.session import Session, Subscription
from amqp_sansio.errors import *  # noqa: F403  # all of them, for `except`

__all__ = ["NEVER", "Connection", "Message", "Pending", "RetryPolicy", "Session", "Subscription", "connect"]
__all__ += errors.__all__
