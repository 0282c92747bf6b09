"""The states of class stream, in the third person; nothing in it is acknowledged."""

from __future__ import annotations

from typing import Final

from amqp_sansio.tables.consumer import consumer_table, qos_table, return_table

NAME: Final = "stream"

QOS: Final = qos_table(NAME)
"""For a session."""
CONSUMER: Final = consumer_table(NAME)
"""For one consumer tag in a session."""
PUBLISHING: Final = return_table(NAME)
"""For a session."""
