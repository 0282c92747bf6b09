"""What a session holds, on which connection it is, and what becomes of it."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from tests.broker.harness import Client, World, blurt, bodies, done, front, refused, service
from tests.broker.model import things
from tests.broker.restarts import JOURNAL, again, consume, declared, publish, resumed, say, stored

from amqp_sansio import ClientConfig, ServerConfig, Session
from amqp_sansio.broker.broker import Broker
from amqp_sansio.broker.config import BrokerConfig
from amqp_sansio.broker.fronts.sessions.holder import SessionConsumer, Since, Unsettled
from amqp_sansio.broker.model.message import Message
from amqp_sansio.broker.model.queue import Queue
from amqp_sansio.config import Accepted, Challenge, ErrorCodes, Profile, Rejected, ServerExchange
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
from amqp_sansio.limits import BrokerLimits, Limits
from amqp_sansio.spec import message, queue, tx
from amqp_sansio.spec.codes import AcceptMode, AcquireMode, DeliveryMode, ErrorCode, FlowMode
from amqp_sansio.spec.dtx import RecoverResult, Xid
from amqp_sansio.spec.message import Acquire, DeliveryProperties, Transfer
from amqp_sansio.spec.queue import QueueQueryResult
from amqp_sansio.spec.values import Value

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


def test_a_result_fits_into_a_frame_of_the_connection_that_the_session_is_on() -> None:
    world = World()
    client = world.connect(server=attrs.evolve(KEEP, max_frame_size=4096))
    client.session(b"s", None)
    world.run()
    (holder,) = front(world.broker).sessions.values()
    assert [holder.fits(RecoverResult([Xid(0, b"x" * 60, b"y" * 60)] * many)) for many in (1, 60)] == [True, False]
    client.cut()
    assert holder.fits(RecoverResult([Xid(0, b"x" * 60, b"y" * 60)] * 60))


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


ALL = RangeSet([(0, 0x7FFFFFF0)])


def taken(limits: BrokerLimits, messages: int) -> tuple[World, Client, Session, list[int]]:
    """A session with so many messages in an open transaction, and their ids."""
    world = World(BrokerConfig(limits=limits))
    client, session = world.session()
    done(client, session, queue.Declare("q"))
    for _ in range(messages):
        session.publish(routing_key="q", body=b"x")
    done(client, session, tx.Select())
    session.subscribe("q", "d").grant(messages)
    world.run()
    return world, client, session, [event.id for event in client.take(TransferReceived)]


@pytest.mark.parametrize("over", [-1, 0, 1])
def test_limit_transaction_messages_counts_what_was_rolled_back(over: int) -> None:
    world, client, session, ids = taken(BrokerLimits(transaction_messages=3), 3 + over)
    done(client, session, message.Accept(RangeSet.of(*ids[:2])))
    done(client, session, tx.Rollback())
    if over == 1:
        assert refused(client, session, message.Accept(RangeSet.of(*ids[2:]))).error_code == 506
        assert world.broker.host().queues["q"].available == 4
    else:
        done(client, session, message.Accept(ALL))
        done(client, session, tx.Commit())
        assert world.broker.host().queues["q"].messages == 0


def test_what_was_rolled_back_does_not_count_as_unaccepted() -> None:
    """The session gets more once it has accepted, as ever; a rollback takes no room from what came since."""
    world = World(BrokerConfig(limits=BrokerLimits(unaccepted_transfers=2)))
    client, session = world.session()
    done(client, session, queue.Declare("q"))
    for number in range(5):
        session.publish(routing_key="q", body=b"%d" % number)
    done(client, session, tx.Select())
    session.subscribe("q", "d").grant(100)
    world.run()
    ids = [event.id for event in client.take(TransferReceived)]
    assert len(ids) == 2
    done(client, session, message.Accept(RangeSet.of(*ids)))
    assert [event.body for event in client.take(TransferReceived)] == [b"2", b"3"]
    done(client, session, tx.Rollback())
    (holder,) = front(world.broker).sessions.values()
    assert (len(holder.unsettled), len(holder.provisional)) == (2, 2)
    done(client, session, message.Release(RangeSet.of(*ids)))
    assert (world.broker.host().queues["q"].available, client.take(TransferReceived)) == (3, [])
    client.cut()
    assert world.broker.host().queues["q"].available == 5


@pytest.mark.parametrize("old", [False, True])
def test_a_restart_knows_what_the_open_transaction_has_accepted(old: bool) -> None:
    """A snapshot of version 0.1 names no ids: there each that was kept was accepted."""
    world, client, session = declared(timeout=300)
    for number in range(3):
        publish(client, session, b"%d" % number)
    say(client, session, tx.Select())
    consume(client, session)
    ids = [event.id for event in client.take(TransferReceived)]
    say(client, session, message.Accept(RangeSet.of(ids[0])), tx.Rollback(), message.Accept(RangeSet.of(*ids[1:])))
    client.cut()
    snapshot = world.broker.snapshot()
    if old:
        sessions: Any = snapshot["sessions"]
        del sessions[0]["accepted"]
        then = World(broker=Broker.restore(snapshot, config=world.broker.config))
    else:
        then = again(world)
    client, session = resumed(then, session)
    say(client, session, tx.Commit())
    assert [entry.message.body for entry in then.broker.host().queues["q"].all()] == ([] if old else [b"0"])


def scene(world: World, count: int) -> tuple[Client, Session]:
    client, session = world.session()
    done(client, session, queue.Declare("q"))
    for number in range(count):
        session.publish(routing_key="q", body=b"%d" % number)
    world.run()
    client.events.clear()
    return client, session


def only(world: World) -> SessionConsumer:
    (holder,) = front(world.broker).sessions.values()
    (consumer,) = holder.consumers.values()
    return consumer


def test_no_more_than_the_limit_is_unsettled(world: World) -> None:
    for count, comes in ((2, 2), (3, 3), (4, 3)):
        world = World(BrokerConfig(limits=BrokerLimits(unaccepted_transfers=3)), world.chunk)
        client, session = scene(world, count)
        session.subscribe("q", "d").grant(10)
        world.run()
        events = client.take(TransferReceived)
        assert len(events) == comes
        session.accept(events[0].id)
        world.run()
        assert len(bodies(client)) == count - comes


def test_browsed_messages_count_as_unsettled_until_they_are_released(world: World) -> None:
    world = World(BrokerConfig(limits=BrokerLimits(unaccepted_transfers=3)), world.chunk)
    client, session = scene(world, 5)
    session.subscribe("q", "d", acquire_mode=AcquireMode.NOT_ACQUIRED).grant(10)
    world.run()
    events = client.take(TransferReceived)
    assert len(events) == 3
    session.release([event.id for event in events])
    world.run()
    assert bodies(client) == [b"3", b"4"]


def test_what_need_not_be_settled_is_not_limited(world: World) -> None:
    world = World(BrokerConfig(limits=BrokerLimits(unaccepted_transfers=1)), world.chunk)
    client, session = scene(world, 5)
    session.subscribe("q", "d", accept_mode=AcceptMode.NONE).grant(10)
    world.run()
    assert len(bodies(client)) == 5


def test_a_flush_does_not_wait_for_what_is_published_meanwhile() -> None:
    """A flush pushes out what is there when it comes: a publisher without an end does not keep it from completing."""
    world = World()
    client, session = scene(world, 3)
    subscription = session.subscribe("q", "d")
    subscription.grant(100)
    world.run()
    assert len(bodies(client)) == 3
    consumer = only(world)
    consumer.flush(99)  # of an empty queue
    message = front(world.broker).reception.read(Transfer("", 1), b"", b"x")
    entry = consumer.queue.put(message)
    assert consumer.queue.acquire(entry)
    assert not consumer.offer(entry)


def test_credit_that_was_granted_after_a_flush_is_used_when_that_is_done() -> None:
    world = World(BrokerConfig(limits=BrokerLimits(outbox_octets=1)))
    client, session = scene(world, 2)
    subscription = session.subscribe("q", "d")
    subscription.set_mode(FlowMode.CREDIT)
    subscription.grant(100)
    session.publish(routing_key="q", body=b"2")
    client.deaf = True
    flushed = subscription.flush()  # it is to push out what was there, for which there is no room in the outbox
    world.run()
    subscription.grant(2)
    session.publish(routing_key="q", body=b"3")
    world.run()
    client.deaf = False
    world.run()
    assert [event.body for event in client.all(TransferReceived)] == [b"0", b"1", b"2", b"3"]
    assert any(flushed in event.ids for event in client.all(CommandsCompleted))


def test_a_flush_completes_though_the_client_has_settled_too_little(world: World) -> None:
    """Whoever waits for the flush before it settles anything would wait for ever."""
    world = World(BrokerConfig(limits=BrokerLimits(unaccepted_transfers=2)), world.chunk)
    client, session = scene(world, 4)
    subscription = session.subscribe("q", "d")
    subscription.set_mode(FlowMode.CREDIT)
    subscription.grant(100)
    world.run()
    first, second = client.take(TransferReceived)
    flushed = subscription.flush()
    world.run()
    assert any(flushed in event.ids for event in client.all(CommandsCompleted))
    session.accept([first.id, second.id])
    world.run()
    assert not client.all(TransferReceived)  # the credit is gone
    subscription.grant(1)
    world.run()
    assert bodies(client) == [b"2"]


def test_a_flush_that_replay_holds_up_pushes_out_all_that_was_there() -> None:
    """Nothing more can be kept for replay: the flush waits until the client has confirmed some of it."""
    world = World()
    client = world.connect(server=ServerConfig(limits=Limits(replay_commands=2), session_timeout=None))
    session = client.session(timeout=None)
    done(client, session, queue.Declare("q"))
    for number in range(5):
        session.publish(routing_key="q", body=b"%d" % number)
    subscription = session.subscribe("q", "d", accept_mode=AcceptMode.NONE)
    subscription.set_mode(FlowMode.CREDIT)
    subscription.grant(100)
    flushed = subscription.flush()
    world.run()
    world.tick()
    assert any(flushed in event.ids for event in client.all(CommandsCompleted))
    assert bodies(client) == [b"0", b"1", b"2", b"3", b"4"]  # its completions make room again and again
    assert world.broker.due is None


def test_a_message_that_is_acquired_for_good_makes_room_for_another(world: World) -> None:
    world = World(BrokerConfig(limits=BrokerLimits(unaccepted_transfers=2)), world.chunk)
    client, session = scene(world, 4)
    session.subscribe("q", "d", accept_mode=AcceptMode.NONE, acquire_mode=AcquireMode.NOT_ACQUIRED).grant(10)
    client.deaf = True
    client.peer.receive_data(client.connection.data_to_send())
    list(world.broker.events())
    (holder,) = front(world.broker).sessions.values()
    shown = list(holder.unsettled)
    assert len(shown) == 2
    client.peer.data_to_send()  # lost on the way: they are not complete
    blurt(session, Acquire(RangeSet.of(*shown)))
    client.peer.receive_data(client.connection.data_to_send())
    list(world.broker.events())
    assert len(holder.unsettled) == 2
    assert not set(shown) & set(holder.unsettled)


def test_a_flush_completes_when_its_subscription_is_cancelled(world: World) -> None:
    world = World(chunk=world.chunk)
    client = world.connect(server=ServerConfig(limits=Limits(replay_commands=1), session_timeout=None))
    session = client.session(timeout=None)
    done(client, session, queue.Declare("q"))
    for number in range(3):
        session.publish(routing_key="q", body=b"%d" % number)
    subscription = session.subscribe("q", "d")
    subscription.grant(10)
    flush = subscription.flush(sync=True)  # no more can be kept for replay
    world.run()
    assert not any(flush in event.ids for event in client.all(CommandsCompleted))
    subscription.cancel()
    session.sync()
    world.run()
    assert any(flush in event.ids for event in client.all(CommandsCompleted))


def test_able_tells_whether_a_message_could_be_had_at_once(world: World) -> None:
    client, session = scene(world, 0)
    subscription = session.subscribe("q", "d")
    world.run()
    consumer = only(world)
    message = front(world.broker).reception.read(Transfer("", 1), b"", b"12345")
    assert not consumer.able(message)
    subscription.grant(1, message.size - 1)
    world.run()
    assert not consumer.able(message)
    subscription.grant(0, 1)
    world.run()
    assert consumer.able(message)
    client.cut()
    assert not consumer.able(message)


def test_octets_may_be_those_of_the_body_alone(world: World) -> None:
    client = world.connect(server=ServerConfig(profile=Profile(octets="body")))
    session = client.session()
    done(client, session, queue.Declare("q"))
    session.subscribe("q", "d").grant(2, 5)
    session.publish("", DeliveryProperties(routing_key="q"), body=b"12345")
    world.run()
    assert bodies(client) == [b"12345"]


def test_what_cannot_be_kept_for_replay_waits_for_completions() -> None:
    """A session that outlives its connection keeps what it said: deliveries stop there and go on."""
    world = World()
    client = world.connect(server=ServerConfig(session_timeout=None, limits=Limits(replay_commands=5)))
    session = client.session(b"s", None)
    done(client, session, queue.Declare("q"))
    for number in range(12):
        session.publish(routing_key="q", body=b"%d" % number)
    session.subscribe("q", "d", accept_mode=AcceptMode.NONE).grant(100)
    client.deaf = True
    world.run()
    assert world.broker.host("").queues["q"].available == 7
    client.deaf = False
    world.run()
    assert len(bodies(client)) == 12


def test_a_queue_that_is_deleted_makes_room_for_subscribers(world: World) -> None:
    """What counts for limits.subscribers is what subscribes now."""
    world = World(BrokerConfig(limits=BrokerLimits(subscribers=1)), world.chunk)
    for _ in range(3):
        client, session = world.session()
        done(client, session, queue.Declare("q"))
        session.subscribe("q", "d")
        world.run()
        (host,) = world.broker._hosts.values()
        assert host.subscribers == 1
        other, deleting = world.session(b"other")
        done(other, deleting, queue.Delete("q"))
        assert host.subscribers == 0
        client.cut()
        other.cut()


def test_a_subscription_with_a_selector_gets_what_it_selects(world: World) -> None:
    client, session = world.session()
    done(client, session, queue.Declare("q"))
    session.subscribe("q", "red", arguments={"x-filter-jms-selector": "color = 'red' AND JMSPriority > 3"}).grant(10)
    session.subscribe("q", "rest", arguments={"x-apache-selector": "color IS NULL OR color <> 'red'"}).grant(10)
    for number, color in enumerate(("red", "blue", None, "red")):
        headers = {} if color is None else {"color": color}
        session.publish(routing_key="q", application_headers=headers, priority=number + 3, body=b"%d" % number)
    world.run()
    got = {(event.transfer.destination, event.body) for event in client.take(TransferReceived)}
    assert got == {("rest", b"1"), ("rest", b"2"), ("red", b"3")}  # the first red one has priority 3: nobody selects it


def test_a_selector_that_cannot_be_read_is_refused_with_the_place(world: World) -> None:
    client, session = world.session()
    done(client, session, queue.Declare("q"))
    session.subscribe("q", "d", arguments={"x-apache-selector": "color = "})
    world.run()
    (refused,) = client.take(ExceptionReceived)
    assert refused.error_code == 531
    assert "x-apache-selector" in refused.description
    assert "at character 9" in refused.description


@pytest.mark.parametrize("text", ["", " \t"])
def test_an_empty_selector_is_none(world: World, text: str) -> None:
    client, session = scene(world, 3)
    session.subscribe("q", "d", arguments={"x-filter-jms-selector": text}).grant(10)
    world.run()
    assert not only(world).selective
    assert len(bodies(client)) == 3


def test_a_selector_is_text(world: World) -> None:
    client, session = world.session()
    done(client, session, queue.Declare("q"))
    session.subscribe("q", "d", arguments={"x-apache-selector": 5})
    world.run()
    (refused,) = client.take(ExceptionReceived)
    assert "must be text" in refused.description


@pytest.mark.parametrize(("codes", "code"), [("qpid", 531), ("spec", 540)])
def test_an_argument_that_nobody_knows_is_refused_by_name_and_a_hint_is_taken(codes: ErrorCodes, code: int) -> None:
    world = World(BrokerConfig(error_codes=codes))
    client, session = world.session()
    done(client, session, queue.Declare("q"))
    for name in ("d", "e"):
        session.subscribe("q", name, arguments={"qpid.sync_frequency": 5}).grant(1)
    session.publish(routing_key="q", body=b"1")
    world.run()
    assert bodies(client) == [b"1"]
    assert [hint.argument for hint in world.broker.hints.take()] == ["qpid.sync_frequency"]
    session.subscribe("q", "f", arguments={"x-filter-no-consume": True, "x-multiqueue": "a"})
    world.run()
    (refused,) = client.take(ExceptionReceived)
    assert (refused.error_code, "'x-multiqueue'" in refused.description) == (code, True)
    assert world.broker.hints.take() == (), "it did not come to that"


NOT_LOCAL: dict[str, Value] = {"x-qpid-no-local": True}


@pytest.mark.parametrize("acquire_mode", [0, 1])
def test_a_subscription_that_is_not_local_gets_nothing_of_its_own_connection(world: World, acquire_mode: int) -> None:
    client, session = world.session()
    done(client, session, queue.Declare("q"))
    more = NOT_LOCAL | {"x-apache-selector": "JMSPriority < 9"}
    session.subscribe("q", "d", acquire_mode=AcquireMode(acquire_mode), arguments=NOT_LOCAL).grant(10)
    session.subscribe("q", "e", acquire_mode=AcquireMode.NOT_ACQUIRED, arguments=more).grant(10)
    other, theirs = world.session(b"other")
    for who, body in ((session, b"own"), (theirs, b"foreign"), (client.session(b"sibling"), b"sibling"), (theirs, b"last")):
        who.publish(routing_key="q", body=body)
        world.run()
    got = {(event.transfer.destination, event.body) for event in client.take(TransferReceived)}
    assert got == {(name, body) for name in "de" for body in (b"foreign", b"last")}
    theirs.subscribe("q", "d", arguments=NOT_LOCAL).grant(10)
    world.run()
    assert bodies(other) == [b"own", b"sibling"]
    session.subscribe("q", "local", arguments={"x-qpid-no-local": False}).grant(10)
    session.publish(routing_key="q", body=b"mine")
    world.run()
    assert b"mine" in [event.body for event in (*client.take(TransferReceived), *other.take(TransferReceived))]


def test_what_came_before_a_restart_is_nobodys_own() -> None:
    world, client, session = declared(timeout=300)
    publish(client, session, b"before")
    session.subscribe("q", "d", arguments=NOT_LOCAL).grant(10)
    world.run()
    assert bodies(client) == []
    client.cut()
    then = again(world)
    client, session = resumed(then, session)
    publish(client, session, b"own")
    assert bodies(client) == [b"before"]


def replay(session: Session, destination: str, seconds: int, acquire_mode: int = 0) -> None:
    session.subscribe(
        "q", destination, acquire_mode=AcquireMode(acquire_mode), arguments={"x-qpid-replay-period": seconds}
    ).grant(10)


@pytest.mark.parametrize("acquire_mode", [0, 1])
def test_a_subscription_with_a_replay_period_gets_what_arrived_since_then(world: World, acquire_mode: int) -> None:
    client, session = world.session()
    done(client, session, queue.Declare("q"))
    for moment in (100.0, 10.0, 10.0):
        world.tick(moment)
        session.publish(routing_key="q", body=b"%g" % world.now)
        world.run()
    world.tick(5.0)
    replay(session, "d", 15, acquire_mode)  # since 110, which is what it wants too
    world.run()
    assert bodies(client) == [b"110", b"120"]
    world.tick(1000.0)
    session.publish(routing_key="q", body=b"later")
    world.run()
    assert bodies(client) == [b"later"], "the moment is that of message.subscribe"
    kept = world.broker.host().queues["q"].available
    assert kept == (1 if acquire_mode == 0 else 4)
    session.subscribe("q", "e", acquire_mode=AcquireMode.NOT_ACQUIRED).grant(10)
    world.run()
    assert bodies(client)[0] == b"100", "it stays for the others"


def test_a_replay_period_of_no_seconds_begins_at_the_end_of_the_queue(world: World) -> None:
    client, session = scene(world, 2)
    session.subscribe("q", "taker").grant(1)
    world.run()
    (taken,) = client.take(TransferReceived)
    replay(session, "d", 0)  # nobody has said what time it is
    world.run()
    assert bodies(client) == []
    session.publish(routing_key="q", body=b"new")
    world.run()
    assert bodies(client) == [b"new"]
    session.release([taken.id])
    world.run()
    assert [event.transfer.destination for event in client.take(TransferReceived)] == ["taker"], "it comes back to its place"


def test_a_replay_period_goes_with_a_selector(world: World) -> None:
    client, session = world.session()
    done(client, session, queue.Declare("q"))
    for number, seconds in enumerate((100.0, 10.0, 0.0)):
        world.tick(seconds)
        session.publish(routing_key="q", body=b"%d" % number, application_headers={"n": number})
        world.run()
    session.subscribe("q", "d", arguments={"x-qpid-replay-period": 5, "x-apache-selector": "n <> 1"}).grant(10)
    world.run()
    assert bodies(client) == [b"2"]


def test_an_immediate_message_counts_on_a_subscription_with_a_replay_period(world: World) -> None:
    client, session = world.session()
    done(client, session, queue.Declare("q"))
    world.tick(100.0)
    replay(session, "d", 0)
    world.run()
    session.publish(routing_key="q", body=b"now", immediate=True)
    world.run()
    assert bodies(client) == [b"now"]


@pytest.mark.parametrize("seconds", [0, 5])
def test_a_kept_subscription_goes_on_from_the_same_moment(seconds: int) -> None:
    world, client, session = declared(attrs.evolve(JOURNAL, epoch=1000.0), timeout=300)
    world.tick(100.0)
    publish(client, session, b"old")
    world.tick(50.0)
    replay(session, "d", seconds)
    world.run()
    assert bodies(client) == []
    client.cut()
    then = again(world, config=attrs.evolve(world.broker.config, epoch=1160.0 - 7.0))
    then.tick(7.0)  # ten seconds later
    client, session = resumed(then, session)
    publish(client, session, b"new")
    assert bodies(client) == ([b"new"] if seconds == 0 else [b"old", b"new"])
    (holder,) = front(then.broker).sessions.values()
    (consumer,) = holder.consumers.values()
    assert consumer.since is not None
    assert consumer.since.moment == 7.0 - 10.0 - seconds


def test_what_was_there_before_a_restart_arrived_with_it(world: World) -> None:
    before, client, session = declared()
    publish(client, session, b"before")
    client.cut()
    then = again(before)
    then.tick(1000.0)
    client, session = then.session()
    stored(then)
    replay(session, "now", 0, 1)
    replay(session, "d", 10, 1)
    then.run()
    assert [event.transfer.destination for event in client.take(TransferReceived)] == ["d"]
    session.send(message.Cancel("d"))
    then.tick(11.0)
    replay(session, "e", 10, 1)
    then.run()
    assert bodies(client) == []


def test_a_released_message_comes_again_to_a_subscription_that_selects_it(world: World) -> None:
    client, session = scene(world, 3)
    session.subscribe("q", "d", arguments={"x-filter-jms-selector": "JMSRedelivered = FALSE"}).grant(10)
    session.subscribe("q", "again", arguments={"x-filter-jms-selector": "JMSRedelivered"}).grant(10)
    world.run()
    events = client.take(TransferReceived)
    assert [event.transfer.destination for event in events] == ["d"] * 3
    session.release([events[1].id], set_redelivered=True)
    world.run()
    (event,) = client.take(TransferReceived)
    assert (event.transfer.destination, event.body) == ("again", b"1")


def test_it_may_be_acquired_later_and_is_settled_as_it_was_sent() -> None:
    entry = Queue("q").put(things.message())
    record = Unsettled(entry, False, True)
    assert not record.acquired
    record.acquired = True
    assert (record.entry, record.acquired, record.explicit) == (entry, True, True)
    with pytest.raises(AttributeError):
        record.other = 1  # type: ignore[attr-defined]  # there are many of them: they hold nothing else


def arrived(moment: float, number: int = 1) -> Message:
    return Message(number, things.message().envelope, b"", arrived=moment)


@pytest.mark.parametrize(
    ("moment", "began", "wanted"),
    [(9.5, 0.0, False), (10.0, 0.0, True), (11.0, 0.0, True), (0.0, 9.5, False), (0.0, 10.0, True)],
)
def test_what_arrived_then_or_later(moment: float, began: float, wanted: bool) -> None:
    assert Since(10.0).wants(arrived(moment), began) is wanted


@pytest.mark.parametrize(("number", "wanted"), [(6, False), (7, False), (8, True)])
def test_nothing_up_to_the_number(number: int, wanted: bool) -> None:
    assert Since(10.0, 7).wants(arrived(10.0, number), 0.0) is wanted
