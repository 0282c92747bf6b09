"""The states of a channel of the older dialects, and its mode, in the third person.

Close is full duplex, because what was in flight when the other side sent close is legal: a side that has sent close sends
nothing more but the answer to a crossing close.
"""

from __future__ import annotations

from typing import Final

from amqp_sansio.kernel.machine import Row, Table
from amqp_sansio.tables.connection import CLIENT, SERVER, SPEAKERS

OPEN: Final = "channel.open"
OPEN_OK: Final = "channel.open-ok"
CLOSE: Final = "channel.close"
CLOSE_OK: Final = "channel.close-ok"
RESUME: Final = "channel.resume"
"""0-9: opens a channel with the state of an earlier one."""
RESUMED: Final = "channel.ok"
"""The answer to resume; as the answer to other methods it counts as work."""
FLOW: Final = "channel.flow"
FLOW_OK: Final = "channel.flow-ok"
WORK: Final = "work"
"""Any other method on the channel."""

LIFE: Final = Table(
    "channel",
    "not-open",
    [
        Row("not-open", CLIENT, OPEN, "opening"),
        Row("closed", CLIENT, OPEN, "opening"),
        Row("not-open", CLIENT, RESUME, "resuming"),
        Row("closed", CLIENT, RESUME, "resuming"),
        # The client need not wait for open-ok, nor for the ok to resume.
        Row("opening", SERVER, OPEN_OK, "open"),
        Row("resuming", SERVER, RESUMED, "open"),
        *[Row(state, CLIENT, WORK, state) for state in ("opening", "resuming", "open")],
        Row("open", SERVER, WORK, "open"),
        Row("opening", CLIENT, CLOSE, "closing-unopened"),
        Row("resuming", CLIENT, CLOSE, "closing-unresumed"),
        Row("closing-unopened", SERVER, OPEN_OK, "closing"),
        Row("closing-unresumed", SERVER, RESUMED, "closing"),
        *[Row(state, SERVER, CLOSE, "crossed") for state in ("closing-unopened", "closing-unresumed")],
        *[Row(state, SERVER, CLOSE, "refused") for state in ("opening", "resuming")],
        Row("open", CLIENT, CLOSE, "closing"),
        Row("open", SERVER, CLOSE, "refused"),
        # Closed by the client.
        Row("closing", SERVER, WORK, "closing"),
        Row("closing", SERVER, CLOSE, "crossed"),
        Row("closing", SERVER, CLOSE_OK, "closed"),
        # Closed by the server.
        Row("refused", CLIENT, WORK, "refused"),
        Row("refused", CLIENT, CLOSE, "crossed"),
        Row("refused", CLIENT, CLOSE_OK, "closed"),
        # Closed by both: each answers.
        Row("crossed", CLIENT, CLOSE_OK, "crossed, answered by the client"),
        Row("crossed", SERVER, CLOSE_OK, "crossed, answered by the server"),
        Row("crossed, answered by the client", SERVER, CLOSE_OK, "closed"),
        Row("crossed, answered by the server", CLIENT, CLOSE_OK, "closed"),
    ],
    final=["not-open", "closed"],
)
"""channel = (C:OPEN S:OPEN-OK | C:RESUME S:OK) use* close, any number of times; close as in class connection."""

SELECT_TX: Final = "tx.select"
COMMIT: Final = "tx.commit"
ROLLBACK: Final = "tx.rollback"
SELECT_CONFIRM: Final = "confirm.select"
CONFIRM: Final = "confirm"
"""The server's confirms of published messages: basic.ack and basic.nack."""

MODE: Final = Table(
    "channel mode",
    "plain",
    [
        Row("plain", CLIENT, SELECT_TX, "transacted"),
        *[Row("transacted", CLIENT, verb, "transacted") for verb in (SELECT_TX, COMMIT, ROLLBACK)],
        Row("plain", CLIENT, SELECT_CONFIRM, "confirming"),
        Row("confirming", CLIENT, SELECT_CONFIRM, "confirming"),
        Row("confirming", SERVER, CONFIRM, "confirming"),
    ],
    final=["plain", "transacted", "confirming"],
)
"""A channel is transacted, or in confirm mode, or neither."""

OPEN_REFERENCE: Final = "message.open"
RESUME_REFERENCE: Final = "message.resume"
APPEND: Final = "message.append"
CHECKPOINT: Final = "message.checkpoint"
TRANSFER: Final = "message.transfer by reference"
CLOSE_REFERENCE: Final = "message.close"


def _reference(speaker: str) -> Table:
    return Table(
        f"reference of the {speaker}",
        "out of scope",
        [
            *[Row("out of scope", speaker, verb, "in scope") for verb in (OPEN_REFERENCE, RESUME_REFERENCE)],
            *[Row("in scope", speaker, verb, "in scope") for verb in (APPEND, CHECKPOINT, TRANSFER)],
            Row("in scope", speaker, CLOSE_REFERENCE, "out of scope"),
        ],
        final=["out of scope", "in scope"],
    )


