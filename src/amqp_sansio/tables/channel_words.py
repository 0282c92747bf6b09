"""The methods of the older dialects by name: which side may send them, what answers them, and which capability they need.

One table serves all versions, because a verb that a version lacks cannot be encoded.  It follows the documents' chassis and
response elements, and RabbitMQ's description of its extensions.
"""

from __future__ import annotations

from typing import Final

from amqp_sansio.tables.connection import SPEAKERS

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
