"""Accepting connections on asyncio: beyond a limit the server refuses at once, and it seldom reports a system without room."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from unittest import mock

import pytest
import trustme
from tests.adapters.conditions import PATIENCE
from tests.adapters.hosts import Collector, flood, patient, speak_on, subscribe_and_read_nothing
from tests.broker.attacker import BEAT, Attacker, assert_free, publish
from tests.steps import steps

from amqp_sansio.adapters.asyncio import connect
from amqp_sansio.adapters.asyncio.server import _ACCEPTS, Server, _Socket, serve
from amqp_sansio.adapters.base_server import PLAIN_OCTETS, TLS_OCTETS
from amqp_sansio.broker.broker import Broker, Peer
from amqp_sansio.broker.config import BrokerConfig
from amqp_sansio.config import ClientConfig, ServerConfig
from amqp_sansio.conversation.hosting import OwnGuest, OwnServer
from amqp_sansio.engine.sasl import PlainServer
from amqp_sansio.engine.server import ServerConnection
from amqp_sansio.errors import ConnectFailed, SessionLost
from amqp_sansio.events import ConnectionOpened, Event
from amqp_sansio.kernel.build import COMPILED
from amqp_sansio.limits import BrokerLimits, Limits, ServerLimits
from amqp_sansio.spec import queue


async def silent(where: tuple[str, int]) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection that says nothing."""
    return await asyncio.open_connection(*where)


@pytest.mark.parametrize("each", [False, True], ids=["all", "one address"])
@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
def test_beyond_what_may_be_unopened_a_connection_is_refused_and_room_comes_back(tls: bool, each: bool) -> None:
    authority = trustme.CA()
    here, there = ssl.create_default_context(), ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.configure_trust(here)
    authority.issue_cert("127.0.0.1").configure_cert(there)
    limits = ServerLimits(unopened_octets=2 * (TLS_OCTETS if tls else PLAIN_OCTETS))
    if each:
        limits = ServerLimits(unopened_per_address=2)

    async def main() -> None:
        broker = Broker()
        async with serve(broker, broker.connect, port=0, tls=there if tls else None, limits=limits) as server:
            url = "amqp{}://{}:{}/".format("s" if tls else "", *server.address)
            first = await silent(server.address)
            async with connect(url, tls=here if tls else None):
                second = await silent(server.address)
                beyond = await silent(server.address)
                assert await beyond[0].read() == b""
                assert (server.admission.refused, server.admission.unopened, server.admission.connections) == (1, 2, 3)
                assert len(broker.peers) == (1 if tls else 3)
                with pytest.raises((ConnectFailed, OSError)):
                    async with connect(url, tls=here if tls else None):
                        pass
                first[1].close()
                while server.admission.unopened > 1:
                    await asyncio.sleep(0)
                async with connect(url, tls=here if tls else None):
                    pass
            for _, writer in (second, beyond):
                writer.close()
        assert server.admission.connections == 0
        assert server.admission.unopened == 0

    asyncio.run(main())


def test_a_client_that_does_not_come_through_tls_in_its_time_is_dropped() -> None:
    there = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(there)

    async def main() -> None:
        broker = Broker()
        async with serve(broker, broker.connect, port=0, tls=there, limits=ServerLimits(tls_seconds=0.01)) as server:
            reader, writer = await silent(server.address)
            assert await reader.read() == b""
            assert server.admission.unopened == 0
            writer.close()

    asyncio.run(main())


class Full(socket.socket):
    """A listening socket of a system that has no file descriptor left, for so many calls."""

    left = 0
    asked = 0

    def accept(self) -> tuple[socket.socket, Any]:  # Any: as the standard library has it
        Full.asked += 1
        if Full.left:
            Full.left -= 1
            raise OSError(errno.EMFILE, "Too many open files")
        return super().accept()


