"""Waiting for a ticket on trio."""

from __future__ import annotations

from typing import TypeVar

import trio

from amqp_sansio.conversation.ticket import Ticket

Value = TypeVar("Value")


async def wait(ticket: Ticket[Value], timeout: float | None = None) -> Value:
    """Waits for a ticket and returns its value.  Raises its error, or TimeoutError after `timeout` seconds.

    Cancelling the wait does not undo what was sent.
    """
    if timeout is None:
        await settled(ticket)
    else:
        with trio.move_on_after(max(timeout, 0)) as scope:
            await settled(ticket)
        if scope.cancelled_caught and not ticket.done:
            raise TimeoutError(f"no answer within {timeout} seconds")
    return ticket.result()


async def settled(ticket: Ticket[Value]) -> None:
    """Waits until a ticket is settled; a checkpoint in any case."""
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
