"""What happens to a client, written to the `logging` module under `amqp_sansio`, and handed to a hook.  Never a password."""

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
from amqp_sansio.events import ConnectionBlocked, ConnectionUnblocked, Origin
from amqp_sansio.events.channel import ChannelClosed, ConsumerCancelled, MessageReturned

CONNECTION: Final = logging.getLogger("amqp_sansio.connection")
SESSION: Final = logging.getLogger("amqp_sansio.session")
CHANNEL: Final = logging.getLogger("amqp_sansio.channel")
OCTETS: Final = logging.getLogger("amqp_sansio.octets")
logging.getLogger("amqp_sansio").addHandler(logging.NullHandler())  # silent, unless the program sets logging up
SHOWN: Final = 1024
"""Octets of a read or a write that are logged at most."""


Happening = TypeVar("Happening", bound=ChannelClientEvent)


def teller(hook: Callable[[Happening], None] | None) -> Callable[[Happening], None]:
    """Logs each event, and hands it to the hook.  What that raises is logged, too: no user's mistake ends a connection."""

    def tell(event: Happening) -> None:
        log(event)
        if hook is not None:
            try:
                hook(event)
            except Exception:
                CONNECTION.exception("on_event raised for %r", event)

    return tell


def log(event: ChannelClientEvent) -> None:
    """One line for an event."""
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
            CONNECTION.info("no further connection: %s", line(cause))
        case SessionOpened(session, again):
            SESSION.log(logging.WARNING if again else logging.INFO, "session %r opened%s", session, " again" if again else "")
        case SessionResumed(session):
            SESSION.info("session %r resumed", session)
        case SessionEnded(session, cause, in_doubt):
            SESSION.warning("session %r ended: %s; in doubt: %s", session, line(cause), in_doubt or "nothing")
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
    """What a peer may have said, so that it forges no line of a log."""
    return str(AmqpError(cause))


def log_octets(sent: bool, octets: bytes, is_open: bool) -> None:
    """Logs what is sent or received, at DEBUG; of the handshake, which holds passwords, only how much."""
    if OCTETS.isEnabledFor(logging.DEBUG):
        cut = "" if len(octets) <= SHOWN else f" and {len(octets) - SHOWN} more"
        shown = octets[:SHOWN].hex(" ") + cut if is_open else "not shown, for the login is in them"
        OCTETS.debug("%s %d octets: %s", "sent" if sent else "received", len(octets), shown)
