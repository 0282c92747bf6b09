"""The server side on trio: sockets for a broker, or for a server of one's own."""

from __future__ import annotations

import errno
import ssl
import threading

import pytest
import trio
import trio.testing
import trustme
from tests.adapters.conditions import PATIENCE
from tests.adapters.hosts import Collector, flood, patient, speak_on, subscribe_and_read_nothing
from tests.adapters.scenarios import there_and_back
from tests.adapters.trio.test_connection import TrioLoop
from tests.broker.attacker import BEAT, Attacker, publish
from tests.steps import steps

from amqp_sansio.adapters.base_server import PLAIN_OCTETS
from amqp_sansio.adapters.trio import connect
from amqp_sansio.adapters.trio.server import Server, serve
from amqp_sansio.broker.broker import Broker, Peer
from amqp_sansio.broker.config import BrokerConfig
from amqp_sansio.config import ServerConfig
from amqp_sansio.conversation.hosting import OwnServer
from amqp_sansio.engine.sasl import PlainServer
from amqp_sansio.engine.server import ServerConnection
from amqp_sansio.errors import ConnectFailed, EncodeError, SessionLost
from amqp_sansio.events import Event
from amqp_sansio.kernel.build import COMPILED
from amqp_sansio.limits import BrokerLimits, Limits, ServerLimits
from amqp_sansio.spec import queue

LOOP = TrioLoop()


def test_a_broker_in_a_line() -> None:
    async def main() -> None:
        broker = Broker()
        async with serve(broker, broker.connect, port=0) as server:
            assert len(await there_and_back(LOOP, "amqp://{}:{}/?heartbeat=1".format(*server.address), 300)) == 300
        assert broker.host("").queues["q"].available == 0

    trio.run(main)


def test_by_tls() -> None:
    authority = trustme.CA()
    here, there = ssl.create_default_context(), ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.configure_trust(here)
    authority.issue_cert("localhost").configure_cert(there)

    async def main() -> None:
        broker = Broker()
        async with serve(broker, broker.connect, port=0, tls=there) as server:
            assert len(await there_and_back(LOOP, f"amqps://localhost:{server.address[1]}/", 50, here)) == 50
            with pytest.raises(ConnectFailed):
                await there_and_back(LOOP, f"amqp://localhost:{server.address[1]}/")

    trio.run(main)


@pytest.mark.parametrize("said", [b"", b"\x16\x03\x01\x02\x00"])
def test_a_client_that_does_not_come_through_tls_in_its_time_is_dropped(said: bytes) -> None:
    there = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    trustme.CA().issue_cert("localhost").configure_cert(there)

    async def main() -> None:
        broker = Broker()
        config = ServerConfig(limits=Limits(handshake_seconds=0.01))
        async with serve(broker, lambda: broker.connect(config), port=0, tls=there) as server:
            with trio.fail_after(PATIENCE):
                async with await trio.open_tcp_stream(*server.address) as stranger:
                    if said:
                        await stranger.send_all(said)
                    assert await stranger.receive_some(100) == b""
                while server.admission.unopened:
                    await trio.lowlevel.checkpoint()

    trio.run(main)


def test_clients_that_are_there_at_the_end_hear_of_it() -> None:
    async def main() -> None:
        broker = Broker()
        async with serve(broker, broker.connect, port=0) as server, trio.open_nursery() as nursery:

            async def stay() -> None:
                with pytest.raises(SessionLost):
                    async with connect(url) as connection, connection.session() as session:
                        await session.execute(queue.Declare("q"))
                        ready.set()
                        async with session.subscribe("q") as subscription:
                            await subscription.receive()

            url, ready = "amqp://{}:{}/".format(*server.address), trio.Event()
            nursery.start_soon(stay)
            await ready.wait()
            await server.end()

    trio.run(main)


