"""Logs a client's events to the `logging` module under `amqp_sansio`, and calls the program's hook.  Never logs a password."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final, TypeVar, assert_never

from amqp_sansio.conversation.channels.client import ChannelClientEvent
from amqp_sansio.conversation.happenings import (
    AttemptFailed,
    Connected,
    ConnectionEnded,
    GaveUp,
    LoginRefused,
    Reconnecting,
    SessionEnded,
    SessionOpened,
    SessionResumed,
)
from amqp_sansio.errors import AmqpError
from amqp_sansio.errors.core import session_name
from amqp_sansio.events import ConnectionBlocked, ConnectionUnblocked, Origin
from amqp_sansio.events.channel import ChannelClosed, ConsumerCancelled, MessageReturned

CONNECTION: Final = logging.getLogger("amqp_sansio.connection")
SESSION: Final = logging.getLogger("amqp_sansio.session")
CHANNEL: Final = logging.getLogger("amqp_sansio.channel")
OCTETS: Final = logging.getLogger("amqp_sansio.octets")
logging.getLogger("amqp_sansio").addHandler(logging.NullHandler())  # silent unless the program configures logging
SHOWN: Final = 1024
"""The most octets of one read or write that are logged."""


Happening = TypeVar("Happening", bound=ChannelClientEvent)


def teller(hook: Callable[[Happening], None] | None) -> Callable[[Happening], None]:
    """Returns a function that logs each event and passes it to the hook.

    It logs exceptions of the hook too, so that no mistake in it ends a connection.
    """

    def tell(event: Happening) -> None:
        log(event)
        if hook is not None:
            try:
                hook(event)
            except Exception:
                CONNECTION.exception("on_event raised for %r", event)

    return tell


def log(event: ChannelClientEvent) -> None:
    """Logs one line for an event."""
    match event:
        case Connected(endpoint, number):
            CONNECTION.info("connected to %s%s", endpoint, f" (connection {number})" if number > 1 else "")
        case AttemptFailed(endpoint, cause):
            CONNECTION.warning("no connection to %s: %s", endpoint, line(cause))
        case LoginRefused(endpoint, cause):
            CONNECTION.error("login refused by %s: %s", endpoint, line(cause))
        case ConnectionEnded(endpoint, cause, lost):
            CONNECTION.log(logging.WARNING if lost else logging.INFO, "connection to %s ended: %s", endpoint, line(cause))
        case Reconnecting(endpoint, seconds):
            CONNECTION.info("reconnecting to %s in %.1f seconds", endpoint, seconds)
        case GaveUp(cause):
            CONNECTION.error("no further connection: %s", line(cause))
        case SessionOpened(session, again):
            level = logging.WARNING if again else logging.INFO
            SESSION.log(level, "session %s opened%s", session_name(session), " again" if again else "")
        case SessionResumed(session):
            SESSION.info("session %s resumed", session_name(session))
        case SessionEnded(session, cause, in_doubt):
            SESSION.warning("session %s ended: %s; in doubt: %s", session_name(session), line(cause), in_doubt or "nothing")
        case ConnectionBlocked(reason):
            CONNECTION.warning("the broker takes no messages: %s", line(reason))
        case ConnectionUnblocked():
            CONNECTION.info("the broker takes messages again")
        case ConsumerCancelled(channel, tag, origin):
            level = logging.DEBUG if origin is Origin.LOCAL else logging.WARNING
            CHANNEL.log(level, "consumer %r of channel %d cancelled", tag, channel)
        case MessageReturned(channel=channel, method=said):
            said_where = f"exchange {said.exchange!r} with {said.routing_key!r}"
            CHANNEL.info("channel %d: a message to %s came back: %s", channel, said_where, line(said.reply_text))
        case ChannelClosed(channel=channel, origin=Origin.LOCAL):
            CHANNEL.debug("channel %d closed", channel)
        case ChannelClosed(channel=channel, text=text, in_doubt=in_doubt):
            CHANNEL.warning("channel %d ended: %s; in doubt: %s", channel, line(text), in_doubt or "nothing")
        case _:
            assert_never(event)


def line(cause: str) -> str:
    """Returns text that a peer may have sent, escaped so that it cannot forge a line of a log."""
    return str(AmqpError(cause))


def log_octets(sent: bool, octets: bytes, is_open: bool) -> None:
    """Logs sent or received octets at DEBUG; of the handshake, which contains passwords, only their number."""
    if OCTETS.isEnabledFor(logging.DEBUG):
        cut = "" if len(octets) <= SHOWN else f" and {len(octets) - SHOWN} more"
        shown = octets[:SHOWN].hex(" ") + cut if is_open else "not shown, for the login is in them"
        OCTETS.debug("%s %d octets: %s", "sent" if sent else "received", len(octets), shown)