def test_a_system_without_file_descriptors_is_logged_once_for_each_second(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop of asyncio's own server says so a thousand times a second."""
    monkeypatch.setattr("amqp_sansio.adapters.asyncio.server.RETRY_SECONDS", 0)
    monkeypatch.setattr(Full, "left", 3)
    told: list[str] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, what: told.append(str(what["message"])))
        broker = Broker()
        server = serve(broker, broker.connect, port=0)
        monkeypatch.setattr(socket, "socket", Full)
        async with server:
            monkeypatch.undo()
            Full.left = 3
            async with connect("amqp://{}:{}/".format(*server.address)):
                pass

    asyncio.run(main())
    assert told == ["no connection can be accepted"] * 3
    assert _ACCEPTS > 3


class Short(socket.socket):
    """A listening socket of a system that has no file descriptor left behind the first connection, once."""

    accepted = 0

    def accept(self) -> tuple[socket.socket, Any]:  # Any: as the standard library has it
        if Short.accepted == 1:
            Short.accepted += 1
            raise OSError(errno.EMFILE, "Too many open files")
        found = super().accept()
        Short.accepted += 1
        return found


def test_a_client_behind_strangers_that_have_left_does_not_wait_a_second_for_every_few_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("amqp_sansio.adapters.asyncio.server.RETRY_SECONDS", 3600)
    monkeypatch.setattr(Short, "accepted", 0)
    told: list[str] = []

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, what: told.append(str(what["message"])))
        broker = Broker()
        server = serve(broker, broker.connect, port=0)
        with monkeypatch.context() as listening:
            listening.setattr(socket, "socket", Short)
            await server.__aenter__()
        async with asyncio.timeout(PATIENCE):
            for _ in range(2):
                async with connect("amqp://{}:{}/".format(*server.address)):
                    pass
        await server.close()

    asyncio.run(main())
    assert told == []
    assert Short.accepted == 3


def test_passwords_are_checked_beside_the_loop_and_a_failed_login_holds_up_nobody() -> None:
    """As long as a check lasts, others log in and work."""
    go_on = threading.Event()
    threads: set[int] = set()

    def verify(username: str, password: str) -> bool:
        threads.add(threading.get_ident())
        if username == "slow":
            go_on.wait(30)
        return password == "right"

    async def main() -> None:
        broker = Broker()
        config = ServerConfig(mechanisms=(PlainServer(verify, slow=True),))
        async with serve(broker, lambda: broker.connect(config), port=0) as server:
            where = "{}:{}".format(*server.address)
            waiting = asyncio.create_task(enter(f"amqp://slow:wrong@{where}/"))
            async with connect(f"amqp://ann:right@{where}/") as connection, connection.session() as session:
                await session.sync()
                assert not waiting.done()
                go_on.set()
                with pytest.raises(ConnectFailed, match="authentication failed"):
                    await waiting
                await session.sync()
        assert threading.get_ident() not in threads

    asyncio.run(main())


async def enter(url: str) -> None:
    async with connect(url, config=ClientConfig()):
        pass


def test_a_broker_in_a_line() -> None:
    async def main() -> None:
        broker = Broker()
        async with serve(broker, broker.connect, port=0) as server:
            host, port = server.address
            async with connect(f"amqp://{host}:{port}/") as connection, connection.session() as session:
                await session.execute(queue.Declare("q"))
                await session.publish("", "q", b"x")
        assert broker.host("").queues["q"].available == 1

    asyncio.run(main())


def test_a_server_of_ones_own() -> None:
    """It says yes to all that is said, and remembers what was published."""
    collector = Collector()

    async def main() -> None:
        async with serve(collector.server, collector.server.connect, port=0) as server:
            url = "amqp://{}:{}/".format(*server.address)
            async with connect(url) as connection, connection.session() as session:
                await session.execute(queue.Declare("q"))
                await session.publish("", "q", b"x")

    asyncio.run(main())
    assert collector.bodies == [b"x"]


def test_by_tls() -> None:
    authority = trustme.CA()
    here, there = ssl.create_default_context(), ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.configure_trust(here)
    authority.issue_cert("localhost").configure_cert(there)

    async def main() -> None:
        broker = Broker()
        async with serve(broker, broker.connect, port=0, tls=there) as server:
            async with connect(f"amqps://localhost:{server.address[1]}/", tls=here) as connection:
                async with connection.session() as session:
                    await session.sync()

    asyncio.run(main())


