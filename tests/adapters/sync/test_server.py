"""The server side without a loop: sockets for a broker, or for a server of one's own."""

from __future__ import annotations

import select
import ssl

import pytest
import trustme
from tests.adapters.conditions import eventually
from tests.adapters.hosts import Collector, flood, subscribe_and_read_nothing
from tests.adapters.sync.test_connection import there_and_back

from amqp_sansio.adapters.sync import connect
from amqp_sansio.adapters.sync.server import Server, serve
from amqp_sansio.broker.broker import Broker
from amqp_sansio.broker.peer.peer import Peer
from amqp_sansio.config import ServerConfig
from amqp_sansio.conversation.errors import ConnectFailed, SessionLost
from amqp_sansio.conversation.hosting import OwnServer
from amqp_sansio.engine.server import ServerConnection
from amqp_sansio.events import Event
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
            session.say(queue.Declare("q"))
            for _ in range(5):
                session.send("", "q", b"x" * 3_000_000)
            with session.subscribe("q", prefetch=2) as subscription:
                for _ in range(5):
                    message = subscription.receive()
                    assert message is not None
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


def test_whoever_is_there_at_the_end_hears_of_it() -> None:
    broker = Broker()
    with pytest.raises(SessionLost), serve(broker, broker.connect, port=0) as server:
        with connect("amqp://{}:{}/".format(*server.address)) as connection, connection.session() as session:
            server.close()
            session.sync()


def test_who_floods_is_read_as_fast_as_the_server_is() -> None:
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
            session.say(queue.Declare("q"))
            for _ in range(600):
                session.send("", "q", b"x" * 100_000)
            session.sync()
            with subscribe_and_read_nothing(server.address, "q", 600):
                eventually(lambda: blocked(server))
                assert broker.host("").queues["q"].available > 400


def test_a_server_of_ones_own_that_raises_serves_no_more_and_says_so() -> None:
    def handle(connection: ServerConnection, event: Event) -> None:
        raise KeyError("a bug")

    own = OwnServer(ServerConfig(), handle)
    with pytest.raises(KeyError), serve(own, own.connect, port=0) as server:
        with pytest.raises(ConnectFailed):
            there_and_back("amqp://{}:{}/".format(*server.address))
        server.serve_forever()


def test_at_an_address_of_ipv6() -> None:
    broker = Broker()
    with serve(broker, broker.connect, "::1", 0) as server:
        assert server.address[0] == "::1"
        assert len(there_and_back("amqp://[{}]:{}/".format(*server.address), 1)) == 1
