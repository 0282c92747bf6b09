"""What a session holds, on which connection it is, and what becomes of it."""

from __future__ import annotations

import pytest
from tests.broker.harness import Client, World, bodies, done, front, refused, service

from amqp_sansio import ClientConfig, ServerConfig, Session
from amqp_sansio.broker.broker import Broker
from amqp_sansio.broker.config import BrokerConfig
from amqp_sansio.config import Accepted, Challenge, Rejected, ServerExchange
from amqp_sansio.events import (
    CommandReceived,
    CommandsCompleted,
    ExceptionReceived,
    Origin,
    ResultReceived,
    SessionAttached,
    SessionDetached,
    TransferReceived,
)
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec import message, queue
from amqp_sansio.spec.codes import AcceptMode, DeliveryMode, ErrorCode
from amqp_sansio.spec.queue import QueueQueryResult

KEEP = ServerConfig(session_timeout=None)


class AnyName(ServerExchange):
    """Believes whoever says a name."""

    def step(self, response: bytes | None) -> Challenge | Accepted | Rejected:
        return Accepted((response or b"").split(b"\0")[1].decode())


class Plain:
    """PLAIN without a look at the password."""

    name = "PLAIN"

    def start(self) -> ServerExchange:
        return AnyName()


NAMED = ServerConfig(mechanisms=(Plain(),), session_timeout=None)


def user(world: World, name: str, host: str = "") -> Client:
    return world.connect(ClientConfig(username=name, password="x", virtual_host=host), NAMED)


def queue_of(broker: Broker, name: str = "q") -> tuple[int, int]:
    """What is available and what is acquired."""
    found = broker.host("").queues[name]
    return found.available, found.acquired


def filled(world: World, *texts: bytes) -> tuple[Client, Session]:
    client = world.connect(server=KEEP)
    session = client.session(b"s", None)
    done(client, session, queue.Declare("q"))
    for text in texts:
        session.publish(routing_key="q", body=text)
    world.run()
    client.events.clear()
    return client, session


# --- a session that ends --------------------------------------------------------------------------------------------------


def test_what_is_not_accepted_goes_back_marked(world: World) -> None:
    client, session = world.session()
    done(client, session, queue.Declare("q"))
    for text in (b"1", b"2", b"3"):
        session.publish(routing_key="q", body=text)
    session.subscribe("q", "d").grant(2)
    world.run()
    assert queue_of(world.broker) == (1, 2)
    session.detach()
    world.run()
    assert queue_of(world.broker) == (3, 0)
    assert front(world.broker).sessions == {}
    other, again = world.session(b"t")
    again.subscribe("q", "d").grant(5)
    world.run()
    events = other.take(TransferReceived)
    assert [event.body for event in events] == [b"1", b"2", b"3"]
    marks = [bool(event.delivery_properties and event.delivery_properties.redelivered) for event in events]
    assert marks == [True, True, False]


def test_an_exception_ends_it_all_at_once(world: World) -> None:
    """Even when the client does not answer the detach."""
    client, session = world.session()
    done(client, session, queue.Declare("q"))
    session.publish(routing_key="q", body=b"1")
    session.subscribe("q", "d").grant(1)
    world.run()
    session.send(queue.Delete("none"))
    client.peer.receive_data(client.connection.data_to_send())
    list(world.broker.events())
    assert queue_of(world.broker) == (1, 0)
    assert world.broker.host("").queues["q"].subscribers == 0
    assert front(world.broker).sessions == {}


def test_a_client_that_says_an_exception_ends_it(world: World) -> None:
    client, session = world.session()
    done(client, session, queue.Declare("q", exclusive=True, auto_delete=True))
    session.subscribe("q", "d").grant(1)
    session.publish(routing_key="q", body=b"1")
    world.run()
    session.fail(None, ErrorCode.INTERNAL_ERROR)
    world.run()
    assert front(world.broker).sessions == {}
    assert world.broker.host("").queues == {}