REFERENCE: Final = {speaker: _reference(speaker) for speaker in (CLIENT, SERVER)}
"""reference = (OPEN | RESUME) (APPEND | CHECKPOINT | TRANSFER)* CLOSE, any number of times: 0-9, one that `speaker` opens.

It is in scope as soon as it was requested.
"""


BY_SERVER: Final = frozenset(
    [
        "channel.open-ok", "channel.alert", "access.request-ok", "exchange.declare-ok", "exchange.delete-ok",
        "exchange.bind-ok", "exchange.unbind-ok", "exchange.bound-ok", "queue.declare-ok", "queue.bind-ok", "queue.unbind-ok",
        "queue.purge-ok", "queue.delete-ok", "basic.qos-ok", "basic.consume-ok", "basic.return", "basic.deliver",
        "basic.get-ok", "basic.get-empty", "basic.recover-ok", "basic.recover-sync-ok", "file.qos-ok", "file.consume-ok",
        "file.cancel-ok", "file.return", "file.deliver", "stream.qos-ok", "stream.consume-ok", "stream.cancel-ok",
        "stream.return", "stream.deliver", "tx.select-ok", "tx.commit-ok", "tx.rollback-ok", "dtx.select-ok", "dtx.start-ok",
        "confirm.select-ok",
    ]
)  # fmt: skip
"""Methods that clients never send."""
BY_BOTH: Final = frozenset(
    [
        "channel.flow", "channel.flow-ok", "channel.close", "channel.close-ok", "channel.ping", "channel.pong", "channel.ok",
        "basic.ack", "basic.nack", "basic.cancel", "basic.cancel-ok", "file.open", "file.open-ok", "file.stage",
        "message.transfer", "message.open", "message.close", "message.append", "message.checkpoint", "message.resume",
        "message.ok", "message.empty", "message.reject", "message.offset", "test.integer", "test.integer-ok", "test.string",
        "test.string-ok", "test.table", "test.table-ok", "test.content", "test.content-ok",
    ]
)  # fmt: skip
"""Methods that either side may send; all others are the client's."""

EXTENDED: Final = frozenset(
    [("server", "basic.ack"), ("server", "basic.nack"), ("server", "basic.cancel"), ("client", "basic.cancel-ok")]
)  # fmt: skip
"""Methods that RabbitMQ also allows to the side that the documents exclude."""


def may_say(speaker: str, verb: str, extended: bool) -> bool:
    """Whether a side may send a method at all; `extended`: in a dialect with RabbitMQ's extensions."""
    if verb in SPEAKERS:
        return speaker in SPEAKERS[verb]
    if verb in BY_BOTH:
        return extended or (speaker, verb) not in EXTENDED
    return (verb in BY_SERVER) is (speaker == "server")


_OK: Final = (
    "channel.open", "channel.flow", "access.request", "exchange.declare", "exchange.delete", "exchange.bind",
    "exchange.unbind", "exchange.bound", "queue.declare", "queue.bind", "queue.unbind", "queue.purge", "queue.delete",
    "basic.qos", "basic.consume", "basic.cancel", "basic.recover-sync", "file.qos", "file.consume", "file.cancel", "file.open",
    "stream.qos", "stream.consume", "stream.cancel", "tx.select", "tx.commit", "tx.rollback", "dtx.select", "dtx.start",
    "confirm.select", "test.integer", "test.string", "test.table", "test.content",
)  # fmt: skip

REPLIES: Final[dict[str, tuple[str, ...]]] = {
    **{verb: (f"{verb}-ok",) for verb in _OK},
    "basic.recover": ("basic.recover-ok",),
    "basic.get": ("basic.get-ok", "basic.get-empty"),
    "channel.resume": ("channel.ok",),
    "channel.ping": ("channel.ok",),
    "channel.pong": ("channel.ok",),
    "message.transfer": ("message.ok", "message.reject"),
    "message.get": ("message.ok", "message.empty"),
    "message.resume": ("message.offset",),
    **{
        f"message.{name}": ("message.ok",)
        for name in ("consume", "cancel", "recover", "open", "close", "append", "checkpoint", "qos")
    },
}
"""The answers to a method without no-wait."""

ANSWERS: Final = frozenset([answer for answers in REPLIES.values() for answer in answers])
"""Methods that are only sent as answers."""

ANY_TIME: Final = frozenset(
    [
        *("channel.resume", "channel.ping", "channel.pong", "basic.recover"),
        *[verb for verb in REPLIES if verb.startswith("message.")],
    ]
)
"""Methods that may be answered at any time, because the documents do not call them synchronous; all others in order.

Some versions do not answer basic.recover at all.
"""

CAPABILITIES: Final[dict[tuple[str, str], str]] = {
    ("client", "confirm.select"): "publisher_confirms",
    ("client", "basic.nack"): "basic.nack",
    ("client", "exchange.bind"): "exchange_exchange_bindings",
    ("client", "exchange.unbind"): "exchange_exchange_bindings",
    ("server", "basic.cancel"): "consumer_cancel_notify",
    ("server", "connection.blocked"): "connection.blocked",
    ("server", "connection.unblocked"): "connection.blocked",
}
"""The capability that the peer must have announced for a speaker's verb, by its extension."""
