"""Sessions that outlive the broker."""

from __future__ import annotations

import pytest
from tests.broker.harness import Client, World, bodies, front
from tests.broker.restarts import JOURNAL, KEEP, XID, again, consume, declared, publish, resumed, say, stored

from amqp_sansio import ClientConfig, ClientConnection, RangeSet, Session
from amqp_sansio.broker.broker import Broker
from amqp_sansio.broker.journal import Entry, Opened, SessionLeft
from amqp_sansio.events import CommandsCompleted, ExceptionReceived, ResultReceived, SessionAttached, TransferReceived
from amqp_sansio.spec import dtx, message, queue, tx
from amqp_sansio.spec.codes import XaStatus
from amqp_sansio.spec.dtx import XaResult
from amqp_sansio.spec.message import DeliveryProperties
from amqp_sansio.spec.values import Map, Value


def attached(session: Session) -> bool:
    """Whether it may be spoken on."""
    return session._speaks


def test_a_session_that_is_kept_goes_on_with_all_that_it_held() -> None:
    world, client, session = declared(timeout=300)
    for number in range(3):
        publish(client, session, b"%d" % number)
        publish(client, session, b"t%d" % number, "t", persistent=False)
    say(client, session, message.Subscribe("q", "d", 0, 0), message.Flow("d", 0, 2), message.Flow("d", 1, 0xFFFFFFFF))
    say(client, session, message.Subscribe("t", "e", 0, 0), message.Flow("e", 0, 1), message.Flow("e", 1, 0xFFFFFFFF))
    say(client, session, queue.Declare("own", exclusive=True))
    got = client.take(TransferReceived)
    assert [event.body for event in got] == [b"0", b"1", b"t0"]
    client.cut()
    then = again(world)
    host = then.broker.host()
    assert sorted(host.queues) == ["own", "q", "t"]
    assert [(host.queues[name].available, host.queues[name].acquired) for name in ("q", "t")] == [(1, 2), (2, 1)]
    client, session = resumed(then, session)
    assert [type(event) for event in client.events if isinstance(event, SessionAttached)] == [SessionAttached]
    assert bodies(client) == []
    say(client, session, message.Accept(RangeSet.of(got[0].id)), message.Release(RangeSet.of(got[1].id)))
    say(client, session, message.Flow("d", 0, 5), message.Flow("e", 0, 5))
    again_got = client.take(TransferReceived)
    assert sorted(event.body for event in again_got) == [b"1", b"2", b"t1", b"t2"]
    assert host.queues["own"].owner is not None
    world_two = then.connect()
    other = world_two.session(b"other")
    other.send(queue.Delete("own"))
    then.run()
    assert "own" in host.queues


def test_what_a_subscription_asked_for_is_kept() -> None:
    world, client, session = declared(timeout=300)
    wanted: dict[str, Value] = {
        "x-priority": 7,
        "x-apache-selector": "JMSPriority > 4",
        "x-qpid-no-local": True,
        "x-qpid-replay-period": 9,
    }
    say(client, session, message.Subscribe("q", "d", arguments=Map(wanted)), message.Subscribe("q", "e"))
    client.cut()
    then = again(world)
    (holder,) = front(then.broker).sessions.values()
    told = {
        name: (each.priority, each.selector and each.selector.text, each.no_local, each.since and each.since.moment)
        for name, each in holder.consumers.items()
    }
    assert told == {"d": (7, "JMSPriority > 4", True, -9.0), "e": (0, None, False, None)}


def test_the_transaction_of_a_kept_session_goes_on() -> None:
    world, client, session = declared(timeout=300)
    publish(client, session, b"before")
    say(client, session, tx.Select())
    consume(client, session)
    (got,) = client.take(TransferReceived)
    say(client, session, message.Accept(RangeSet.of(got.id)))
    publish(client, session, b"in the transaction")
    client.cut()
    then = again(world)
    client, session = resumed(then, session)
    assert [entry.message.body for entry in then.broker.host().queues["q"].all()] == [b"before"]
    say(client, session, tx.Commit())
    assert bodies(client) == [b"in the transaction"]
    assert then.broker.host().queues["q"].messages == 1


def test_what_waited_for_the_journal_is_done_when_the_snapshot_has_it() -> None:
    world, client, session = declared(timeout=300)
    session.send(queue.Declare("a", durable=True))
    session.send(message.Transfer("", 0, 0), DeliveryProperties(routing_key="q", delivery_mode=2), body=b"explicit")
    session.send(message.Transfer("", 1, 0), DeliveryProperties(routing_key="q", delivery_mode=2), body=b"none")
    session.send(dtx.Select())
    session.send(dtx.Start(XID))
    session.send(message.Transfer("", 1, 0), DeliveryProperties(routing_key="q", delivery_mode=2), body=b"in the branch")
    session.send(dtx.End(XID))
    prepare = session.send(dtx.Prepare(XID))
    world.run()
    client.events.clear()
    client.cut()
    then = again(world)
    client, session = resumed(then, session)
    completed = RangeSet()
    for event in client.all(CommandsCompleted):
        completed |= event.ids
    assert prepare in completed
    assert [(event.id, event.value) for event in client.all(ResultReceived)] == [(prepare, XaResult(XaStatus.XA_OK))]
    assert not session._outbound.outstanding
    assert then.broker.host().queues["q"].available == 2