def test_exclusive_queues_are_released_or_deleted(world: World) -> None:
    client, session = world.session()
    done(client, session, queue.Declare("kept", exclusive=True))
    done(client, session, queue.Declare("gone", exclusive=True, auto_delete=True))
    client.cut()
    assert list(world.broker.host("").queues) == ["kept"]
    other, again = world.session(b"t")
    done(other, again, message.Subscribe("kept", "d"))


def test_auto_delete_goes_with_the_last_subscriber(world: World) -> None:
    client, session = world.session()
    done(client, session, queue.Declare("q", auto_delete=True))
    session.subscribe("q", "a")
    session.subscribe("q", "b")
    world.run()
    done(client, session, message.Cancel("a"))
    assert "q" in world.broker.host("").queues
    client.cut()
    assert world.broker.host("").queues == {}


def test_a_lost_connection_ends_a_session_that_nobody_keeps(world: World) -> None:
    client, session = world.session()
    done(client, session, queue.Declare("q"))
    session.publish(routing_key="q", body=b"1")
    session.subscribe("q", "d").grant(1)
    world.run()
    client.cut()
    assert queue_of(world.broker) == (1, 0)
    assert world.broker.peers == ()


# --- a session that is kept -----------------------------------------------------------------------------------------------


def test_a_resumed_session_has_everything(world: World) -> None:
    """Subscription, credit, what is not accepted and what was published meanwhile."""
    client, session = filled(world, b"1", b"2", b"3")
    session.subscribe("q", "d").grant(2)
    world.run()
    first = client.take(TransferReceived)
    client.cut()
    assert queue_of(world.broker) == (1, 2)
    assert len(front(world.broker).sessions) == 1
    again = world.connect(server=KEEP)
    again.connection.resume(session)
    world.run()
    assert [event.resumed for event in again.all(SessionAttached)] == [True]
    assert again.all(TransferReceived) == []
    session.accept([event.id for event in first], sync=True)
    world.run()
    assert bodies(again) == [b"3"]  # the window has moved
    assert queue_of(world.broker) == (0, 1)


def test_what_was_lost_on_the_way_is_replayed(world: World) -> None:
    client, session = filled(world, b"1", b"2")
    session.subscribe("q", "d").grant(2)
    client.connection.data_to_send()  # the subscription itself is lost
    client.cut()
    again = world.connect(server=KEEP)
    again.connection.resume(session)
    world.run()
    assert bodies(again) == [b"1", b"2"]
    # and now deliveries that were sent and did not arrive
    session.publish(routing_key="q", body=b"3")
    again.peer.receive_data(again.connection.data_to_send())
    list(world.broker.events())
    again.peer.data_to_send()
    again.cut()
    third = world.connect(server=KEEP)
    third.connection.resume(session)
    world.run()
    session.complete(session._inbound.outstanding.freeze())
    world.run()
    assert bodies(third) == [b"3"]


def test_a_result_that_was_not_sent_is_sent_after_the_resumption(world: World) -> None:
    client, session = filled(world)
    asked = session.send(queue.Query("q"))
    client.peer.receive_data(client.connection.data_to_send())
    list(world.broker.events())
    client.cut()
    again = world.connect(server=KEEP)
    again.connection.resume(session)
    world.run()
    (result,) = again.all(ResultReceived)
    assert result.id == asked
    assert isinstance(result.value, QueueQueryResult)


def test_messages_wait_for_a_detached_session(world: World) -> None:
    client, session = filled(world)
    session.subscribe("q", "d").grant(5)
    world.run()
    client.cut()
    other, publisher = world.session(b"p")
    publisher.publish(routing_key="q", body=b"1")
    world.run()
    assert queue_of(world.broker) == (1, 0)
    again = world.connect(server=KEEP)
    again.connection.resume(session)
    world.run()
    assert bodies(again) == [b"1"]
    assert other.all(ExceptionReceived) == []


