"""A connection on asyncio, over real sockets."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar

import pytest
from tests.adapters import scenarios, strangers
from tests.adapters.conditions import PATIENCE
from tests.adapters.floods import *  # noqa: F403
from tests.adapters.scenarios import *  # noqa: F403
from tests.adapters.served import Served

from amqp_sansio.adapters.asyncio import connect
from amqp_sansio.adapters.asyncio.waiting import wait
from amqp_sansio.conversation.address import AddressError
from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.errors import LocalProtocolError

Result = TypeVar("Result")


class AsyncioLoop:
    """asyncio's ways."""

    connect: Any = staticmethod(connect)
    timed_out: tuple[type[BaseException], ...] = (TimeoutError,)

    def run(self, main: Callable[[], Awaitable[Result]]) -> Result:
        async def whole() -> Result:
            return await main()

        return asyncio.run(whole(), debug=False)

    def within(self, seconds: float) -> AbstractAsyncContextManager[Any]:
        return asyncio.timeout(seconds)

    async def receive(self, subscription: Any, seconds: float) -> Any:
        return await asyncio.wait_for(subscription.receive(), seconds)

    async def turn(self) -> None:
        await asyncio.sleep(0)

    async def wait(self, ticket: Ticket[None]) -> None:
        await wait(ticket, PATIENCE)

    async def both(self, one: Callable[[], Awaitable[object]], two: Callable[[], Awaitable[object]]) -> None:
        await asyncio.gather(one(), two())

    async def cancelled_after(self, steps: int, what: Callable[[], Awaitable[object]]) -> bool:
        async def whole() -> object:
            return await what()

        task = asyncio.create_task(whole())
        for step in range(steps):
            await asyncio.sleep(0.001 if step % 3 == 0 else 0)
        task.cancel()
        await asyncio.wait([task])
        return task.cancelled()

    def tasks(self) -> int:
        return len(asyncio.all_tasks())


@pytest.fixture
def loop() -> AsyncioLoop:
    return AsyncioLoop()


def test_an_address_is_checked_at_once() -> None:
    with pytest.raises(AddressError):
        connect("http://x")


@pytest.mark.parametrize(("answer", "hold", "text"), strangers.WRONG)
def test_who_is_no_broker_of_ours_is_told_in_one_sentence(loop: AsyncioLoop, answer: bytes, hold: bool, text: str) -> None:
    with strangers.someone(answer, hold) as url:
        assert re.search(text, scenarios.refused(loop, url))


def test_a_session_belongs_into_the_block_of_its_connection_which_is_entered_once() -> None:
    async def main(url: str) -> None:
        connection = connect(url)
        with pytest.raises(LocalProtocolError, match="a session is not legal in state before its connection's block"):
            connection.session()
        async with connection:
            pass
        with pytest.raises(LocalProtocolError, match="a connection's block is not legal in state entered before"):
            await connection.__aenter__()

    with Served() as served:
        asyncio.run(main(served.url))


def test_closing_twice_does_no_harm() -> None:
    async def main(url: str) -> None:
        async with connect(url) as connection:
            await connection.close()
            await connection.close()

    with Served() as served:
        asyncio.run(main(served.url))
