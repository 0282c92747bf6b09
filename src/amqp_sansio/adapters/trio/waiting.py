"""Waiting for a ticket in trio."""

from __future__ import annotations

from typing import TypeVar

import trio

from amqp_sansio.conversation.ticket import Ticket

Value = TypeVar("Value")


async def wait(ticket: Ticket[Value]) -> Value:
    """The value of a ticket, once it is settled; raises its error.  Cancelled, it takes nothing back that was said."""
    if ticket.done:
        await trio.lowlevel.checkpoint()
    else:
        settled = trio.Event()
        ticket.on_done(settled.set)
        try:
            await settled.wait()
        finally:
            ticket.forget(settled.set)
    return ticket.result()
