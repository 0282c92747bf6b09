"""Waiting for a ticket in trio."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
import trio
import trio.testing
from tests.adapters.conditions import PATIENCE
from tests.adapters.served import Served

from amqp_sansio.adapters.trio import Connection, connect
from amqp_sansio.adapters.trio.wire import LENT, MANY, Line, Wire
from amqp_sansio.config import ClientConfig
from amqp_sansio.conversation.client import Client
from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.errors import SessionLost
from amqp_sansio.spec import queue


def test_its_value_its_error_and_its_time() -> None:
    async def main() -> None:
        settled: Ticket[int] = Ticket()
        settled.settle(7)
        assert await Line().wait(settled) == 7
        async with trio.open_nursery() as nursery:
            later: Ticket[int] = Ticket()
            failing: Ticket[int] = Ticket()

            async def answer() -> None:
                later.settle(8)
                failing.fail(KeyError("no"))

            nursery.start_soon(answer)
            assert await Line().wait(later, 10) == 8
            with pytest.raises(KeyError):
                await Line().wait(failing)
        with pytest.raises(TimeoutError):
            await Line().wait(Ticket[int](), 0.01)
        with pytest.raises(TimeoutError, match="within -1 seconds"):
            await Line().wait(Ticket[int](), -1)

    trio.run(main)


def test_cancelled_it_does_not_listen_any_more() -> None:
    async def main() -> None:
        ticket: Ticket[int] = Ticket()
        with trio.move_on_after(0.01):
            await Line().wait(ticket)
        assert ticket._callbacks == []
        ticket.settle(1)

    trio.run(main)


def test_it_begins_with_the_protocol_header_and_ends_with_the_octets() -> None:
    async def main() -> None:
        client = Client(ClientConfig(), prefix="p")
        client.begin()
        ours, theirs = trio.testing.memory_stream_pair()
        wire = Wire(client, ours)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(wire.run)
            assert await theirs.receive_some(100) == b"AMQP\x01\x01\x00\x0a"
            assert wire.writable.is_set()
            wire.hold()
            assert not wire.writable.is_set()
            await wire.writable.wait()
            await theirs.aclose()
        assert client.closed is not None

    trio.run(main)


def test_what_is_over_while_nobody_takes_octets_is_left() -> None:
    """Time goes on while the socket is blocked: the handshake has its limit."""

    async def main() -> None:
        client = Client(ClientConfig(), prefix="p")
        client.begin()
        ours, _theirs = trio.testing.lockstep_stream_pair()  # takes nothing before it is read
        await Wire(client, ours).run()
        assert client.closed is not None

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


def test_what_is_left_to_write_behind_the_end_of_the_octets_holds_nobody_up() -> None:
    async def main() -> None:
        client = Client(ClientConfig(), prefix="p")
        client.begin()
        ours, theirs = trio.testing.memory_stream_pair()
        with trio.fail_after(1):  # of the clock, before the next deadline of the client
            async with trio.open_nursery() as nursery:
                nursery.start_soon(Wire(client, ours).run)
                await theirs.receive_some(100)
                await trio.testing.wait_all_tasks_blocked()
                client.machine._write(b"waits for others")
                await theirs.aclose()  # the end is read before that is written, which fails
        assert client.closed is not None

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


def test_what_one_task_alone_waits_for_goes_out_at_once_and_what_many_wait_for_together() -> None:
    async def main(url: str) -> None:
        async with connect(url) as connection, connection.session() as session:
            await session.execute(queue.Declare("q"))
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


def test_a_cancelled_caller_waits_no_more() -> None:
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
    """However much the client sends at once, all of it arrives, in order."""

    async def main(url: str) -> None:
        async with connect(url) as connection, connection.session() as session:
            await session.execute(queue.Declare("q"))
            body = bytes(range(256)) * (64 * MANY // 256)
            await session.publish("", "q", body)
            await session.publish("", "q", b"behind it")
            async with session.subscribe("q") as messages:
                found = [await messages.receive() for _ in range(2)]
                assert [message.body for message in found] == [body, b"behind it"]

    with Served() as served:
        trio.run(main, served.url)


def test_much_that_waits_is_written_first() -> None:
    async def main(url: str) -> None:
        async with connect(url) as connection, connection.session() as session:
            await session.execute(queue.Declare("q"))
            session._core.publish("", "q", b"x" * MANY, {})
            wire = connection._line.wire
            assert wire is not None
            await connection._line.writable()
            assert wire.waiting < MANY

    with Served() as served:
        trio.run(main, served.url)


class Steps(trio.abc.Instrument):
    """Counts what tasks do."""

    def __init__(self) -> None:
        self.steps = 0
        self.waits = 0

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self.steps += 1

    def before_io_wait(self, timeout: float) -> None:
        self.waits += 1


def test_a_caller_that_waits_alone_for_an_answer_reads_it_in_one_turn_of_the_loop() -> None:
    async def main(url: str) -> None:
        async with connect(url) as connection, connection.session() as session:
            await session.execute(queue.Declare("q"))
            wire = connection._line.wire
            assert wire is not None
            await session.publish("", "q", b"x")
            counted = Steps()
            trio.lowlevel.add_instrument(counted)
            for _ in range(20):
                await session.publish("", "q", b"x")
            looks = counted.steps - 20  # the task that reads looks now and then whether it is wanted
            trio.lowlevel.remove_instrument(counted)
            assert wire._away
            assert looks <= 10, counted.steps
            assert counted.waits <= 20 + 2 * looks

    with Served() as served:
        trio.run(main, served.url)


def test_what_comes_for_others_is_read_for_them_before_and_after() -> None:
    """One task waits for messages all the time, others ask in turns: each of them gets what is its own."""

    async def main(url: str) -> None:
        async with connect(url) as connection, connection.session() as session:
            await session.execute(queue.Declare("q"))
            got: list[bytes] = []
            async with session.subscribe("q", accept=False) as messages, trio.open_nursery() as nursery:

                async def take() -> None:
                    for _ in range(60):
                        message = await messages.receive()
                        got.append(message.body)

                await session.publish("", "q", b"0")  # nobody else waits yet
                nursery.start_soon(take)
                for number in range(1, 60):
                    await session.publish("", "q", b"%d" % number)
            assert got == [b"%d" % number for number in range(60)]

    with Served() as served:
        trio.run(main, served.url)


def test_a_cancelled_reader_gives_the_socket_back() -> None:
    answering = threading.Event()

    async def main(served: Served) -> None:
        async with connect(served.url) as connection, connection.session() as session:
            await session.execute(queue.Declare("q"))
            wire = connection._line.wire
            assert wire is not None
            served._loop.call_soon_threadsafe(answering.wait, PATIENCE)  # an answer now would be read before we look
            with trio.CancelScope() as scope:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(session.publish, "", "q", b"x")
                    while not wire._lent:
                        await trio.lowlevel.checkpoint()
                    scope.cancel()
            answering.set()
            assert not wire._lent
            async with session.subscribe("q") as messages:
                assert await messages.receive() is not None  # it went out before the cancel

    with Served() as served:
        trio.run(main, served)


def reads_for(ticket: Ticket[int], then: Callable[[Connection, Wire], None]) -> None:
    """Somebody reads for the ticket; then something settles it with 7, and he goes on."""

    async def main(url: str) -> None:
        async with connect(url) as connection, connection.session() as session:
            await session.execute(queue.Declare("q"))
            wire = connection._line.wire
            assert wire is not None
            async with trio.open_nursery() as nursery:

                async def ask() -> None:
                    assert await connection._line.asked(lambda: ticket) == 7

                nursery.start_soon(ask)
                while not wire._lent:
                    await trio.lowlevel.checkpoint()
                await trio.testing.wait_all_tasks_blocked()
                then(connection, wire)
            assert not wire._lent

    with Served() as served:
        trio.run(main, served.url)


def test_a_long_wait_leaves_the_socket_to_the_caller_and_the_background_reads_again_afterwards() -> None:
    """Two looks of the task that reads, and then none before the heartbeat; afterwards it reads once nobody else has."""
    clock = trio.testing.MockClock()
    ticket: Ticket[int] = Ticket()

    async def main(url: str) -> None:
        async with connect(url) as connection, connection.session() as session:
            await session.execute(queue.Declare("q"))
            wire = connection._line.wire
            assert wire is not None
            async with trio.open_nursery() as nursery:

                async def ask() -> None:
                    assert await connection._line.asked(lambda: ticket) == 7

                nursery.start_soon(ask)
                while not wire._lent:
                    await trio.lowlevel.checkpoint()
                for _ in range(2):
                    await trio.testing.wait_all_tasks_blocked()
                    clock.jump(LENT)
                await trio.testing.wait_all_tasks_blocked()
                assert trio.lowlevel.current_statistics().seconds_to_next_deadline > 1
                ticket.settle(7)
            away = []
            for _ in range(2):
                await trio.testing.wait_all_tasks_blocked()
                away.append(wire._away)
                clock.jump(LENT)
            assert away == [True, False]
            await session.publish("", "q", b"x")

    with Served() as served:
        trio.run(main, served.url, clock=clock)


def test_a_reader_goes_on_when_the_ticket_is_settled_otherwise() -> None:
    ticket: Ticket[int] = Ticket()
    reads_for(ticket, lambda connection, wire: ticket.settle(7))


def test_a_reader_goes_on_when_the_reading_task_had_the_answer() -> None:
    """It was about to read when the socket was lent, and reads what is there."""
    ticket: Ticket[int] = Ticket()

    def read(connection: Connection, wire: Wire) -> None:
        receive = connection._client.receive_data
        connection._client.receive_data = lambda data: ticket.settle(7)  # type: ignore[method-assign]
        wire._feed(b"the answer")
        connection._client.receive_data = receive  # type: ignore[method-assign]

    reads_for(ticket, read)


def test_a_reading_task_gets_the_end_of_the_connection() -> None:
    async def main(served: Served) -> None:
        async with connect(served.url) as connection:
            with pytest.raises(SessionLost):
                async with connection.session() as session:
                    await session.execute(queue.Declare("q"))
                    wire = connection._line.wire
                    assert wire is not None
                    await trio.to_thread.run_sync(served.silence)
                    async with trio.open_nursery() as nursery:

                        async def cut() -> None:
                            while not wire._lent:
                                await trio.lowlevel.checkpoint()
                            await trio.to_thread.run_sync(served.cut)

                        nursery.start_soon(cut)
                        with pytest.raises(SessionLost):
                            await session.publish("", "q", b"x")
                    await session.sync()

    with Served() as served:
        trio.run(main, served)


def test_a_checkpoint_is_passed_also_when_the_answer_is_there() -> None:
    async def main(url: str) -> None:
        async with connect(url) as connection:
            ticket: Ticket[int] = Ticket()
            ticket.settle(7)
            with trio.testing.assert_checkpoints():
                assert await connection._line.asked(lambda: ticket) == 7

    with Served() as served:
        trio.run(main, served.url)


def test_a_time_that_is_over_is_a_timeout_as_in_the_other_adapters() -> None:
    async def main() -> None:
        with pytest.raises(TimeoutError, match="no answer within -1 seconds"):
            await Line().within(-1, trio.lowlevel.checkpoint)

    trio.run(main)
