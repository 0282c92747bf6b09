"""Waiting for a ticket in trio."""

from __future__ import annotations

import pytest
import trio

from amqp_sansio.adapters.trio.waiting import wait
from amqp_sansio.conversation.ticket import Ticket


def test_its_value_its_error_and_its_time() -> None:
    async def main() -> None:
        settled: Ticket[int] = Ticket()
        settled.settle(7)
        assert await wait(settled) == 7
        async with trio.open_nursery() as nursery:
            later: Ticket[int] = Ticket()
            failing: Ticket[int] = Ticket()

            async def answer() -> None:
                later.settle(8)
                failing.fail(KeyError("no"))

            nursery.start_soon(answer)
            assert await wait(later, 10) == 8
            with pytest.raises(KeyError):
                await wait(failing)
        with pytest.raises(TimeoutError):
            await wait(Ticket[int](), 0.01)
        with pytest.raises(TimeoutError, match="within -1 seconds"):
            await wait(Ticket[int](), -1)

    trio.run(main)


def test_cancelled_it_does_not_listen_any_more() -> None:
    async def main() -> None:
        ticket: Ticket[int] = Ticket()
        with trio.move_on_after(0.01):
            await wait(ticket)
        assert ticket._callbacks == []
        ticket.settle(1)

    trio.run(main)