def test_a_kept_session_ends_with_its_time(world: World) -> None:
    world.tick(100.0)
    client = world.connect(server=ServerConfig(session_timeout=10))
    session = client.session(b"s", 10)
    done(client, session, queue.Declare("q"))
    session.publish(routing_key="q", body=b"1")
    session.subscribe("q", "d").grant(1)
    world.run()
    world.tick(1000.0)
    client.cut()
    assert queue_of(world.broker) == (0, 1)
    assert world.broker.tick(world.now) == world.now + 10
    world.tick(9.9)
    assert len(front(world.broker).sessions) == 1
    world.tick(0.1)
    assert front(world.broker).sessions == {}
    assert queue_of(world.broker) == (1, 0)
    again = world.connect(server=ServerConfig(session_timeout=10))
    again.connection.resume(session)
    world.run()
    assert [event.ended for event in again.all(SessionDetached)] == [True]  # the other side has no state of it


def test_the_client_may_ask_for_less(world: World) -> None:
    client = world.connect(server=KEEP)
    session = client.session(b"s", None)
    session.request_timeout(0)
    world.run()
    client.cut()
    assert front(world.broker).sessions == {}


# --- who has it -----------------------------------------------------------------------------------------------------------


def test_a_session_that_is_attached_is_busy(world: World) -> None:
    client, _ = filled(world)
    other = world.connect(server=KEEP)
    other.connection.session(b"s", None)
    world.run()
    (event,) = other.all(SessionDetached)
    assert event.code == 1
    assert client.all(SessionDetached) == []


def test_force_takes_it_from_another_connection(world: World) -> None:
    client, session = filled(world, b"1", b"2")
    session.subscribe("q", "d").grant(1)
    world.run()
    (first,) = client.take(TransferReceived)
    snapshot = session.snapshot()
    other = world.connect(server=KEEP)
    taken = other.connection.resume(snapshot, force=True)
    world.run()
    assert [(event.code, event.origin) for event in client.all(SessionDetached)] == [(1, Origin.PEER)]
    assert [event.resumed for event in other.all(SessionAttached)] == [True]
    taken.accept(first.id, sync=True)
    world.run()
    assert bodies(other) == [b"2"]
    assert queue_of(world.broker) == (0, 1)
    assert len(front(world.broker).sessions) == 1


def test_force_begins_anew_where_nobody_keeps_sessions(world: World) -> None:
    """Old clients attach again by force and begin at command 0."""
    client, session = world.session()
    done(client, session, queue.Declare("q"))
    session.publish(routing_key="q", body=b"1")
    session.subscribe("q", "d").grant(1)
    world.run()
    other = world.connect()
    again = other.connection.session(b"s", force=True)
    world.run()
    assert queue_of(world.broker) == (1, 0)
    assert [event.code for event in client.all(SessionDetached)] == [1]
    done(other, again, queue.Query("q"))


def test_force_on_the_same_connection(world: World) -> None:
    client, session = world.session()
    done(client, session, queue.Declare("q", exclusive=True, auto_delete=True))
    assert service(client.peer).holders[b"s"].session._channel is not None
    del client.connection._channels._named[b"s"]  # our client would not attach a name twice
    client.connection.session(b"s", force=True)
    world.run()
    assert len(service(client.peer).holders) == 1
    assert world.broker.host("").queues == {}
    assert len(front(world.broker).sessions) == 1


@pytest.mark.rule("session.attach.scoping")
def test_principals_and_virtual_hosts_are_kept_apart(world: World) -> None:
    """The same name under two identities, or on two virtual hosts, is two sessions."""
    clients = [user(world, "a"), user(world, "b"), user(world, "a", "other")]
    for client in clients:
        client.session(b"s", None)
    assert [len(client.all(SessionAttached)) for client in clients] == [1, 1, 1]
    assert sorted(front(world.broker).sessions) == [("", "a", b"s"), ("", "b", b"s"), ("other", "a", b"s")]
    clients[0].cut()
    stranger = user(world, "c")
    stranger.session(b"s", None)
    assert [event.resumed for event in stranger.all(SessionAttached)] == [False]


@pytest.mark.rule("message.message-properties.user-id.authentication")
def test_a_user_id_is_that_of_the_connection(world: World) -> None:
    client = user(world, "alice")
    session = client.session(b"s", 0)
    done(client, session, queue.Declare("q"))
    session.publish(routing_key="q", user_id=b"alice", body=b"1")
    world.run()
    assert queue_of(world.broker) == (1, 0)
    session.publish(routing_key="q", user_id=b"bob", body=b"2")
    world.run()
    (exception,) = client.all(ExceptionReceived)
    assert exception.error_code == 403
    assert queue_of(world.broker) == (1, 0)


