"""The rows common to classes file and stream: quality of service, consuming, returned content."""

from __future__ import annotations

from typing import Final

from amqp_sansio.kernel.machine import Row, Table
from amqp_sansio.tables.connection import CLIENT, SERVER

IDLE: Final = "idle"
ASKED: Final = "asked"

NO_CONSUMER: Final = "no consumer"
CONSUMING: Final = "consuming"
CANCELLED: Final = "cancelled"
"""What was in flight when the client cancelled may still arrive."""
ASKED_CANCELLED: Final = "asked, cancelled"
ASKED_AGAIN: Final = "asked again"
"""A new consumer has the tag of a cancelled one: what comes before consume-ok is for the old one."""
ASKED_AGAIN_CANCELLED: Final = "asked again, cancelled"
ANSWER_OWED: Final = "consume-ok owed"
"""The cancel was executed, and the consume that it cancelled was not answered."""

NOTHING_PUBLISHED: Final = "nothing published"
PUBLISHED: Final = "published"

COMPLETED: Final = "session.completed"
"""The other side has executed the command (a cancel), or has received it (a delivery)."""


def nowait(name: str) -> str:
    """Returns the verb of a consume with nowait, in the class `name`."""
    return f"{name}.consume nowait"


def qos_table(name: str) -> Table:
    """Returns quality of service in the class `name`: one request at a time, because the answer does not identify its
    request."""
    rows = [Row(IDLE, CLIENT, f"{name}.qos", ASKED), Row(ASKED, SERVER, f"{name}.qos-ok", IDLE)]
    return Table(f"{name}: quality of service", IDLE, rows, final=[IDLE])


def consumer_table(name: str) -> Table:
    """Returns the states of one consumer tag in the class `name`."""
    consume, ok, cancel, deliver = [f"{name}.{verb}" for verb in ("consume", "consume-ok", "cancel", "deliver")]
    rows = [
        Row(NO_CONSUMER, CLIENT, consume, ASKED),
        Row(NO_CONSUMER, CLIENT, nowait(name), CONSUMING),
        Row(ASKED, SERVER, ok, CONSUMING),
        Row(ASKED, CLIENT, cancel, ASKED_CANCELLED),
        Row(CONSUMING, SERVER, deliver, CONSUMING),
        Row(CONSUMING, CLIENT, cancel, CANCELLED),
        Row(CANCELLED, SERVER, deliver, CANCELLED),
        Row(CANCELLED, SERVER, COMPLETED, NO_CONSUMER),
        Row(CANCELLED, CLIENT, consume, ASKED_AGAIN),
        Row(CANCELLED, CLIENT, nowait(name), CONSUMING),
        Row(ASKED_CANCELLED, SERVER, ok, CANCELLED),
        Row(ASKED_CANCELLED, SERVER, COMPLETED, ANSWER_OWED),
        Row(ASKED_AGAIN, SERVER, deliver, ASKED_AGAIN),
        Row(ASKED_AGAIN, SERVER, COMPLETED, ASKED),
        Row(ASKED_AGAIN, SERVER, ok, CONSUMING),
        Row(ASKED_AGAIN, CLIENT, cancel, ASKED_AGAIN_CANCELLED),
        Row(ASKED_AGAIN_CANCELLED, SERVER, deliver, ASKED_AGAIN_CANCELLED),
        Row(ASKED_AGAIN_CANCELLED, SERVER, ok, CANCELLED),
        Row(ASKED_AGAIN_CANCELLED, SERVER, COMPLETED, ANSWER_OWED),
        Row(ANSWER_OWED, SERVER, ok, NO_CONSUMER),
    ]
    return Table(f"{name}: consumer", NO_CONSUMER, rows, final=[NO_CONSUMER, CONSUMING, CANCELLED])


def return_table(name: str) -> Table:
    """Returns the rules of returned content in the class `name`: none before something was published."""
    publish = f"{name}.publish"
    rows = [
        Row(NOTHING_PUBLISHED, CLIENT, publish, PUBLISHED),
        Row(PUBLISHED, CLIENT, publish, PUBLISHED),
        Row(PUBLISHED, SERVER, f"{name}.return", PUBLISHED),
    ]
    return Table(f"{name}: publishing", NOTHING_PUBLISHED, rows, final=[NOTHING_PUBLISHED, PUBLISHED])
