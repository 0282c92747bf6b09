"""How sessions speak on asyncio: when it goes out, and with what."""

from __future__ import annotations

import asyncio

import pytest
from tests.adapters.served import Served

from amqp_sansio.adapters.asyncio import connect
from amqp_sansio.adapters.asyncio.line import MANY, Line
from amqp_sansio.conversation.errors import SessionLost
from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.events import Origin
from amqp_sansio.spec import queue


def test_what_one_task_alone_waits_for_goes_out_at_once_and_what_many_wait_for_together() -> None:
    writes: list[int] = []

    async def main(url: str) -> None:
        async with connect(url) as connection, connection.session() as session:
            await session.execute(queue.Declare("q"))
            wire = connection._line.wire
            assert wire is not None
            assert wire._transport is not None
            write = wire._transport.write

            def counted(data: bytes) -> None:
                writes.append(len(data))
                write(data)

            wire._transport.write = counted  # type: ignore[method-assign, assignment]
            for _ in range(5):
                await session.publish("", "q", b"x")
            assert len(writes) == 5
            writes.clear()
            await asyncio.gather(*[session.publish("", "q", b"x") for _ in range(20)])
            assert len(writes) == 2  # the first one did not know of the others

    with Served() as served:
        asyncio.run(main(served.url))


def test_without_a_socket_it_waits_for_one() -> None:
    async def main() -> None:
        line = Line()
        line.wake()
        assert line.free()
        await line.writable()
        ticket: Ticket[int] = Ticket()
        asyncio.get_running_loop().call_soon(ticket.settle, 7)
        assert await line.asked(lambda: ticket) == 7
        assert await line.asked(lambda: ticket) == 7  # it is there already

    asyncio.run(main())


def test_who_is_cancelled_waits_no_more() -> None:
    async def main() -> None:
        line = Line()
        ticket: Ticket[int] = Ticket()
        task = asyncio.ensure_future(line.asked(lambda: ticket))
        await asyncio.sleep(0)
        assert line._asking == 1
        task.cancel()
        await asyncio.wait([task])
        assert (line._asking, ticket._callbacks) == (0, [])

    asyncio.run(main())


def test_much_that_waits_is_written_first() -> None:
    async def main(url: str) -> None:
        async with connect(url) as connection, connection.session() as session:
            await session.execute(queue.Declare("q"))
            line = connection._line
            session._talk.publish("", "q", b"x" * MANY)
            assert not line.free()
            await line.writable()
            assert line.free()

    with Served() as served:
        asyncio.run(main(served.url))


def test_who_waits_alone_for_an_answer_goes_on_in_the_turn_in_which_it_comes() -> None:
    async def main(url: str) -> None:
        async with connect(url) as connection, connection.session() as session:
            await session.execute(queue.Declare("q"))
            await session.publish("", "q", b"x")
            loop = asyncio.get_running_loop()
            turns = 0
            turn = loop._run_once  # type: ignore[attr-defined]

            def counted() -> None:
                nonlocal turns
                turns += 1
                turn()

            loop._run_once = counted  # type: ignore[attr-defined]
            for _ in range(20):
                await session.publish("", "q", b"x")
            assert turns <= 21

    with Served() as served:
        asyncio.run(main(served.url))


def test_who_waits_for_an_answer_may_say_anything_when_it_comes() -> None:
    """What it says next goes out, be it the next message, another subscription, or the end."""

    async def main(served: Served) -> None:
        async with connect(served.url) as connection, connection.session() as session:
            await session.execute(queue.Declare("q"))
            async with session.subscribe("q", accept=False) as messages:
                for number in range(5):
                    await session.publish("", "q", b"%d" % number)
                found = [await messages.receive() for _ in range(5)]
                assert [each.body for each in found] == [b"%d" % number for number in range(5)]
            await session.publish("", "q", b"x")
        assert served.closed[-1].origin is Origin.PEER

    with Served() as served:
        asyncio.run(main(served))


def test_who_waits_alone_for_an_answer_can_be_cancelled() -> None:
    async def main(url: str) -> None:
        async with connect(url) as connection, connection.session() as session:
            await session.execute(queue.Declare("q"))
            wire = connection._line.wire
            assert wire is not None
            task = asyncio.ensure_future(session.publish("", "q", b"x"))
            await asyncio.sleep(0)
            asked = wire._waiting
            assert asked is not None
            task.cancel()
            await asyncio.wait([task])
            assert task.cancelled()
            assert asked.cancelled()
            async with session.subscribe("q") as messages:
                assert await messages.receive() is not None  # it was said before
            await session.publish("", "q", b"x")

    with Served() as served:
        asyncio.run(main(served.url))


def test_who_waits_alone_hears_of_the_end() -> None:
    async def main(served: Served) -> None:
        async with connect(served.url) as connection:
            with pytest.raises(SessionLost):
                async with connection.session() as session:
                    await session.execute(queue.Declare("q"))
                    await asyncio.to_thread(served.silence)
                    task = asyncio.ensure_future(session.publish("", "q", b"x"))
                    await asyncio.sleep(0)
                    await asyncio.to_thread(served.cut)
                    await task

    with Served() as served:
        asyncio.run(main(served))
