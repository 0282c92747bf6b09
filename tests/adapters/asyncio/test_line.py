"""How sessions speak on asyncio: when it goes out, and with what."""

from __future__ import annotations

import asyncio

from tests.adapters.served import Served

from amqp_sansio.adapters.asyncio import connect
from amqp_sansio.adapters.asyncio.line import MANY, Line
from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.spec import queue


def test_what_one_task_alone_waits_for_goes_out_at_once_and_what_many_wait_for_together() -> None:
    writes: list[int] = []

    async def main(url: str) -> None:
        async with connect(url) as connection, connection.session() as session:
            await session.say(queue.Declare("q"))
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
            await session.say(queue.Declare("q"))
            line = connection._line
            session.talk.publish("", "q", b"x" * MANY)
            assert not line.free()
            await line.writable()
            assert line.free()

    with Served() as served:
        asyncio.run(main(served.url))
