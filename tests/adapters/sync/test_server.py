"""The server side without a loop: sockets for a broker, or for a server of one's own."""

from __future__ import annotations

import errno
import select
import selectors
import socket
import ssl
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from unittest import mock

import pytest
import trustme
from tests.adapters.conditions import PATIENCE, eventually
from tests.adapters.hosts import Collector, attached, flood, patient, speak_on, subscribe_and_read_nothing
from tests.adapters.sync.test_connection import there_and_back
from tests.broker.attacker import BEAT, Attacker, assert_free, publish

from amqp_sansio.adapters.base_server import PLAIN_OCTETS, Admission
from amqp_sansio.adapters.sync import connect
from amqp_sansio.adapters.sync.server import Server, _Socket, serve
from amqp_sansio.broker.broker import Broker, Peer
from amqp_sansio.broker.config import BrokerConfig
from amqp_sansio.config import ServerConfig
from amqp_sansio.conversation.hosting import OwnServer
from amqp_sansio.engine.sasl import PlainServer
from amqp_sansio.engine.server import ServerConnection
from amqp_sansio.errors import ConnectFailed, SessionFailed, SessionLost
from amqp_sansio.events import Event
from amqp_sansio.limits import BrokerLimits, Limits, ServerLimits
from amqp_sansio.spec import queue


def test_a_broker_in_a_line() -> None:
    broker = Broker()
    with serve(broker, broker.connect, port=0) as server:
        assert len(there_and_back("amqp://{}:{}/?heartbeat=1".format(*server.address), 300)) == 300
        with server.lock:
            assert broker.host("").queues["q"].available == 0


def test_big_messages() -> None:
    broker = Broker()
    with serve(broker, broker.connect, port=0) as server:
        with connect("amqp://{}:{}/".format(*server.address)) as connection, connection.session() as session:
            session.execute(queue.Declare("q"))
            for _ in range(5):
                session.send("", "q", b"x" * 3_000_000)
            with session.subscribe("q", prefetch=2) as subscription:
                for _ in range(5):
                    message = subscription.receive()
                    assert len(message.body) == 3_000_000
                    message.accept()


def test_by_tls() -> None:
    authority = trustme.CA()
    here, there = ssl.create_default_context(), ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.configure_trust(here)
    authority.issue_cert("localhost").configure_cert(there)
    broker = Broker()
    with serve(broker, broker.connect, port=0, tls=there) as server:
        assert len(there_and_back(f"amqps://localhost:{server.address[1]}/", 50, here)) == 50
        with pytest.raises(ConnectFailed):
            there_and_back(f"amqp://localhost:{server.address[1]}/", 50)


@pytest.mark.parametrize("said", [b"", b"\x16\x03\x01\x02\x00"])
def test_a_client_that_does_not_come_through_tls_in_its_time_is_dropped(said: bytes) -> None:
    there = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    trustme.CA().issue_cert("localhost").configure_cert(there)
    broker = Broker()
    config = ServerConfig(limits=Limits(handshake_seconds=0.01))
    with serve(broker, lambda: broker.connect(config), port=0, tls=there) as server:
        with socket.create_connection(server.address, PATIENCE) as stranger:
            stranger.sendall(said)
            assert stranger.recv(100) == b""
        eventually(lambda: server.admission.unopened == 0)


def test_what_a_socket_takes_in_small_pieces_is_not_copied_each_time() -> None:
    """Who takes a large message bit by bit would cost the server the square of its octets."""
    broker, taken = Broker(), list[object]()

    class Slow(socket.socket):
        def send(self, data: object, flags: int = 0) -> int:
            assert isinstance(data, memoryview)
            taken.append(data.obj)
            return min(len(data), 100)

    with Slow() as slow, selectors.DefaultSelector() as selector:
        peer = broker.connect()
        connection = peer._connection
        connection._write(bytes(1000))
        admission = Admission(ServerLimits(), False)
        place = admission.admit(("127.0.0.1", 1), 0.0)
        assert place is not None
        _Socket(mock.Mock(_selector=selector, _paused={}), peer, place, slow).transmit()
    assert len(taken) == 10
    assert len({id(each) for each in taken}) == 1


def test_clients_that_are_there_at_the_end_hear_of_it() -> None:
    broker = Broker()
    with pytest.raises(SessionLost), serve(broker, broker.connect, port=0) as server:
        with connect("amqp://{}:{}/".format(*server.address)) as connection, connection.session() as session:
            server.close()
            session.sync()


def test_the_broker_hears_of_the_end_of_clients_that_are_there_at_the_end() -> None:
    broker = Broker()
    with serve(broker, broker.connect, port=0) as server:
        connected = attached(server.address)[0]
        assert broker.peers
    with connected:
        assert not broker.peers


def test_a_client_that_floods_is_read_as_fast_as_the_server_is() -> None:
    collector = Collector()
    with serve(collector.server, collector.server.connect, port=0) as server:
        flood(server.address, 300, 10_000)
    assert len(collector.bodies) == 300


