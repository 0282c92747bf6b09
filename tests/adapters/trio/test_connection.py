"""A connection on trio, over real sockets."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TypeVar

import pytest
import trio
from tests.adapters import scenarios, strangers
from tests.adapters.conditions import PATIENCE
from tests.adapters.floods import *  # noqa: F403
from tests.adapters.scenarios import *  # noqa: F403
from tests.adapters.served import Served

from amqp_sansio.adapters.trio import connect
from amqp_sansio.adapters.trio.wire import Line
from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.errors import AddressError, ConnectFailed, ConnectionClosedError, ConnectionLost, LocalProtocolError
from amqp_sansio.events import Origin

Result = TypeVar("Result")


class TrioLoop:
    """trio's ways."""

    connect: Any = staticmethod(connect)
    timed_out: tuple[type[BaseException], ...] = (trio.TooSlowError,)

    def run(self, main: Callable[[], Awaitable[Result]]) -> Result:
        async def whole() -> Result:
            return await main()

        return trio.run(whole)

    def within(self, seconds: float) -> AbstractAsyncContextManager[Any]:
        @asynccontextmanager
        async def within() -> AsyncIterator[None]:
            with trio.fail_after(seconds):
                yield

        return within()

    async def receive(self, subscription: Any, seconds: float) -> Any:
        with trio.fail_after(seconds):
            return await subscription.receive()

    async def turn(self) -> None:
        await trio.sleep(0)

    async def wait(self, ticket: Ticket[None]) -> None:
        await Line().wait(ticket, PATIENCE)

    async def both(self, one: Callable[[], Awaitable[object]], two: Callable[[], Awaitable[object]]) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(one)
            nursery.start_soon(two)

    async def cancelled_after(self, steps: int, what: Callable[[], Awaitable[object]]) -> bool:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(what)
            for step in range(steps):
                await trio.sleep(0.001 if step % 3 == 0 else 0)
            nursery.cancel_scope.cancel()
        return True

    def tasks(self) -> int:
        return trio.lowlevel.current_statistics().tasks_living


@pytest.fixture
def loop() -> TrioLoop:
    return TrioLoop()


def test_an_address_is_checked_at_once() -> None:
    async def main() -> None:
        async with connect("http://x"):
            raise AssertionError

    with pytest.raises(AddressError):
        trio.run(main)


def test_a_name_that_no_host_can_have_is_a_host_that_does_not_answer() -> None:
    """trio refuses it before the resolver does; the next host is tried."""

    async def main(url: str) -> None:
        async with connect(url) as connection:
            assert connection.is_open

    with Served() as served:
        trio.run(main, served.url.replace("127.0.0.1", "\N{SNOWMAN},127.0.0.1"))
    with pytest.raises(ConnectFailed, match="not allowed"):
        trio.run(main, "amqp://\N{SNOWMAN}")


@pytest.mark.parametrize(("answer", "hold", "text"), strangers.WRONG)
def test_one_sentence_reports_a_server_that_is_no_broker_of_ours(loop: TrioLoop, answer: bytes, hold: bool, text: str) -> None:
    with strangers.someone(answer, hold) as url:
        assert re.search(text, scenarios.refused(loop, url))


def test_closing_twice_does_no_harm() -> None:
    async def main(url: str) -> None:
        async with connect(url) as connection:
            await connection.close()
            await connection.close()

    with Served() as served:
        trio.run(main, served.url)


def test_a_connection_and_a_session_without_a_block() -> None:
    async def main(served: Served) -> None:
        with pytest.raises(LocalProtocolError, match=r"await connect\(url\) is not legal: without a nursery"):
            await connect(served.url)  # type: ignore[misc]  # so says the type checker, too
        async with trio.open_nursery() as nursery:
            connection = await connect(served.url, nursery)
            assert (connection.is_open, connection.closed.done, connection.remade) == (True, False, 0)
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
            async with connect(served.url, nursery) as connection:
                assert connection.is_open
            assert not connection.is_open

    with Served() as served:
        trio.run(main, served)


def test_a_connection_ends_with_its_nursery() -> None:
    async def main(served: Served) -> None:
        async with trio.open_nursery() as nursery:
            connection = await connect(served.url, nursery)
            nursery.cancel_scope.cancel()
        assert (connection.is_open, connection.closed.done) == (False, True)

    with Served() as served:
        trio.run(main, served)
        assert served.closed[-1].origin is Origin.PEER


def test_the_nursery_of_a_connection_that_is_lost_or_never_came_goes_on() -> None:
    async def main(served: Served) -> None:
        async with trio.open_nursery() as nursery:
            connection = await connect(served.url, nursery)
            served.cut()
            with pytest.raises(ConnectionLost):
                await connection.closed
            with pytest.raises(ConnectFailed, match="nobody listens there"):
                await connect("amqp://127.0.0.1:1", nursery)

    with Served() as served:
        trio.run(main, served)


def test_errors_of_several_tasks_come_together() -> None:
    async def main(url: str) -> None:
        async def fail(kind: type[Exception]) -> None:
            raise kind

        async with connect(url), trio.open_nursery() as nursery:
            nursery.start_soon(fail, KeyError)
            nursery.start_soon(fail, ValueError)

    with Served() as served, pytest.raises(ExceptionGroup) as caught:
        trio.run(main, served.url)
    assert {type(each) for each in caught.value.exceptions} == {KeyError, ValueError}