def test_a_session_that_went_on_after_the_snapshot_is_not_restored_from_it() -> None:
    world, client, session = declared(timeout=300)
    publish(client, session, b"one")
    publish(client, session, b"two", "t", persistent=False)
    consume(client, session)
    say(client, session, message.Subscribe("t", "e", 0, 0))
    client.cut()
    snapshot = world.broker.snapshot()
    assert len(snapshot["sessions"]) == 1  # type: ignore[arg-type]
    connection = ClientConnection(ClientConfig())
    world.clients.append(Client(world, connection, world.broker.connect(KEEP)))
    world.run()
    connection.resume(session)
    world.run()
    assert attached(session) is False  # before that is journalled it does not go on
    entries = stored(world)
    assert attached(session)
    (identity,) = {each["identity"] for each in snapshot["sessions"]}  # type: ignore[attr-defined]
    assert [each for entry in entries for each in entry.operations] == [Opened(""), SessionLeft("", identity, b"s")]
    then = Broker.restore(snapshot, entries, config=JOURNAL)
    assert front(then).sessions == {}
    host = then.host()
    assert list(host.queues) == ["q"]
    assert [(entry.redelivered, host.queues["q"].acquired) for entry in host.queues["q"].all()] == [(True, 0)]


def test_a_session_at_work_on_a_branch_is_not_kept() -> None:
    world, client, session = declared(timeout=300)
    say(client, session, dtx.Select(), dtx.Start(XID))
    publish(client, session, b"in the branch")
    client.cut()
    then = again(world)
    assert (front(then.broker).sessions, then.broker.host().queues["q"].messages) == ({}, 0)


@pytest.mark.parametrize("again_declared", [False, True])
@pytest.mark.rule("message.subscribe.queue-deletion")
def test_a_session_whose_queue_was_deleted_hears_of_it(again_declared: bool) -> None:
    world, client, session = declared(timeout=300)
    consume(client, session)
    client.cut()
    snapshot = world.broker.snapshot()
    world.broker.host().delete_queue("q")
    if again_declared:
        world.broker.host().declare_queue("q", durable=True)
    then = World(broker=Broker.restore(snapshot, stored(world), config=JOURNAL))
    client, session = resumed(then, session)
    assert [event.error_code for event in client.all(ExceptionReceived)] == [408]


@pytest.mark.rule("message.subscribe.queue-deletion")
def test_a_session_whose_queue_was_deleted_while_it_was_away_hears_of_it_from_another_broker() -> None:
    """What a session is to be told when it comes back is kept with it, and names no command where it is about none."""
    world, client, session = declared(timeout=300)
    consume(client, session)
    client.cut()
    world.broker.host().delete_queue("q")
    world.run()
    then = again(world)
    client, session = resumed(then, session)
    assert [(event.error_code, event.id) for event in client.all(ExceptionReceived)] == [(408, None)]


def test_a_kept_session_ends_in_its_time() -> None:
    world, client, _ = declared(timeout=10)
    client.cut()
    then = again(world)
    assert len(front(then.broker).sessions) == 1
    assert then.broker.tick(100.0) == 110.0
    then.broker.tick(110.0)
    assert front(then.broker).sessions == {}


def _attaching(world: World, session: Session) -> tuple[Client, Session]:
    """The client of before on a new connection, its attach said; nothing is journalled."""
    connection = ClientConnection(ClientConfig())
    client = Client(world, connection, world.broker.connect(KEEP))
    world.clients.append(client)
    world.run()
    session = connection.resume(session, force=True)
    world.run()
    return client, session


def test_what_a_kept_transaction_committed_after_the_snapshot_is_restored() -> None:
    """Found by simulation: the snapshot and the commit both have the messages, and the broker did not start."""
    world, client, session = declared(timeout=300)
    say(client, session, tx.Select())
    publish(client, session, b"one")
    client.cut()
    snapshot = world.broker.snapshot()
    client, session = _attaching(world, session)
    entries = [*stored(world)]
    session.tx.commit()
    world.run()
    entries += stored(world)
    then = Broker.restore(snapshot, entries, config=JOURNAL)
    assert [entry.message.body for entry in then.host().queues["q"].all()] == [b"one"]


