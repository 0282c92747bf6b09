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
from amqp_sansio.adapters.asyncio.wire import Line
from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.errors import AddressError, ConnectionClosedError, ConnectionLost, LocalProtocolError

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
        await Line().wait(ticket, PATIENCE)

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
def test_one_sentence_reports_a_server_that_is_no_broker_of_ours(
    loop: AsyncioLoop, answer: bytes, hold: bool, text: str
) -> None:
    with strangers.someone(answer, hold) as url:
        assert re.search(text, scenarios.refused(loop, url))


def test_a_connection_and_a_session_without_a_block() -> None:
    async def main(served: Served) -> None:
        connection = connect(served.url)
        with pytest.raises(LocalProtocolError, match="a session is not legal: before its connection is open"):
            connection.session()
        assert await connection is connection
        assert (connection.is_open, connection.closed.done, connection.remade) == (True, False, 0)
        with pytest.raises(LocalProtocolError, match="opening a connection is not legal: opened before"):
            await connection
        session = await connection.open_session(timeout=9)
        await session.declare_queue("q")
        pending = await session.send("", "q", b"x")
        assert (session.is_open, session.closed.done) == (True, False)
        await session.close(timeout=9)
        assert (pending.done, session.is_open, session.closed.done) == (True, False, True)
        await connection.close()
        assert (connection.is_open, connection.closed.done, served.depth("q")) == (False, True, 1)
        with pytest.raises(ConnectionClosedError):
            await connection.open_session()
        async with await connect(served.url) as connection:
            assert connection.is_open
        assert not connection.is_open

    with Served() as served:
        asyncio.run(main(served))


def test_a_loss_is_waited_for() -> None:
    async def main(served: Served) -> None:
        async with connect(served.url) as connection:
            served.cut()
            with pytest.raises(ConnectionLost):
                await connection.closed

    with Served() as served:
        asyncio.run(main(served))


def test_what_a_session_cannot_finish_in_time_it_leaves() -> None:
    async def main(served: Served) -> None:
        async with connect(served.url, close_timeout=0.1) as connection:
            session = await connection.open_session()
            served.silence()
            with pytest.raises(TimeoutError, match=r"no answer within 0.05 seconds"):
                await session.close(timeout=0.05)

    with Served() as served:
        asyncio.run(main(served))


def test_closing_twice_does_no_harm() -> None:
    async def main(url: str) -> None:
        async with connect(url) as connection:
            await connection.close()
            await connection.close()

    with Served() as served:
        asyncio.run(main(served.url))
