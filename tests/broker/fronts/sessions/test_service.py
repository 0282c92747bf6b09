"""What is done for one connection on which sessions are spoken."""

from __future__ import annotations

import pytest
from tests.broker.harness import World, blurt, done, front, refused

from amqp_sansio import ClientConnection, ServerConfig
from amqp_sansio.broker.broker import Broker
from amqp_sansio.broker.config import BrokerConfig
from amqp_sansio.broker.fronts.sessions.front import COMMANDS
from amqp_sansio.events import CommandsCompleted, Event, ExceptionReceived, SessionAttached, SessionDetached, TransferReceived
from amqp_sansio.limits import BrokerLimits
from amqp_sansio.spec import dtx, exchange, execution, file, message, queue, stream, tx
from amqp_sansio.spec.base import Command
from amqp_sansio.tables.session import COMMAND_SPEAKERS
from amqp_sansio.testing.link import Link


def test_attaches_are_refused_where_the_config_says_so(world: World) -> None:
    client = world.connect(server=ServerConfig(attach="refuse"))
    client.session()
    assert [event.code for event in client.all(SessionDetached)] == [1]
    assert front(world.broker).sessions == {}


def test_sessions_that_outlive_their_connection_are_counted() -> None:
    """The next one is attached, and granted nothing."""
    world = World()
    for count, kept in ((1, 1), (2, 2), (3, 2)):
        world = World(BrokerConfig(limits=BrokerLimits(kept_sessions=2)))
        client = world.connect(server=ServerConfig(session_timeout=60))
        for number in range(count):
            client.session(b"%d" % number, 60)
        assert len(client.all(SessionAttached)) == count
        client.cut()
        assert len(front(world.broker).sessions) == kept
    world.tick()
    world.tick(61.0)
    client = world.connect(server=ServerConfig(session_timeout=60))
    client.session(b"again", 60)
    client.cut()
    assert len(front(world.broker).sessions) == 1


class Seat:
    """The peer of a broker as a `Link` sees it: whoever asks it for events has the broker act."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.peer = broker.connect(ServerConfig(session_timeout=None))
        self.receive_data = self.peer.receive_data
        self.receive_eof = self.peer.receive_eof
        self.data_to_send = self.peer.data_to_send

    @property
    def bytes_to_send(self) -> int:
        return self.peer.bytes_to_send

    def next_event(self) -> Event | None:
        while (happened := self.broker.next_event()) is not None:
            if happened[0] is self.peer:
                return happened[1]
        return None

    def tick(self, now: float) -> float | None:
        return self.broker.tick(now)


@pytest.mark.parametrize("cut_at", range(40, 1200, 60))
def test_no_message_is_lost_or_doubled_when_the_link_breaks(cut_at: int) -> None:
    """Whatever octet the link breaks at, a session that is resumed has published and received everything once."""
    broker = Broker()
    client, seat = ClientConnection(), Seat(broker)
    link = Link(client, seat, delay=(1, 3), chunk=(1, 50), choices=[3, 1, 4, 1, 5, 9, 2, 6], seconds=0.01)
    link.run()
    session = client.session(b"s", None)
    link.run()
    session.send(queue.Declare("q"))
    session.subscribe("q", "d").grant(5)
    link.cut_after("client" if cut_at % 120 else "server", cut_at)
    received: list[bytes] = []
    published = 0
    for _ in range(400):
        if session.state == "attached" and published < 20:
            session.publish(routing_key="q", body=b"%d" % published)
            published += 1
        for who, event in link.step():
            if who == "client" and isinstance(event, TransferReceived):
                received.append(event.body)
                session.accept(event.id)
        if link.broken:
            client, seat = ClientConnection(), Seat(broker)
            link.reconnect(client, seat)
            link.run()
            client.resume(session, force=True)
    assert link.violations == []
    assert published == 20
    assert received == [b"%d" % number for number in range(20)]
    assert broker.host("").queues["q"].messages == 0


def test_a_session_knows_its_queue_again_on_any_connection(world: World) -> None:
    client = world.connect(server=ServerConfig(session_timeout=None))
    session = client.session(b"s", None)
    done(client, session, queue.Declare("mine", exclusive=True))
    client.cut()
    again = world.connect(server=ServerConfig(session_timeout=None))
    again.connection.resume(session)
    world.run()
    done(again, session, queue.Purge("mine"))


def commands(module: object) -> list[type[Command]]:
    return [each for each in vars(module).values() if isinstance(each, type) and issubclass(each, Command) and each.VERB]


def test_every_command_that_a_client_may_say_has_its_row() -> None:
    said = [each for module in (message, tx, dtx, exchange, queue) for each in commands(module)]
    missing = [each.VERB for each in said if each not in COMMANDS and COMMAND_SPEAKERS.get(each.VERB) != "server"]
    assert missing == ["message.transfer"]  # which comes as an event of its own


CONTENT = (
    file.Qos(),
    file.Consume("q", "tag"),
    file.Open("identifier", 1),
    file.Publish("", "q"),
    stream.Qos(),
    stream.Consume("q", "tag"),
)


@pytest.mark.parametrize("command", CONTENT, ids=lambda command: command.VERB)
def test_what_has_no_row_is_not_implemented(world: World, command: Command) -> None:
    """What breaks the grammar of classes file and stream the engine answers, and with other codes."""
    client, session = world.session()
    assert refused(client, session, command).error_code == 540


def test_execution_sync_is_a_barrier(world: World) -> None:
    client, session = world.session()
    sync = session.sync()
    world.run()
    assert any(sync in event.ids for event in client.all(CommandsCompleted))


def test_what_follows_a_refused_command_is_not_done(world: World) -> None:
    client, session = world.session()
    blurt(session, queue.Delete("none"))
    blurt(session, queue.Declare("q"))
    world.run()
    assert [event.error_code for event in client.all(ExceptionReceived)] == [404]
    assert world.broker.host("").queues == {}


def test_a_result_that_nobody_asked_for_is_ignored(world: World) -> None:
    client, session = world.session()
    blurt(session, execution.Result(7))
    world.run()
    assert client.all(ExceptionReceived) == []
