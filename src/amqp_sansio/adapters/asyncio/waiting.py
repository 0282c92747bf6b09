"""Waiting for a ticket in asyncio."""

from __future__ import annotations

import asyncio
from typing import TypeVar

from amqp_sansio.conversation.ticket import Ticket

Value = TypeVar("Value")


async def wait(ticket: Ticket[Value], timeout: float | None = None) -> Value:
    """The value of a ticket, once it is settled; raises its error, or TimeoutError when it is not within `timeout` seconds.

    Cancelled, it takes nothing back that was said.
    """
    if not ticket.done:
        if timeout is None:
            await settled(ticket)
        else:
            async with asyncio.timeout(timeout):
                await settled(ticket)
    return ticket.result()


async def settled(ticket: Ticket[Value]) -> None:
    """Until a ticket that is not settled is."""
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def settle() -> None:
        if not future.done():
            future.set_result(None)

    ticket.on_done(settle)
    try:
        await future
    finally:
        if not ticket.done:
            ticket.forget(settle)