def test_clients_that_are_there_at_the_end_hear_of_it() -> None:
    async def main() -> None:
        broker = Broker()
        server = serve(broker, broker.connect, port=0)
        await server.__aenter__()
        waiting = asyncio.create_task(server.serve_forever())
        async with connect("amqp://{}:{}/".format(*server.address)) as connection, connection.session() as session:
            await session.execute(queue.Declare("q"))
            async with session.subscribe("q") as subscription:
                receiving = asyncio.create_task(subscription.receive())
                await asyncio.sleep(0)
                await server.close()
                waiting.cancel()
                with pytest.raises(SessionLost):
                    await receiving
            raise KeyError("the end")

    with pytest.raises(KeyError):
        asyncio.run(main())


@pytest.mark.parametrize("cancelled", [False, True], ids=["to its end", "cancelled"])
def test_a_client_that_does_not_answer_the_end_of_tls_is_dropped_with_the_server(
    cancelled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("amqp_sansio.adapters.asyncio.server.QUIET_SECONDS", 1e-3)
    monkeypatch.setattr("amqp_sansio.adapters.asyncio.server.CLOSE_SECONDS", 1000.0)
    authority = trustme.CA()
    here, there = ssl.create_default_context(), ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.configure_trust(here)
    authority.issue_cert("localhost").configure_cert(there)

    def wrong(where: tuple[str, int]) -> ssl.SSLSocket:
        """Somebody whom the server has told to go."""
        connected = here.wrap_socket(socket.create_connection(where, PATIENCE), server_hostname="localhost")
        connected.sendall(b"AMQP\0\0\x09\1")
        while connected.recv(8):
            pass
        return connected

    async def main() -> None:
        broker = Broker()
        async with serve(broker, broker.connect, port=0, tls=there) as server:
            with await asyncio.to_thread(wrong, server.address):
                transports = [each._transport for each in server._sockets.values() if each._transport is not None]
                assert [each.is_closing() for each in transports] == [True]
                closing = asyncio.create_task(server.close())
                if cancelled:
                    await asyncio.sleep(0)
                    closing.cancel()
                    async with asyncio.timeout(PATIENCE):
                        while not closing.done() or server._sockets or broker.peers:
                            await asyncio.sleep(0)
                else:
                    await closing
                assert not broker.peers
                assert server.admission.connections == 0

    asyncio.run(main())


def test_a_client_that_was_accepted_as_the_server_closes_is_not_left_behind() -> None:
    async def main() -> None:
        broker = Broker()
        async with serve(broker, broker.connect, port=0) as server:
            admit, closing = server.admission.admit, []

            def closes(address: object, now: float) -> object:
                closing.append(asyncio.create_task(server.close()))
                return admit(address, now)

            with mock.patch.object(server.admission, "admit", closes):
                reader, writer = await silent(server.address)
                async with asyncio.timeout(PATIENCE):
                    assert await reader.read() == b""
                writer.close()
            assert server.admission.connections == 0

    asyncio.run(main())


def test_a_client_that_takes_nothing_does_not_fill_the_memory() -> None:
    """The octets for a client whose socket is blocked stay at the broker, which then makes no more of them."""

    async def main() -> int:
        broker = Broker()
        async with serve(broker, broker.connect, port=0) as server:
            url = "amqp://{}:{}/".format(*server.address)
            async with connect(url) as connection, connection.session() as session:
                await session.execute(queue.Declare("q"))
                for _ in range(600):
                    await session.send("", "q", b"x" * 100_000)
                await session.sync()

                def left() -> int:
                    return broker.host("").queues["q"].available

                with await asyncio.to_thread(subscribe_and_read_nothing, server.address, "q", 600):
                    while left() and not any(not each._writable and each.guest.full for each in server._sockets.values()):
                        server.wake()
                        await asyncio.sleep(0)
                    return left()

    assert 400 < asyncio.run(main()) < 600


def test_a_client_that_floods_is_read_as_fast_as_the_server_is() -> None:
    async def main() -> None:
        collector = Collector()
        async with serve(collector.server, collector.server.connect, port=0) as server:
            await asyncio.to_thread(flood, server.address, 300, 10_000)
        assert len(collector.bodies) == 300

    asyncio.run(main())


def test_a_handler_that_raises_loses_its_connection_and_the_loop_gets_the_error() -> None:
    bad: list[ServerConnection] = []

    def handle(connection: ServerConnection, event: Event) -> None:
        if isinstance(event, ConnectionOpened) and not bad:
            bad.append(connection)
            raise KeyError("a bug")

    async def main() -> list[object]:
        told: list[object] = []
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: told.append(context["exception"]))
        own = OwnServer(ServerConfig(), handle)
        async with serve(own, own.connect, port=0) as server:
            url = "amqp://{}:{}/".format(*server.address)
            with pytest.raises((ConnectFailed, SessionLost)):
                async with connect(url) as connection, connection.session() as session:
                    await session.sync()
            async with connect(url) as connection, connection.session() as session:
                await session.sync()
        return told

    assert [type(each) for each in asyncio.run(main())] == [KeyError]


