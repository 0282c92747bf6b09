"""Waiting for a ticket in asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import pytest
from tests.adapters.served import Served

from amqp_sansio.adapters.asyncio import connect
from amqp_sansio.adapters.asyncio.wire import MANY, READ, Line, Waiting, Wire
from amqp_sansio.config import ClientConfig
from amqp_sansio.conversation.client import Client
from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.errors import SessionLost
from amqp_sansio.events import Origin
from amqp_sansio.spec import queue
from amqp_sansio.wire.segments import frame_control


def test_its_value_its_error_and_its_time() -> None:
    async def main() -> None:
        settled: Ticket[int] = Ticket()
        settled.settle(7)
        assert await Line().wait(settled) == 7
        later: Ticket[int] = Ticket()
        asyncio.get_running_loop().call_soon(later.settle, 8)
        assert await Line().wait(later, 10) == 8
        failing: Ticket[int] = Ticket()
        asyncio.get_running_loop().call_soon(failing.fail, KeyError("no"))
        with pytest.raises(KeyError):
            await Line().wait(failing)
        with pytest.raises(TimeoutError):
            await Line().wait(Ticket[int](), 0.01)

    asyncio.run(main())


def test_cancelled_it_does_not_listen_any_more() -> None:
    async def main() -> None:
        ticket: Ticket[int] = Ticket()
        task = asyncio.create_task(Line().wait(ticket))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ticket._callbacks == []
        ticket.settle(1)

    asyncio.run(main())


def test_an_awaiting_task_goes_on_at_once_when_asked_to() -> None:
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


def test_an_awaiting_task_goes_on_soon_or_is_cancelled_as_with_any_future() -> None:
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


class Transport(asyncio.Transport):
    """Remembers what is done with it."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.ended = ""
        self.left = 0

    def write(self, data: Any) -> None:
        self.written += bytes(data)

    def get_write_buffer_size(self) -> int:
        return self.left

    def is_closing(self) -> bool:
        return bool(self.ended)

    def close(self) -> None:
        self.ended = "closed"

    def abort(self) -> None:
        self.ended = "aborted"


def wired(check: Callable[[Wire, Transport, Client], None], blocked: bool = False) -> None:
    async def main() -> None:
        client = Client(ClientConfig(), prefix="p")
        client.begin()
        wire, transport = Wire(client), Transport()
        wire.wake()  # before there is a socket nothing happens
        await asyncio.sleep(0)
        if blocked:
            wire.pause_writing()
        wire.connection_made(transport)
        check(wire, transport, client)

    asyncio.run(main())


def test_it_begins_with_the_protocol_header() -> None:
    def check(wire: Wire, transport: Transport, client: Client) -> None:
        assert transport.written == b"AMQP\x01\x01\x00\x0a"

    wired(check)


def test_what_a_slow_socket_does_not_take_stays() -> None:
    def check(wire: Wire, transport: Transport, client: Client) -> None:
        wire.transmit()
        before = len(transport.written)
        assert before == 0
        wire.resume_writing()
        assert transport.written == b"AMQP\x01\x01\x00\x0a"

    wired(check, blocked=True)


def test_the_end_of_the_octets_is_the_end_of_the_socket() -> None:
    def check(wire: Wire, transport: Transport, client: Client) -> None:
        assert wire.eof_received() is False
        assert transport.ended == "closed"
        wire.connection_lost(None)
        assert wire.over.done()
        wire.wake()

    wired(check)


def test_a_lost_socket_is_the_end_of_the_octets() -> None:
    def check(wire: Wire, transport: Transport, client: Client) -> None:
        wire.pause_writing()
        wire.connection_lost(ConnectionResetError())
        assert client.closed is not None
        assert wire.writable.is_set()

    wired(check)


def test_what_is_over_while_nobody_takes_octets_is_aborted() -> None:
    def check(wire: Wire, transport: Transport, client: Client) -> None:
        wire.pause_writing()
        transport.left = 100_000
        client.receive_eof()
        client.tick(0.0)
        wire.transmit()
        assert transport.ended == "aborted"
        wire.abort()

    wired(check)


def test_what_is_over_while_a_few_octets_are_left_is_aborted() -> None:
    def check(wire: Wire, transport: Transport, client: Client) -> None:
        transport.left = 1
        client.receive_eof()
        client.tick(0.0)
        wire.transmit()
        assert transport.ended == "aborted"

    wired(check)


def test_nobody_waits_for_the_answer_to_a_close_that_tells_of_a_violation() -> None:
    def check(wire: Wire, transport: Transport, client: Client) -> None:
        said = b"AMQP\1\1\0\x0a" + frame_control(0, b"\1\x77")
        wire.get_buffer(-1)[: len(said)] = said
        wire.buffer_updated(len(said))
        assert client.machine.lingers
        assert transport.ended == "aborted"
        assert len(transport.written) > 8  # it was told why

    wired(check)


def test_so_much_is_read_before_others_have_their_turn() -> None:
    def check(wire: Wire, transport: Transport, client: Client) -> None:
        assert len(wire.get_buffer(READ * 10)) == READ

    wired(check)


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


def test_a_cancelled_caller_waits_no_more() -> None:
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
            session._core.publish("", "q", b"x" * MANY, {})
            assert not line.free()
            await line.writable()
            assert line.free()

    with Served() as served:
        asyncio.run(main(served.url))


def test_a_caller_that_waits_alone_for_an_answer_goes_on_in_the_turn_in_which_it_comes() -> None:
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


def test_a_caller_that_waits_for_an_answer_may_say_anything_when_it_comes() -> None:
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


def test_a_caller_that_waits_alone_for_an_answer_can_be_cancelled() -> None:
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
                assert await messages.receive() is not None  # it went out before the cancel
            await session.publish("", "q", b"x")

    with Served() as served:
        asyncio.run(main(served.url))


def test_a_caller_that_waits_alone_hears_of_the_end() -> None:
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
