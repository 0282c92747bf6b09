"""A downstream program that leaves events out, writes into one, and mistakes «not yet» for an event."""

from __future__ import annotations

from typing import assert_never

from amqp_sansio.events import ConnectionClosed, Event, TransferReceived


def tell(event: Event) -> str:
    match event:
        case TransferReceived():
            return "message"
        case ConnectionClosed():
            return "closed"
        case _:
            assert_never(event)  # wrong: arg-type


def spoil(event: TransferReceived) -> None:
    event.body = b""  # wrong: misc


def forget(event: Event | None) -> Event:
    return event  # wrong: return-value


def invent(event: ConnectionClosed) -> None:
    print(event.reason)  # wrong: attr-defined
