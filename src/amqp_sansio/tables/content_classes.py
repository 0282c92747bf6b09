"""The states of classes file and stream, in the third person.

Both consume, publish and return content alike; nothing in class stream is acknowledged.  A file is staged at its receiver, and
then published (by the client) or delivered (by the server) by its identifier.  Neither open-ok nor stage has the identifier, so
each side stages one file at a time.  Identifiers, tags and sizes are stored beside the rows (`engine.contents`).
"""

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


def _qos(name: str) -> Table:
    """Returns quality of service in the class `name`: one request at a time, because the answer does not identify its
    request."""
    rows = [Row(IDLE, CLIENT, f"{name}.qos", ASKED), Row(ASKED, SERVER, f"{name}.qos-ok", IDLE)]
    return Table(f"{name}: quality of service", IDLE, rows, final=[IDLE])


def _consumer(name: str) -> Table:
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


def _publishing(name: str) -> Table:
    """Returns the rules of returned content in the class `name`: none before something was published."""
    publish = f"{name}.publish"
    rows = [
        Row(NOTHING_PUBLISHED, CLIENT, publish, PUBLISHED),
        Row(PUBLISHED, CLIENT, publish, PUBLISHED),
        Row(PUBLISHED, SERVER, f"{name}.return", PUBLISHED),
    ]
    return Table(f"{name}: publishing", NOTHING_PUBLISHED, rows, final=[NOTHING_PUBLISHED, PUBLISHED])


FILE: Final = "file"
STREAM: Final = "stream"
QOS: Final = {name: _qos(name) for name in (FILE, STREAM)}
"""For a session, by class."""
CONSUMER: Final = {name: _consumer(name) for name in (FILE, STREAM)}
"""For one consumer tag in a session, by class."""
PUBLISHING: Final = {name: _publishing(name) for name in (FILE, STREAM)}
"""For a session, by class."""

# --- class file -----------------------------------------------------------------------------------------------------------

OPEN: Final = "file.open"
OPEN_OK: Final = "file.open-ok"
STAGE: Final = "file.stage"
PUBLISH: Final = "file.publish"
DELIVER: Final = "file.deliver"
DELIVER_NO_ACK: Final = "file.deliver no-ack"
"""A delivery to a consumer with no-ack: there is nothing to acknowledge."""
ACK: Final = "file.ack"
ACK_ALL: Final = "file.ack of all"
"""Tag 0 and multiple: all that the client has received so far; not what is in flight."""
REJECT: Final = "file.reject"

NOTHING: Final = "nothing staged"
OPENING: Final = "opening"
READY: Final = "ready"
STAGED: Final = "staged"


def _staging(sender: str, receiver: str, use: str) -> Table:
    """Returns the rows of staging; `use` is the verb that names the staged file, which need not wait for the end of staging."""
    rows = [
        Row(NOTHING, sender, OPEN, OPENING),
        Row(OPENING, receiver, OPEN_OK, READY),
        Row(READY, sender, STAGE, STAGED),
        Row(STAGED, sender, OPEN, OPENING),
        *[Row(state, sender, use, state) for state in (OPENING, READY, STAGED)],
    ]
    return Table(f"file: staged by the {sender}", NOTHING, rows, final=[NOTHING, STAGED])


STAGING: Final[dict[str, Table]] = {CLIENT: _staging(CLIENT, SERVER, PUBLISH), SERVER: _staging(SERVER, CLIENT, DELIVER)}
"""The tables by staging side."""

START: Final = "not delivered"
DELIVERED: Final = "delivered"
RECEIVED: Final = "received"
PERHAPS: Final = "acknowledged perhaps"
"""All was acknowledged when this was delivered; whether the client had received it by then is unknown."""
PERHAPS_RECEIVED: Final = "acknowledged perhaps, received"
END: Final = "settled"

DELIVERY: Final[Table] = Table(
    "file: delivery",
    START,
    [
        Row(START, SERVER, DELIVER, DELIVERED),
        Row(START, SERVER, DELIVER_NO_ACK, END),
        Row(DELIVERED, CLIENT, COMPLETED, RECEIVED),
        Row(DELIVERED, CLIENT, ACK_ALL, PERHAPS),
        Row(RECEIVED, CLIENT, ACK_ALL, END),
        Row(PERHAPS, CLIENT, COMPLETED, PERHAPS_RECEIVED),
        Row(PERHAPS, CLIENT, ACK_ALL, PERHAPS),
        Row(PERHAPS_RECEIVED, CLIENT, ACK_ALL, END),
        # Completions are repeated until the server has confirmed them, also after settlement.
        *[Row(at, CLIENT, COMPLETED, at) for at in (RECEIVED, PERHAPS_RECEIVED, END)],
        *[Row(at, CLIENT, verb, END) for at in (DELIVERED, RECEIVED, PERHAPS, PERHAPS_RECEIVED) for verb in (ACK, REJECT)],
    ],
    final=[START, END],
)
"""For one delivery tag in a session."""
