"""A downstream program that takes events apart by family: none is left out."""

from __future__ import annotations

from typing import assert_type

from amqp_sansio.events import (
    Authenticated,
    ChannelEvent,
    ConnectionBlocked,
    ConnectionClosed,
    ConnectionEvent,
    ConnectionOpened,
    ConnectionRedirected,
    ConnectionUnblocked,
    Event,
    LoginRefused,
    OpenRequested,
    SecretUpdated,
    SecurityLayerStarted,
    SessionEvent,
    StartReceived,
    VersionRefused,
)


def of_a_channel(event: Event) -> SessionEvent | ChannelEvent | None:
    """The event, where it is one of a channel, of whichever family."""
    match event:
        case StartReceived() | Authenticated() | OpenRequested() | ConnectionOpened() | ConnectionRedirected():
            assert_type(of_connection(event), ConnectionEvent)
            return None
        case SecurityLayerStarted() | VersionRefused() | LoginRefused() | ConnectionClosed():
            return None
        case ConnectionBlocked() | ConnectionUnblocked() | SecretUpdated():
            return None
        case _:
            return event  # what is left is one of these


def of_connection(event: ConnectionEvent) -> ConnectionEvent:
    """As it came."""
    return event
