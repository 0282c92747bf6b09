"""Waiting for a ticket in asyncio."""

from __future__ import annotations

import asyncio

import pytest

from amqp_sansio.adapters.asyncio.waiting import wait
from amqp_sansio.conversation.ticket import Ticket


def test_its_value_its_error_and_its_time() -> None:
    async def main() -> None:
        settled: Ticket[int] = Ticket()
        settled.settle(7)
        assert await wait(settled) == 7
        later: Ticket[int] = Ticket()
        asyncio.get_running_loop().call_soon(later.settle, 8)
        assert await wait(later, 10) == 8
        failing: Ticket[int] = Ticket()
        asyncio.get_running_loop().call_soon(failing.fail, KeyError("no"))
        with pytest.raises(KeyError):
            await wait(failing)
        with pytest.raises(TimeoutError):
            await wait(Ticket[int](), 0.01)

    asyncio.run(main())


def test_cancelled_it_does_not_listen_any_more() -> None:
    async def main() -> None:
        ticket: Ticket[int] = Ticket()
        task = asyncio.create_task(wait(ticket))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ticket._callbacks == []
        ticket.settle(1)

    asyncio.run(main())
