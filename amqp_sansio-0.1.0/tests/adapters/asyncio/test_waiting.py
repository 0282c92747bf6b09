"""Waiting for a ticket in asyncio."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar

import pytest

from amqp_sansio.adapters.asyncio.waiting import Waiting, wait
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


def test_who_awaits_goes_on_at_once_when_told_to_go() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        waiting = Waiting(loop=loop)
        said: list[str] = []

        async def awaits() -> None:
            await waiting
            said.append(f"on, as {name.get()}")

        name: ContextVar[str] = ContextVar("name", default="nobody")
        name.set("itself")
        task = asyncio.ensure_future(awaits())
        name.set("another")

        def go() -> None:
            waiting.go()
            said.append("back")

        loop.call_later(0, go)
        await task
        assert said == ["on, as itself", "back"]

    asyncio.run(main())


def test_who_awaits_goes_on_soon_or_is_cancelled_as_with_any_future() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        for end in (Waiting.go_soon, Waiting.cancel):
            waiting = Waiting(loop=loop)

            async def awaits(waiting: Waiting = waiting) -> None:
                await waiting

            task = asyncio.ensure_future(awaits())
            await asyncio.sleep(0)
            end(waiting)
            assert not task.done()
            await asyncio.wait([task])
            assert task.cancelled() is (end is Waiting.cancel)
            assert not waiting.cancel()
            waiting.go_soon()  # it is done
            Waiting(loop=loop).go_soon()  # nobody awaits it
            Waiting(loop=loop).go()

    asyncio.run(main())