def blocked(server: Server[Peer]) -> bool:
    """Whether somebody's socket takes nothing of what waits for it."""
    return any(each._unsent and not select.select([], [each._socket], [], 0)[1] for each in list(server._sockets.values()))


def test_a_client_that_takes_nothing_does_not_fill_the_memory() -> None:
    broker = Broker()
    with serve(broker, broker.connect, port=0) as server:
        with connect("amqp://{}:{}/".format(*server.address)) as connection, connection.session() as session:
            session.execute(queue.Declare("q"))
            for _ in range(600):
                session.send("", "q", b"x" * 100_000)
            session.sync()
            with subscribe_and_read_nothing(server.address, "q", 600):
                eventually(lambda: blocked(server))
                assert broker.host("").queues["q"].available > 400


@pytest.mark.parametrize("floods", [False, True])
def test_clients_that_never_read_cost_the_others_nothing(floods: bool) -> None:
    with ExitStack() as opened:

        def prepared(count: int) -> Callable[[], object]:
            broker = Broker(BrokerConfig(limits=BrokerLimits(outbox_octets=4000)))
            server = Server(broker, broker.connect, ("127.0.0.1", 0), None)
            opened.callback(server._end)
            reader, *deaf = [Attacker(broker, Limits(inbox_octets=4096)) for _ in range(count + 1)]
            ends = []
            for number, each in enumerate([reader, *deaf]):
                ours, theirs = socket.socketpair()
                ends.append(opened.enter_context(theirs))
                ours.setblocking(False)
                ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
                place = server.admission.admit((f"10.0.{number // 250}.{number % 250}", 1), 0.0)
                assert place is not None
                server._sockets[each.peer] = _Socket(server, each.peer, place, ours)
            while broker._readable():
                server._turn()
            while not all(server._sockets[each.peer]._unsent for each in deaf):
                for each in deaf:
                    each.say([queue.Query("q")] * 20)
                while broker._readable():
                    server._turn()
            for each in deaf:
                each.say([*[queue.Query("q")] * 400, BEAT * 1000] if floods else [queue.Query("q")])
            while broker._readable():
                server._turn()
            assert all(each.peer.bytes_to_send for each in deaf)
            assert all(each.peer.full is floods for each in deaf)
            for each in deaf:
                server._sockets[each.peer].read()

            def work() -> None:
                for _ in range(5):
                    ends[0].recv(100_000)
                    reader.say([publish("q")])
                    server._turn()
                    assert not reader.peer.bytes_to_send

            work()
            if floods:  # who reads at last is read again
                first = server._sockets[deaf[0].peer]
                assert not first._events & selectors.EVENT_READ
                while not first._events & selectors.EVENT_READ:
                    ends[1].recv(100_000)
                    first.transmit()
                    server._turn()
            return work

        assert_free(prepared, many=100)


def test_strangers_that_say_nothing_are_not_looked_at() -> None:
    with ExitStack() as opened:

        def prepared(count: int) -> Callable[[], object]:
            broker = Broker()
            server = Server(broker, broker.connect, ("127.0.0.1", 0), None, ServerLimits(unopened_per_address=count))
            opened.callback(server._end)
            for _ in range(count):
                opened.enter_context(socket.create_connection(server.address))
                server._accept()
            assert len(server._sockets) == count
            server._turn()
            return lambda: [server._turn() for _ in range(10)]

        assert_free(prepared, many=100)


def test_a_server_of_ones_own_that_raises_serves_no_more_and_says_so() -> None:
    def handle(connection: ServerConnection, event: Event) -> None:
        raise KeyError("a bug")

    own = OwnServer(ServerConfig(), handle)
    with pytest.raises(KeyError), serve(own, own.connect, port=0) as server:
        with pytest.raises(ConnectFailed):
            there_and_back("amqp://{}:{}/".format(*server.address))
        server.serve_forever()


def test_a_server_that_ended_before_its_block_raised_says_why(caplog: pytest.LogCaptureFixture) -> None:
    def handle(connection: ServerConnection, event: Event) -> None:
        raise KeyError("a bug")

    own = OwnServer(ServerConfig(), handle)
    with pytest.raises(ConnectFailed), serve(own, own.connect, port=0) as server:
        there_and_back("amqp://{}:{}/".format(*server.address))
    (record,) = [each for each in caplog.records if each.name == "amqp_sansio.server"]
    assert record.exc_info is not None
    assert isinstance(record.exc_info[1], KeyError)


def test_an_interrupt_just_before_the_server_waits_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """No wait is without an end: the second one is that in which Python looks for signals."""
    waits: list[float | None] = []

    def missed(timeout: float | None = None) -> None:
        waits.append(timeout)
        if len(waits) == 2:
            raise KeyboardInterrupt

    broker = Broker()
    with serve(broker, broker.connect, port=0) as server:
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(server._thread, "join", missed)
            server.serve_forever()
    assert len(waits) == 2
    assert None not in waits


