"""How sessions speak on trio: when it goes out, and with what."""

from __future__ import annotations

import trio
import trio.testing
from tests.adapters.served import Served

from amqp_sansio.adapters.trio import connect
from amqp_sansio.adapters.trio.line import MANY, Line
from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.spec import queue


def test_what_one_task_alone_waits_for_goes_out_at_once_and_what_many_wait_for_together() -> None:
    async def main(url: str) -> None:
        async with connect(url) as connection, connection.session() as session:
            await session.say(queue.Declare("q"))
            wire = connection._line.wire
            assert wire is not None
            ours: list[int] = []
            theirs: list[int] = []
            write, send = wire._write_now, wire._send

            def at_once(direct: object) -> None:
                ours.append(wire.waiting)
                write(direct)  # type: ignore[arg-type]

            async def later(octets: bytes) -> None:
                theirs.append(len(octets))
                await send(octets)

            wire._write_now = at_once  # type: ignore[method-assign]
            wire._send = later  # type: ignore[method-assign]
            for _ in range(5):
                await session.publish("", "q", b"x")
            assert (len(ours), theirs) == (5, [])
            async with trio.open_nursery() as nursery:
                for _ in range(20):
                    nursery.start_soon(session.publish, "", "q", b"x")
            assert (len(ours), len(theirs)) == (6, 1)  # the first one did not know of the others

    with Served() as served:
        trio.run(main, served.url)


def test_without_a_socket_it_waits_for_one() -> None:
    async def main() -> None:
        line = Line()
        line.wake()
        await line.writable()
        ticket: Ticket[int] = Ticket()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_settle, ticket)
            assert await line.asked(lambda: ticket) == 7
        assert await line.asked(lambda: ticket) == 7  # it is there already

    trio.run(main)


async def _settle(ticket: Ticket[int]) -> None:
    ticket.settle(7)


def test_who_is_cancelled_waits_no_more() -> None:
    async def main() -> None:
        line = Line()
        ticket: Ticket[int] = Ticket()
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(line.asked, lambda: ticket)
                await trio.testing.wait_all_tasks_blocked()
                assert line._asking == 1
                scope.cancel()
        assert (line._asking, ticket._callbacks) == (0, [])

    trio.run(main)


def test_what_the_socket_does_not_take_at_once_goes_out_later() -> None:
    """However much is said at once: all of it arrives, in order."""

    async def main(url: str) -> None:
        async with connect(url) as connection, connection.session() as session:
            await session.say(queue.Declare("q"))
            body = bytes(range(256)) * (64 * MANY // 256)
            await session.publish("", "q", body)
            await session.publish("", "q", b"behind it")
            async with session.subscribe("q") as messages:
                found = [await messages.receive() for _ in range(2)]
                assert [message is not None and message.body for message in found] == [body, b"behind it"]

    with Served() as served:
        trio.run(main, served.url)


def test_much_that_waits_is_written_first() -> None:
    async def main(url: str) -> None:
        async with connect(url) as connection, connection.session() as session:
            await session.say(queue.Declare("q"))
            session.talk.publish("", "q", b"x" * MANY)
            wire = connection._line.wire
            assert wire is not None
            await connection._line.writable()
            assert wire.waiting < MANY

    with Served() as served:
        trio.run(main, served.url)
