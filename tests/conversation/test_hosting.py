"""A server of one's own, without sockets."""

from __future__ import annotations

import pytest
from tests.families.made_up import MADE_UP
from tests.steps import steps

from amqp_sansio.config import ClientConfig, ServerConfig
from amqp_sansio.conversation.hosting import OwnGuest, OwnServer
from amqp_sansio.dialects import AMQP_0_9_1, AMQP_0_10
from amqp_sansio.engine.channel_client import ChannelClientConnection
from amqp_sansio.engine.channel_server import ChannelServerConnection
from amqp_sansio.engine.client import ClientConnection
from amqp_sansio.engine.handshake import PATIENCE
from amqp_sansio.engine.sasl import PlainServer
from amqp_sansio.engine.server import ServerConnection
from amqp_sansio.events import Authenticated, ConnectionClosed, ConnectionOpened, Event, MethodAnswered, MethodReceived
from amqp_sansio.kernel.build import COMPILED
from amqp_sansio.spec.connection import Heartbeat
from amqp_sansio.spec.methods import queue
from amqp_sansio.wire.layouts.v0_10 import LAYOUT
from amqp_sansio.wire.segments import frame_control


def carry(server: OwnServer, *pairs: tuple[ClientConnection, OwnGuest]) -> None:
    """Octets both ways until all are silent."""
    moved = True
    while moved:
        moved = False
        for client, theirs in pairs:
            octets = client.data_to_send()
            if octets:
                theirs.receive_data(octets)
                moved = True
        while server.next_event() is not None:
            moved = True
        for guest in server.ready():
            octets = guest.data_to_send()
            for client, theirs in pairs:
                if theirs is guest and octets:
                    client.receive_data(octets)
                    list(client.events())
                    moved = True


def test_events_of_all_connections_come_to_one_handler_in_turns() -> None:
    heard: list[tuple[ServerConnection, Event]] = []
    server = OwnServer(ServerConfig(), lambda connection, event: heard.append((connection, event)))
    one, two = server.connect(), server.connect()
    carry(server, (ClientConnection(ClientConfig()), one), (ClientConnection(ClientConfig()), two))
    for connection in (one.connection, two.connection):
        assert next(type(event) for each, event in heard if each is connection) is Authenticated
        assert [type(event) for each, event in heard if each is connection][-1] is ConnectionOpened
    assert heard[0][0] is not heard[1][0]  # nobody waits for another's flood


@pytest.mark.parametrize("config", [ServerConfig(), ServerConfig(dialects=(MADE_UP, AMQP_0_10))], ids=["one", "several"])
def test_controls_that_bring_no_event_keep_nobody_waiting(config: ServerConfig) -> None:
    """A flood of them is heard some at a time; in between others have their turns, and the loop can read its sockets."""
    heard: list[ServerConnection] = []
    server = OwnServer(config, lambda connection, event: heard.append(connection))
    flooding, other = server.connect(), server.connect()
    first, second = ClientConnection(ClientConfig()), ClientConnection(ClientConfig())
    carry(server, (first, flooding), (second, other))
    heard.clear()
    flooding.receive_data(frame_control(0, LAYOUT.encode_control(Heartbeat())) * (20 * PATIENCE))
    second.session(b"s")
    other.receive_data(second.data_to_send())
    assert server.next_event() is None
    assert server.due is not None
    assert server.due <= server._now, "a loop must know that there is more to read"
    assert server.next_event() is not None
    assert heard == [other.connection]
    rounds = 0
    while server._turns:
        server.next_event()
        rounds += 1
    assert rounds > 15


def test_a_connection_that_has_ended_is_ready_once_more_and_then_forgotten() -> None:
    server = OwnServer(ServerConfig(), lambda connection, event: None)
    connection = server.connect()
    connection.receive_eof()
    while server.next_event() is not None:
        pass
    assert connection.finished
    assert server.ready() == (connection,)
    assert server.ready() == ()


def test_a_connection_is_not_ready_before_its_socket_takes_octets() -> None:
    server = OwnServer(ServerConfig(), lambda connection, event: None)
    guest, client = server.connect(), ClientConnection(ClientConfig())
    carry(server, (client, guest))
    guest.writable = False
    guest.connection.close()
    while server.next_event() is not None:
        pass
    assert guest.connection.bytes_to_send
    assert not guest.full
    assert server.ready() == ()
    assert not server._said, "what cannot be sent is looked at again and again"
    guest.writable = True
    assert server.ready() == (guest,)