def test_a_kept_session_goes_on_once_it_is_journalled_that_it_left_the_snapshot() -> None:
    """Found by simulation: a crash before that brought the session back as it had been, and what was said since was lost."""
    world, client, session = declared(timeout=300)
    publish(client, session, b"one")
    client.cut()
    world.broker.snapshot()
    client, session = _attaching(world, session)
    assert attached(session) is False
    stored(world)
    assert attached(session)
    publish(client, session, b"two")
    assert [entry.message.body for entry in world.broker.host().queues["q"].all()] == [b"one", b"two"]


def test_another_connection_does_not_get_it_earlier() -> None:
    world, client, session = declared(timeout=300)
    client.cut()
    world.broker.snapshot()
    first, session = _attaching(world, session)
    first.cut()
    assert session.state == "detached"
    second, session = _attaching(world, session)
    assert attached(session) is False
    stored(world)
    assert attached(session)
    assert world.broker.peers == (second.peer,)


def test_a_waiting_session_may_leave() -> None:
    world, client, session = declared(timeout=300)
    client.cut()
    world.broker.snapshot()
    client, session = _attaching(world, session)
    client.cut()
    stored(world)
    assert [holder.session.state for holder in front(world.broker).sessions.values()] == ["detached"]
    assert world.broker.peers == ()


def test_whatever_was_delivered_is_marked_wherever_the_journal_ends() -> None:
    """Behind a snapshot of an idle broker nothing is delivered before it is stored that somebody has come.

    However many entries were stored when it crashes, the next broker marks as redelivered what a client may have had.
    """
    world, client, session = declared()
    for number in range(3):
        publish(client, session, b"%d" % number)
    client.cut()
    snapshot = world.broker.snapshot()
    then = World(broker=Broker.restore(snapshot, config=JOURNAL))
    other = then.connect()
    fresh = other.session(b"fresh")
    kept: list[Entry] = []
    said, had = False, set[bytes]()
    for _ in range(4):
        then.run()
        if fresh._speaks and not said:
            said = True
            for command in (message.Subscribe("q", "d", 0, 0), message.Flow("d", 0, 9), message.Flow("d", 1, 0xFFFFFFFF)):
                fresh.send(command)
            then.run()
        had = {event.body for event in other.all(TransferReceived)}
        after = Broker.restore(snapshot, kept, config=JOURNAL).host().queues["q"].all()
        assert not had & {entry.message.body for entry in after if not entry.redelivered}
        kept += stored(then)
    assert len(had) == 3
    assert kept[0].operations == (Opened(""),)


def test_a_session_that_went_on_after_a_restart_is_not_restored_from_the_snapshot_again() -> None:
    """A broker that was restored knows what is in the snapshot that it came from: who leaves it leaves it for good."""
    world, client, session = declared(timeout=300)
    client.cut()
    snapshot = world.broker.snapshot()
    then = World(broker=Broker.restore(snapshot, config=JOURNAL))
    connection = ClientConnection(ClientConfig())
    then.clients.append(Client(then, connection, then.broker.connect(KEEP)))
    then.run()
    connection.resume(session)
    then.run()
    entries = stored(then)
    assert attached(session)
    assert front(Broker.restore(snapshot, entries, config=JOURNAL)).sessions == {}


def test_a_queue_of_nobody_is_nobodys_when_a_session_is_kept() -> None:
    """A session that is kept owns its exclusive queues, and no others that are there."""
    world, _, _ = declared(timeout=300)
    world.clients[0].cut()
    host = again(world).broker.host()
    assert {name: each.owner for name, each in host.queues.items()} == {"q": None}


def test_what_a_session_had_that_is_not_kept_comes_marked() -> None:
    """Found by simulation: a broker that was stopped while nobody was connected, but a session was kept that it cannot keep."""
    world, client, session = declared(timeout=300)
    publish(client, session, b"had")
    publish(client, session, b"new")
    say(client, session, dtx.Select(), dtx.Start(XID), message.Subscribe("q", "d", 0, 0))
    say(client, session, message.Flow("d", 0, 1), message.Flow("d", 1, 0xFFFFFFFF))
    assert [event.body for event in client.take(TransferReceived)] == [b"had"]
    client.cut()
    then = again(world)
    assert front(then.broker).sessions == {}
    assert [(each.message.body, each.redelivered) for each in then.broker.host().queues["q"].all()] == [
        (b"had", True), (b"new", False),
    ]  # fmt: skip


def test_what_was_accepted_in_a_prepared_branch_does_not_come_back_with_a_queue_that_is_kept() -> None:
    """Found by simulation: the queue is transient, so that the branch forgets the accept; the message is gone all the same."""
    world, client, session = declared(timeout=300)
    publish(client, session, b"one", "t")
    publish(client, session, b"two", "t")
    say(client, session, dtx.Select(), dtx.Start(XID))
    consume(client, session, "t")
    (first, _) = client.take(TransferReceived)
    say(client, session, message.Accept(RangeSet.of(first.id)), dtx.End(XID), dtx.Prepare(XID))
    client.cut()
    then = again(world)
    assert [each.message.body for each in then.broker.host().queues["t"].all()] == [b"two"]