# --- what waits for the journal -------------------------------------------------------------------------------------------


def test_completions_and_results_wait_for_the_journal(world: World) -> None:
    world = World(BrokerConfig(journal=True), world.chunk)
    client, session = world.session()
    declare = session.send(queue.Declare("q", durable=True), sync=True)
    world.run()
    assert client.all(CommandsCompleted) == []
    (entry,) = world.broker.journal()
    world.broker.journalled(entry.number)
    world.run()
    assert [declare in event.ids for event in client.take(CommandsCompleted)] == [True]
    session.subscribe("q", "d").grant(5)
    kept = session.publish(routing_key="q", body=b"kept", delivery_mode=DeliveryMode.PERSISTENT, sync=True)
    lost = session.publish(routing_key="q", body=b"lost", sync=True)
    world.run()
    completed = RangeSet()
    for event in client.take(CommandsCompleted):
        completed |= event.ids
    assert lost in completed
    assert kept not in completed
    assert bodies(client) == []
    world.broker.journalled(world.broker.journal()[-1].number)
    world.run()
    events = client.all(TransferReceived)
    assert [event.body for event in events] == [b"kept", b"lost"]
    assert any(kept in event.ids for event in client.all(CommandsCompleted))
    client.events.clear()
    accept = session.accept(events[0].id, sync=True)
    world.run()
    assert not any(accept in event.ids for event in client.all(CommandsCompleted))
    world.broker.journalled(world.broker.journal()[-1].number)
    world.run()
    assert any(accept in event.ids for event in client.all(CommandsCompleted))


def test_what_is_journalled_after_the_session_ended_reaches_nobody(world: World) -> None:
    world = World(BrokerConfig(journal=True), world.chunk)
    client, session = world.session()
    session.send(queue.Declare("q", durable=True), sync=True)
    world.run()
    client.cut()
    world.broker.journalled(world.broker.journal()[-1].number)
    assert world.broker.ready() == ()
    other, again = world.session(b"t")
    assert refused(other, again, queue.Declare("x", passive=True)).error_code == 404


def test_publishes_with_accept_mode_explicit_are_accepted(world: World) -> None:
    """By message.accept, which completes them; unroutable ones are rejected with code 1."""
    client, session = world.session()
    done(client, session, queue.Declare("q"))
    ids = [
        session.publish(routing_key=key, body=b"x", accept_mode=AcceptMode.EXPLICIT) for key in ("q", "q", "none", "q", "none")
    ]
    world.run()
    accepted, rejected = RangeSet(), RangeSet()
    for event in client.all(CommandReceived):
        if isinstance(event.command, message.Accept):
            accepted |= event.command.transfers or RangeSet()
        elif isinstance(event.command, message.Reject):
            assert event.command.code == 1
            rejected |= event.command.transfers or RangeSet()
    assert accepted == RangeSet.of(ids[0], ids[1], ids[3])
    assert rejected == RangeSet.of(ids[2], ids[4])
    assert not session.in_doubt


@pytest.mark.parametrize("cut", [True, False], ids=["detached", "attached elsewhere"])
def test_a_new_session_that_takes_the_name_of_a_kept_one_hears_why_it_ends(world: World, cut: bool) -> None:
    """The kept one has ended too: whoever attaches again begins anew."""
    first = world.connect(server=KEEP)
    done(first, first.session(b"s", 60), queue.Declare("q"))
    if cut:
        first.cut()
    other = world.connect(server=KEEP)
    other.session(b"s", force=True)
    (exception,) = other.all(ExceptionReceived)
    assert (exception.error_code, exception.description) == (
        409, "session cannot be resumed: the client has no state of this session: it is lost"
    )  # fmt: skip
    (detached,) = other.all(SessionDetached)
    assert (detached.ended, exception.description in detached.text) == (True, True)
    assert other.session(b"s").state == "attached"