class Timed(OwnServer):
    """Nobody's host: it writes down what it is asked, and is due when it was given."""

    def __init__(self, *wanted: float | None) -> None:
        super().__init__(ServerConfig(), lambda connection, event: None)
        self.asked: list[object] = []
        self.wanted = list(wanted)

    def tick(self, now: float) -> float | None:
        self.asked.append(now)
        return 0.0  # nobody looks at that

    def next_event(self) -> tuple[OwnGuest, Event] | None:
        self.asked.append("event")
        return None

    @property
    def due(self) -> float | None:
        self.asked.append("due")
        return self.wanted.pop(0)


def test_a_connection_that_cannot_be_begun_is_closed_and_the_others_go_on() -> None:
    """As where the system has no file descriptor left for what it takes."""
    told: list[str] = []
    broker = Broker()
    left = iter([OSError(24, "Too many open files"), KeyError("a bug")])

    def begin() -> Peer:
        error = next(left, None)
        if error is not None:
            raise error
        return broker.connect()

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, what: told.append(repr(what.get("exception"))))
        async with serve(broker, begin, port=0) as server:
            for _ in range(2):
                reader, writer = await asyncio.open_connection(*server.address)
                writer.write(b"AMQP\1\1\0\x0a")
                with suppress(ConnectionError):
                    assert await reader.read() == b""
                writer.close()
            async with connect("amqp://{}:{}/".format(*server.address)):
                assert server.admission.connections == 1
        assert server.admission.connections == 0

    asyncio.run(main())
    assert told == ["OSError(24, 'Too many open files')", "KeyError('a bug')"]


def test_the_host_ticks_before_the_events_of_each_turn_and_is_asked_last_when_it_is_due() -> None:
    async def main() -> None:
        host = Timed(None, 300.0, 100.025, 400.0, 100.03)
        server = Server(host, host.connect, ("", 0), None)
        server._loop = asyncio.get_running_loop()

        def turn(now: float) -> tuple[float | None, bool]:
            """When the timer goes off after a turn at that time, and whether there is another turn at once."""
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(server._loop, "time", lambda: now)
                server._turn()
            return None if server._timer is None else server._timer.when(), server._scheduled

        assert turn(100.0) == (None, False)
        assert turn(100.012) == (300.0, False)
        assert turn(100.023) == (100.025, False)
        assert turn(100.024) == (100.025, False)  # the timer goes off earlier than it must
        assert turn(100.03) == (100.025, True)
        moments = (100.0, 100.012, 100.023, 100.024, 100.03)
        assert host.asked == [each for moment in moments for each in (moment, "event", "due")]

    asyncio.run(main())


class Lost(asyncio.Transport):
    """A transport whose socket was reset: the third write finds out."""

    def __init__(self) -> None:
        super().__init__()
        self.writes = 0

    def write(self, data: object) -> None:
        self.writes += 1
        assert self.writes < 4, "it writes on to a socket that is lost"

    def is_closing(self) -> bool:
        return self.writes >= 3


