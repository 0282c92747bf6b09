"""A made-up family at servers that speak 0-10, too: the client's header says which of the two is spoken."""

from __future__ import annotations

import pytest
from tests.families.front import Lines
from tests.families.made_up import MADE_UP, LineClient, LineServer

from amqp_sansio import AMQP_0_10, ClientConfig, ClientConnection, Connection, ServerConfig, ServerConnection
from amqp_sansio.broker.broker import Broker
from amqp_sansio.broker.fronts.table import FRONTS
from amqp_sansio.conversation.hosting import OwnServer
from amqp_sansio.events import AttachRequested, ConnectionClosed, ConnectionOpened, Event, OpenRequested, Origin, TimeoutGranted

BOTH = ServerConfig(dialects=(AMQP_0_10, MADE_UP))


def clients() -> list[Connection]:
    return [ClientConnection(), LineClient(ClientConfig(dialect=MADE_UP))]


@pytest.mark.parametrize("family", [0, 1], ids=["0-10", "made-up"])
@pytest.mark.parametrize("piece", [1, 4096])
def test_a_broker_opens_a_connection_of_either_family(family: int, piece: int) -> None:
    broker, client = Broker(fronts=(*FRONTS, Lines)), clients()[family]
    peer, opened = broker.connect(BOTH), []
    for _ in range(9):
        octets = client.data_to_send()
        for at in range(0, len(octets), piece):
            peer.receive_data(octets[at : at + piece])
        broker.tick(1.0)
        while broker.next_event() is not None:
            pass
        client.receive_data(peer.data_to_send())
        opened += [event for event in client.events() if isinstance(event, ConnectionOpened)]
    assert peer.is_open
    assert len(opened) == 1


def test_a_broker_gives_up_a_client_that_does_not_say_what_it_speaks() -> None:
    broker = Broker()
    peer = broker.connect(BOTH)
    peer.receive_data(b"AMQP\x01")
    broker.tick(1.0)
    assert broker.next_event() is None
    assert broker.due == 1.0 + BOTH.limits.handshake_seconds
    broker.tick(1.0 + BOTH.limits.handshake_seconds)
    got = broker.next_event()
    assert got is not None
    assert isinstance(got[1], ConnectionClosed)
    assert got[1].origin is Origin.TIMEOUT
    assert peer.finished


def test_a_server_of_ones_own_serves_either_family() -> None:
    heard: list[tuple[type, type]] = []

    def handle(connection: ServerConnection, event: Event) -> None:
        heard.append((type(connection), type(event)))

    server = OwnServer(BOTH, handle)
    for client in clients():
        guest, events = server.connect(), []
        for round in range(9):
            if round == 4 and isinstance(client, ClientConnection):
                client.session(b"s")
            elif round == 4 and isinstance(client, LineClient):
                client.lines.ask(3, b"well?")
            if octets := client.data_to_send():
                guest.receive_data(octets)
            server.tick(float(round))
            while server.next_event() is not None:
                pass
            client.receive_data(guest.data_to_send())
            events += list(client.events())
        if isinstance(client, LineClient):
            assert TimeoutGranted(b"well?", 3) in events
    assert (ServerConnection, AttachRequested) in heard
    assert (LineServer, OpenRequested) in heard
    assert (LineServer, AttachRequested) not in heard
