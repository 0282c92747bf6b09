"""Waiting for a ticket in trio."""

from __future__ import annotations

from typing import TypeVar

import trio

from amqp_sansio.conversation.ticket import Ticket

Value = TypeVar("Value")


async def wait(ticket: Ticket[Value], timeout: float | None = None) -> Value:
    """The value of a ticket, once it is settled; raises its error, or TimeoutError when it is not within `timeout` seconds.

    Cancelled, it takes nothing back that was said.
    """
    if timeout is None:
        await settled(ticket)
    else:
        with trio.move_on_after(timeout) as scope:
            await settled(ticket)
        if scope.cancelled_caught and not ticket.done:
            raise TimeoutError(f"no answer within {timeout} seconds")
    return ticket.result()


async def settled(ticket: Ticket[Value]) -> None:
    """Until a ticket is settled; others take their turn also when it is."""
    if ticket.done:
        await trio.lowlevel.checkpoint()
        return
    event = trio.Event()
    ticket.on_done(event.set)
    try:
        await event.wait()
    finally:
        if not ticket.done:
            ticket.forget(event.set)