def test_nobody_and_no_listener_is_left_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even a client that takes nothing of what waits for it."""
    monkeypatch.setattr("amqp_sansio.adapters.trio.server.CLOSE_SECONDS", 1e-3)
    listeners: list[trio.SocketListener] = []
    opened = trio.open_tcp_listeners

    async def noted(port: int, *, host: str) -> list[trio.SocketListener]:
        listeners.extend(await opened(port, host=host))
        return listeners

    monkeypatch.setattr(trio, "open_tcp_listeners", noted)

    async def main() -> None:
        broker = Broker()
        async with serve(broker, broker.connect, port=0) as server:
            async with connect("amqp://{}:{}/".format(*server.address)) as connection, connection.session() as session:
                await session.execute(queue.Declare("q"))
                for _ in range(200):
                    await session.send("", "q", b"x" * 100_000)
                await session.sync()
            stuck = await trio.to_thread.run_sync(subscribe_and_read_nothing, server.address, "q", 200)
            with trio.fail_after(PATIENCE):
                while not any(peer.full for peer in broker.peers):
                    await trio.lowlevel.checkpoint()
        with stuck:
            assert not broker.peers
            assert [listener.socket.fileno() for listener in listeners] == [-1]

    trio.run(main)


def test_a_client_that_floods_is_read_as_fast_as_the_server_is() -> None:
    async def main() -> None:
        collector = Collector()
        async with serve(collector.server, collector.server.connect, port=0) as server:
            await trio.to_thread.run_sync(flood, server.address, 300, 10_000)
        assert len(collector.bodies) == 300

    trio.run(main)


def test_a_client_that_takes_nothing_does_not_fill_the_memory() -> None:
    async def main() -> int:
        broker = Broker()
        async with serve(broker, broker.connect, port=0) as server:
            async with connect("amqp://{}:{}/".format(*server.address)) as connection, connection.session() as session:
                await session.execute(queue.Declare("q"))
                for _ in range(600):
                    await session.send("", "q", b"x" * 100_000)
                await session.sync()

                def left() -> int:
                    return broker.host("").queues["q"].available

                with await trio.to_thread.run_sync(subscribe_and_read_nothing, server.address, "q", 600):
                    while left() and not any(peer.full for peer in broker.peers):  # its octets are made, and nobody takes them
                        server.wake()
                        await trio.testing.wait_all_tasks_blocked()
                    return left()

    assert 400 < trio.run(main) < 600


@pytest.mark.parametrize("floods", [False, True])
def test_clients_that_never_read_cost_the_others_nothing(floods: bool) -> None:
    async def cost(count: int) -> int:
        """Steps of a few turns in which one client publishes, beside so many whose writers wait for their sockets."""
        broker = Broker(BrokerConfig(limits=BrokerLimits(outbox_octets=4000)))
        reader, *deaf = [Attacker(broker, Limits(inbox_octets=4096)) for _ in range(count + 1)]
        peers = iter([each.peer for each in (reader, *deaf)])
        server = Server(broker, lambda: next(peers), ServerLimits(unopened_per_address=1000), False)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(server.turns)
            ends = []
            for each in (reader, *deaf):
                place = server.admission.admit(None, 0.0)
                assert place is not None
                ours, theirs = trio.testing.lockstep_stream_pair()
                ends.append(theirs)
                nursery.start_soon(server.attend, ours, place)
                await trio.testing.wait_all_tasks_blocked()
                assert not each.peer.writable
            for each in deaf:
                each.say([*[queue.Query("q")] * 400, BEAT * 1000] if floods else [queue.Query("q")])
            server.wake()
            await trio.testing.wait_all_tasks_blocked()
            for end in ends[1:]:
                nursery.start_soon(end.send_all, BEAT)  # those that are full are read once more, and then no more
            await trio.testing.wait_all_tasks_blocked()
            assert all(each.peer.bytes_to_send for each in deaf)
            assert all(each.peer.full is floods for each in deaf)
            assert not server._paused

            def work() -> None:
                for _ in range(5):
                    reader.say([publish("q")])
                    server._turn()

            work()
            counted = steps(work)

            async def read() -> None:
                while True:
                    await ends[1].receive_some()

            nursery.start_soon(read)
            await ends[1].send_all(BEAT)  # who reads at last is read again
            await trio.testing.wait_all_tasks_blocked()
            assert deaf[0].peer.wants_data
            nursery.cancel_scope.cancel()
        return counted

    if COMPILED:
        pytest.skip("the steps of compiled code cannot be counted")
    few, many = trio.run(cost, 10), trio.run(cost, 400)
    assert many <= 1.2 * few


def test_a_server_of_ones_own_that_raises_ends_its_block() -> None:
    def handle(connection: ServerConnection, event: Event) -> None:
        raise KeyError("a bug")

    async def main() -> None:
        own = OwnServer(ServerConfig(), handle)
        async with serve(own, own.connect, port=0) as server:
            with pytest.raises(ConnectFailed):
                await there_and_back(LOOP, "amqp://{}:{}/".format(*server.address))

    with pytest.raises(KeyError):
        trio.run(main)


def test_a_connect_that_raises_costs_its_connection_and_no_other(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        broker = Broker()
        made = iter([ValueError("a bug")])

        def begin() -> Peer:
            for error in made:
                raise error
            return broker.connect()

        async with serve(broker, begin, port=0) as server:
            url = "amqp://{}:{}/".format(*server.address)
            with pytest.raises(ConnectFailed):
                await there_and_back(LOOP, url)
            assert server.admission.connections == 0
            assert len(await there_and_back(LOOP, url, 1)) == 1

    trio.run(main)
    assert "connect raised" in caplog.text
    assert "a bug" in caplog.text


@pytest.mark.parametrize("port", [-1, 65536])
def test_a_port_that_is_none_is_refused(port: int) -> None:
    async def main() -> None:
        broker = Broker()
        async with serve(broker, broker.connect, port=port):
            raise AssertionError

    with pytest.raises(EncodeError, match="serve: port: takes 0 to 65535, not"):
        trio.run(main)


@pytest.mark.parametrize("limits", [ServerLimits(unopened_octets=2 * PLAIN_OCTETS), ServerLimits(unopened_per_address=2)])
def test_beyond_what_may_be_unopened_a_connection_is_refused_and_room_comes_back(limits: ServerLimits) -> None:
    async def main() -> None:
        broker = Broker()
        async with serve(broker, broker.connect, port=0, limits=limits) as server:
            url = "amqp://{}:{}/".format(*server.address)
            first = await trio.open_tcp_stream(*server.address)
            async with connect(url):
                second = await trio.open_tcp_stream(*server.address)
                beyond = await trio.open_tcp_stream(*server.address)
                assert await beyond.receive_some() == b""
                assert (server.admission.refused, server.admission.unopened, server.admission.connections) == (1, 2, 3)
                await first.aclose()
                while server.admission.unopened > 1:
                    await trio.testing.wait_all_tasks_blocked()
                async with connect(url):
                    pass
            await second.aclose()
            await beyond.aclose()

    trio.run(main)


def test_passwords_are_checked_beside_the_loop() -> None:
    """As long as a check lasts, others log in and work."""
    go_on = threading.Event()

    def verify(username: str, password: str) -> bool:
        if username == "slow":
            go_on.wait(30)
        return password == "right"

    async def main() -> None:
        broker = Broker()
        config = ServerConfig(mechanisms=(PlainServer(verify, slow=True),))
        async with serve(broker, lambda: broker.connect(config), port=0) as server, trio.open_nursery() as nursery:
            where = "{}:{}".format(*server.address)
            failed = trio.Event()

            async def enter() -> None:
                with pytest.raises(ConnectFailed, match="authentication failed"):
                    async with connect(f"amqp://slow:wrong@{where}/"):
                        pass
                failed.set()

            nursery.start_soon(enter)
            async with connect(f"amqp://ann:right@{where}/") as connection, connection.session() as session:
                await session.sync()
                assert not failed.is_set()
                go_on.set()
                await failed.wait()
                await session.sync()

    trio.run(main)


def test_a_system_without_file_descriptors_is_logged_and_tried_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("amqp_sansio.adapters.trio.server.RETRY_SECONDS", 0)
    accept, left = trio.SocketListener.accept, [1, 2, 3]

    async def full(listener: trio.SocketListener) -> trio.SocketStream:
        if left:
            left.pop()
            raise OSError(errno.EMFILE, "Too many open files")
        return await accept(listener)

    monkeypatch.setattr(trio.SocketListener, "accept", full)

    async def main() -> None:
        broker = Broker()
        async with serve(broker, broker.connect, port=0) as server, connect("amqp://{}:{}/".format(*server.address)):
            pass

    trio.run(main)
    warned = [record.message for record in caplog.records if record.name != "amqp_sansio.connection"]  # that is the client's
    assert warned == ["no connection can be accepted: Too many open files"] * 3


@pytest.mark.parametrize("logged_in", [False, True])
def test_a_client_that_sends_on_after_a_violation_is_not_read_for_long(logged_in: bool) -> None:
    async def main() -> None:
        broker, connect_to = patient()
        async with serve(broker, connect_to, port=0) as server:
            assert await trio.to_thread.run_sync(speak_on, server.address, logged_in)

    trio.run(main)


def test_strangers_that_say_nothing_are_not_looked_at() -> None:
    async def turns(count: int) -> int:
        broker = Broker()
        limits = ServerLimits(unopened_per_address=count)
        async with serve(broker, broker.connect, port=0, limits=limits) as server:
            streams = [await trio.open_tcp_stream(*server.address) for _ in range(count)]
            while len(server._sockets) < count:
                await trio.lowlevel.checkpoint()
            server._turn()

            def ten() -> None:
                for _ in range(10):
                    server._turn()

            spent = steps(ten)
            for each in streams:
                await each.aclose()
        return spent

    if COMPILED:
        pytest.skip("the steps of compiled code cannot be counted")
    few, many = trio.run(turns, 10), trio.run(turns, 100)
    assert many <= 1.2 * few, f"{few} steps beside 10, {many} beside 100"
