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
    if ticket.done:
        await trio.lowlevel.checkpoint()
    else:
        settled = trio.Event()
        ticket.on_done(settled.set)
        try:
            if timeout is None:
                await settled.wait()
            else:
                with trio.move_on_after(timeout) as scope:
                    await settled.wait()
                if scope.cancelled_caught and not ticket.done:
                    raise TimeoutError(f"no answer within {timeout} seconds")
        finally:
            ticket.forget(settled.set)
    return ticket.result()
