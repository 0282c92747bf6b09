"""The states of class file, in the third person.

A file is staged at its receiver, and then published (by the client) or delivered (by the server) by its identifier. Neither
open-ok nor stage has the identifier, so each side stages one file at a time.  Identifiers, tags and sizes are stored beside the
rows (`engine.contents`).
"""

from __future__ import annotations

from typing import Final

from amqp_sansio.kernel.machine import Row, Table
from amqp_sansio.tables.connection import CLIENT, SERVER
from amqp_sansio.tables.consumer import COMPLETED, consumer_table, qos_table, return_table

NAME: Final = "file"

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

QOS: Final = qos_table(NAME)
"""For a session."""
CONSUMER: Final = consumer_table(NAME)
"""For one consumer tag in a session."""
PUBLISHING: Final = return_table(NAME)
"""For a session."""

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