def test_a_connection_that_is_lost_with_octets_left_is_forgotten() -> None:
    server = OwnServer(ServerConfig(), lambda connection, event: None)
    guest, client = server.connect(), ClientConnection(ClientConfig())
    carry(server, (client, guest))
    client.session(b"s")
    guest.receive_data(client.data_to_send())
    guest.receive_eof()
    while server.next_event() is not None:
        pass
    assert guest.connection.bytes_to_send
    assert server.ready() == (guest,)
    assert server.ready() == ()
    assert not server._connections
    assert guest.data_to_send(), "its client may still read"
    assert server.ready() == (guest,)
    assert server.ready() == ()


def test_a_handler_that_raises_loses_its_connection_and_nobody_elses() -> None:
    def handle(connection: ServerConnection, event: Event) -> None:
        if isinstance(event, ConnectionOpened) and connection is bad.connection:
            raise KeyError("a bug")

    failures: list[Exception] = []
    server = OwnServer(ServerConfig(), handle, lambda connection, error: failures.append(error))
    bad, good = server.connect(), server.connect()
    clients = ClientConnection(ClientConfig()), ClientConnection(ClientConfig())
    carry(server, (clients[0], bad), (clients[1], good))
    assert [type(each) for each in failures] == [KeyError]
    assert not clients[0].is_open
    assert clients[1].is_open

    server = OwnServer(ServerConfig(), handle)
    bad = server.connect()
    with pytest.raises(KeyError):
        carry(server, (ClientConnection(ClientConfig()), bad))


def test_output_from_outside_of_the_handler_goes_out() -> None:
    server = OwnServer(ServerConfig(), lambda connection, event: None)
    guest, client = server.connect(), ClientConnection(ClientConfig())
    carry(server, (client, guest))
    assert guest.wants_data
    guest.connection.close()
    assert server.next_event() is None
    assert server.ready() == (guest,)


@pytest.mark.parametrize("opened", [True, False])
def test_what_a_handler_says_on_another_connection_goes_out(opened: bool) -> None:
    def handle(connection: ServerConnection, event: Event) -> None:
        if connection is not other.connection and isinstance(event, ConnectionOpened):
            other.connection.close()

    server = OwnServer(ServerConfig(), handle)
    one, other = server.connect(), server.connect()
    others = ClientConnection(ClientConfig())
    if opened:
        carry(server, (others, other))
    carry(server, (ClientConnection(ClientConfig()), one), (others, other))
    assert other.finished
    assert not others.is_open
    assert list(server._connections) == [one]


def test_an_event_costs_the_same_beside_however_many_connections() -> None:
    def turn(idle: int) -> int:
        server = OwnServer(ServerConfig(), lambda connection, event: None)
        pairs = [(ClientConnection(ClientConfig()), server.connect()) for _ in range(idle)]
        carry(server, *pairs)
        client, guest = pairs[0]
        client.session(b"s")
        guest.receive_data(client.data_to_send())

        def work() -> None:
            while server.next_event() is not None:
                pass
            assert server.ready() == (guest,)

        return steps(work)

    if COMPILED:
        pytest.skip("the steps of compiled code cannot be counted")
    assert turn(40) == turn(10)


def test_every_connection_ticks() -> None:
    ended: list[Event] = []
    server = OwnServer(ServerConfig(), lambda connection, event: ended.append(event))
    server.connect()
    due = server.tick(0.0)
    assert due is not None  # the handshake may take so long
    server.tick(due)
    while server.next_event() is not None:
        pass
    assert isinstance(ended[-1], ConnectionClosed)
    assert OwnServer(ServerConfig(), lambda connection, event: None).tick(0.0) is None


def test_a_handler_gets_the_connection_of_a_client_with_channels() -> None:
    asked: list[object] = []

    def handle(connection: ChannelServerConnection, event: Event) -> None:
        if isinstance(event, MethodReceived) and event.id is not None:
            asked.append(event.method)
            connection.channels[0].reply(event.id, queue.DeclareOk("orders"))

    server = OwnServer(ServerConfig(dialects=(AMQP_0_9_1,), mechanisms=(PlainServer(lambda name, password: True),)), handle)
    guest, client = server.connect(), ChannelClientConnection(ClientConfig(dialect=AMQP_0_9_1, username="me"))

    def talk() -> list[Event]:
        heard: list[Event] = []
        while octets := client.data_to_send():
            guest.receive_data(octets)
            while server.next_event() is not None:
                pass
            client.receive_data(guest.data_to_send())
            heard += client.events()
        return heard

    talk()
    channel = client.channel()
    talk()
    channel.declare_queue("orders")
    assert [each.method for each in talk() if isinstance(each, MethodAnswered)] == [queue.DeclareOk("orders")]
    assert asked == [queue.Declare("orders")]