def test_a_connect_that_raises_costs_its_connection_and_no_other(caplog: pytest.LogCaptureFixture) -> None:
    broker = Broker()
    made = iter([ValueError("a bug")])

    def begin() -> Peer:
        for error in made:
            raise error
        return broker.connect()

    with serve(broker, begin, port=0) as server:
        url = "amqp://{}:{}/".format(*server.address)
        with pytest.raises(ConnectFailed):
            there_and_back(url)
        assert server.admission.connections == 0
        assert len(there_and_back(url, 1)) == 1
    assert "connect raised" in caplog.text
    assert "a bug" in caplog.text


def test_at_an_address_of_ipv6() -> None:
    broker = Broker()
    with serve(broker, broker.connect, "::1", 0) as server:
        assert server.address[0] == "::1"
        assert len(there_and_back("amqp://[{}]:{}/".format(*server.address), 1)) == 1


@pytest.mark.parametrize("limits", [ServerLimits(unopened_octets=2 * PLAIN_OCTETS), ServerLimits(unopened_per_address=2)])
def test_beyond_what_may_be_unopened_a_connection_is_refused_and_room_comes_back(limits: ServerLimits) -> None:
    broker = Broker()
    with serve(broker, broker.connect, port=0, limits=limits) as server:
        with socket.create_connection(server.address) as first, connect("amqp://{}:{}/".format(*server.address)):
            with socket.create_connection(server.address) as second, socket.create_connection(server.address) as beyond:
                assert beyond.recv(1) == b""
                with server.lock:
                    assert (server.admission.refused, server.admission.unopened, server.admission.connections) == (1, 2, 3)
                second.sendall(b"AMQP\1\1\0\x0a")
                assert second.recv(8) == b"AMQP\1\1\0\x0a"
            first.close()
            eventually(lambda: server.admission.unopened == 0)
            with connect("amqp://{}:{}/".format(*server.address)):
                pass
    eventually(lambda: server.admission.connections <= 1)  # the last one may have been there at the end


def test_a_system_without_file_descriptors_is_logged_once_and_tried_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Level-triggered, the listening socket would be asked again at once, and for ever."""
    monkeypatch.setattr("amqp_sansio.adapters.sync.server.RETRY_SECONDS", 0)
    broker = Broker()
    server = serve(broker, broker.connect, port=0)
    monkeypatch.setattr(server, "_listener", Full(server._listener))
    with server, connect("amqp://{}:{}/".format(*server.address)):
        pass
    assert [record.message for record in caplog.records] == ["no connection can be accepted: Too many open files"] * 3


class Full:
    """A listening socket of a system that has no file descriptor left, for three calls."""

    def __init__(self, listener: socket.socket) -> None:
        self.fileno, self.close, self.getsockname = listener.fileno, listener.close, listener.getsockname
        self._listener = listener
        self._left = 3

    def accept(self) -> object:
        if self._left:
            self._left -= 1
            raise OSError(errno.EMFILE, "Too many open files")
        return self._listener.accept()


def test_passwords_are_checked_beside_the_thread_that_serves() -> None:
    """As long as a check lasts, others log in and work."""
    go_on = threading.Event()
    broker = Broker()

    def verify(username: str, password: str) -> bool:
        if username == "slow":
            go_on.wait(30)
        return password == "right"

    config = ServerConfig(mechanisms=(PlainServer(verify, slow=True),))
    with serve(broker, lambda: broker.connect(config), port=0) as server, ThreadPoolExecutor(1) as threads:
        where = "{}:{}".format(*server.address)
        waiting = threads.submit(there_and_back, f"amqp://slow:wrong@{where}/", 1)
        with connect(f"amqp://ann:right@{where}/") as connection, connection.session() as session:
            session.sync()
            assert not waiting.done()
            go_on.set()
            assert isinstance(waiting.exception(30), ConnectFailed)
            session.sync()


@pytest.mark.parametrize("size", [9_000, 20_000, 200_000])
def test_a_message_beyond_the_limit_is_refused_with_its_command_id(size: int) -> None:
    broker = Broker()
    config = ServerConfig(limits=Limits(assembly_octets=10_000))
    with serve(broker, lambda: broker.connect(config), port=0) as server:
        with connect("amqp://{}:{}/".format(*server.address)) as connection:
            with connection.session() as session:
                session.execute(queue.Declare("q"))
                if size < 10_000:
                    session.publish("", "q", b"x" * size)
                    return
            with pytest.raises(SessionFailed) as told, connection.session() as session:
                session.send("", "q", b"x" * size).result()
            assert (told.value.code, told.value.command) == (506, "message.transfer")
            assert "limits.assembly_octets" in told.value.text
            with connection.session() as session:
                session.sync()  # the connection and the other sessions go on


@pytest.mark.parametrize("logged_in", [False, True])
def test_a_client_that_sends_on_after_a_violation_is_not_read_for_long(logged_in: bool) -> None:
    broker, connect_to = patient()
    with serve(broker, connect_to, port=0) as server:
        assert speak_on(server.address, logged_in)