def test_nothing_more_is_written_to_a_socket_that_was_reset() -> None:
    """A client may be owed a thousand deliveries when it resets its socket; asyncio logs each write that comes after."""

    async def main() -> None:
        guest = mock.Mock(is_open=False, finished=False, wants_data=True)
        guest.data_to_send.return_value = b"x"
        transport = Lost()
        server = mock.Mock(join=lambda transport: guest, _sockets={})
        socket = _Socket[OwnGuest](server, mock.Mock())
        socket.connection_made(transport)
        socket.transmit()
        assert transport.writes == 3

    asyncio.run(main())


class Stuck(asyncio.Transport):
    """A transport that keeps what it is given."""

    def is_closing(self) -> bool:
        return False

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        pass

    def write(self, data: object) -> None:
        pass

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


@pytest.mark.parametrize("floods", [False, True])
def test_clients_that_never_read_cost_the_others_nothing(floods: bool) -> None:
    async def main() -> None:
        def prepared(count: int) -> Callable[[], object]:
            broker = Broker(BrokerConfig(limits=BrokerLimits(outbox_octets=400)))
            clients = [Attacker(broker, Limits(inbox_octets=4096)) for _ in range(count + 1)]
            peers = iter([each.peer for each in clients])
            server = Server(broker, lambda: next(peers), ("", 0), None)
            server._loop = asyncio.get_running_loop()
            sockets: list[_Socket[Peer]] = []
            for number in range(len(clients)):
                place = server.admission.admit((f"10.0.{number // 250}.{number % 250}", 1), 0.0)
                assert place is not None
                sockets.append(_Socket(server, place))
                sockets[-1].connection_made(Stuck())
            reader, *deaf = clients
            while broker._readable():
                server._turn()
            for each in sockets[1:]:
                each.pause_writing()
            for client in deaf:
                client.say([*[queue.Query("q")] * 40, BEAT * 1000] if floods else [queue.Query("q")])
            for each in sockets:
                each.data_received(b"")
            while broker._readable():
                server._turn()
            assert all(each.peer.bytes_to_send for each in deaf)
            assert all(each.peer.full is floods for each in deaf)
            for each in sockets[1:]:
                each.data_received(b"")
            assert all(each._reading is not floods for each in sockets[1:])

            def work() -> None:
                for _ in range(5):
                    reader.say([publish("q")])
                    server._turn()
                    assert not reader.peer.bytes_to_send

            work()
            if floods:  # who reads at last is read again
                sockets[1].resume_writing()
                assert not deaf[0].peer.wants_data, "too much is stored to show that the server looks again"
                while broker._readable():
                    server._turn()
                assert sockets[1]._reading
            return work

        assert_free(prepared)

    asyncio.run(main())


@pytest.mark.parametrize("logged_in", [False, True])
def test_a_client_that_sends_on_after_a_violation_is_not_read_for_long(logged_in: bool) -> None:
    async def main() -> None:
        broker, connect_to = patient()
        async with serve(broker, connect_to, port=0) as server:
            assert await asyncio.to_thread(speak_on, server.address, logged_in)

    asyncio.run(main())


def test_strangers_that_say_nothing_are_not_looked_at() -> None:
    async def turns(count: int) -> int:
        broker = Broker()
        async with serve(broker, broker.connect, port=0, limits=ServerLimits(unopened_per_address=count)) as server:
            writers = [(await asyncio.open_connection(*server.address))[1] for _ in range(count)]
            while len(server._sockets) < count:
                await asyncio.sleep(0)
            server._turn()

            def ten() -> None:
                for _ in range(10):
                    server._turn()

            spent = steps(ten)
            for each in writers:
                each.close()
        return spent

    if COMPILED:
        pytest.skip("the steps of compiled code cannot be counted")
    few, many = asyncio.run(turns(10)), asyncio.run(turns(100))
    assert many <= 1.2 * few, f"{few} steps beside 10, {many} beside 100"
