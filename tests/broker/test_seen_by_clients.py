"""What clients see of the broker, through octets: the tables of the model, with inputs of their own."""

from __future__ import annotations

from typing import Any, Final

import pytest
from tests.broker.harness import Client, World, blurt, done, front, on, put, refused, scene

from amqp_sansio import Session
from amqp_sansio.broker.broker import Broker
from amqp_sansio.broker.config import BrokerConfig
from amqp_sansio.broker.encoding import decode_entry, encode_entry
from amqp_sansio.broker.fronts.sessions.commands import queue_result
from amqp_sansio.broker.snapshot import decode_snapshot, encode_snapshot
from amqp_sansio.events import CommandReceived, CommandsCompleted, ExceptionReceived, ResultReceived, TransferReceived
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec import dtx, exchange, message, queue, tx
from amqp_sansio.spec.codes import AcceptMode, AcquireMode, FlowMode, RejectCode
from amqp_sansio.spec.dtx import Xid
from amqp_sansio.spec.values import Map

INFINITE: Final = 0xFFFFFFFF


# --- headers --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "headers", "matches"),
    [
        ({"x-match": "any", "a": None, "b": 7}, {"a": "whatever"}, True),
        ({"x-match": "any", "a": None, "b": 7}, {"b": 7}, True),
        ({"x-match": "any", "a": None, "b": 7}, {"b": 8}, False),
        ({"x-match": "any", "a": None, "b": 7}, {"b": "7"}, False),
        ({"x-match": "any", "a": None, "b": 7}, {"c": None}, False),
        ({"x-match": "any", "a": None}, {"a": None}, True),
        ({"x-match": "any", "a": 1.5, "b": True}, {"b": True}, True),
        ({"x-match": "any", "a": 1.5, "b": True}, {"b": 1}, False),
        ({"x-match": "any", "a": 1.5, "b": True}, {"a": 1.5, "b": False}, True),
        ({"x-match": "all", "a": None, "b": 7}, {"a": b"x", "b": 7, "c": 1}, True),
        ({"x-match": "all", "a": None, "b": 7}, {"b": 7}, False),
        ({"x-match": "all", "a": "é", "b": -1}, {"a": "é", "b": -1}, True),
        ({"x-match": "all", "a": Map({"n": 1})}, {"a": Map({"n": 1})}, True),
        ({"x-match": "all", "a": Map({"n": 1})}, {"a": Map({"n": 2})}, False),
        ({"x-match": b"any", "a": 1}, {"a": 1}, True),
        ({"x-match": "all"}, {}, True),
        ({"x-match": "any"}, {"a": 1}, False),
    ],
)
def test_headers(arguments: dict[str, Any], headers: dict[str, Any], matches: bool) -> None:
    world = World()
    client, session = scene(world)
    done(client, session, exchange.Bind("q", "amq.match", "k", arguments))
    session.publish("amq.match", body=b"1", application_headers=headers)
    session.publish("amq.headers", body=b"2", application_headers=headers)
    world.run()
    assert on(world) == ([b"1", b"2"] if matches else [])


# --- release and order ----------------------------------------------------------------------------------------------------


def test_released_messages_come_back_in_order_before_new_ones_and_after_those_of_higher_priority() -> None:
    world = World()
    client, session = scene(world)
    put(client, session, *[b"%d" % n for n in range(10)])
    subscription = session.subscribe("q", "d")
    subscription.grant(10)
    world.run()
    ids = [event.id for event in client.take(TransferReceived)]
    subscription.stop()
    put(client, session, b"fresh")
    put(client, session, b"urgent", priority=9)
    put(client, session, b"idle", priority=0)
    session.release([ids[n] for n in (8, 9, 1, 2, 5)], set_redelivered=True)
    session.release([ids[0], ids[4]])
    other, yours = world.session(b"other")
    yours.subscribe("q", "x", accept_mode=AcceptMode.NONE).grant(100)
    world.run()
    got = [(e.body, bool(e.delivery_properties and e.delivery_properties.redelivered)) for e in other.all(TransferReceived)]
    assert [body for body, _ in got] == [b"urgent", b"0", b"1", b"2", b"4", b"5", b"8", b"9", b"fresh", b"idle"]
    assert {body for body, again in got if again} == {b"1", b"2", b"5", b"8", b"9"}
    assert sorted(on(world)) == [b"3", b"6", b"7"]


# --- acquisition ----------------------------------------------------------------------------------------------------------


def acquired(client: Client, session: Session, ids: Any) -> list[int]:
    client.events.clear()
    id = session.acquire(ids)
    client.world.run()
    (result,) = [event.value for event in client.all(ResultReceived) if event.id == id]
    assert isinstance(result, message.Acquired)
    return [each for low, high in (result.transfers.ranges if result.transfers else ()) for each in range(low, high + 1)]


def test_two_browsers_acquire_the_same_messages() -> None:
    """Each is named to one of them, once; the count of the queue is of what is left."""
    world = World()
    one, mine = scene(world)
    two, yours = world.session(b"two")
    put(one, mine, b"1", b"2", b"3", b"4")
    for session in (mine, yours):
        session.subscribe("q", "b", acquire_mode=AcquireMode.NOT_ACQUIRED).grant(10)
    world.run()
    first, second = one.take(TransferReceived), two.take(TransferReceived)
    assert [event.body for event in first] == [event.body for event in second] == [b"1", b"2", b"3", b"4"]
    assert acquired(one, mine, [first[0].id, first[2].id]) == [first[0].id, first[2].id]
    assert acquired(two, yours, [event.id for event in second]) == [second[1].id, second[3].id]
    assert acquired(one, mine, [first[1].id]) == []
    assert queue_result(world.broker.host(), "q").message_count == 0
    blurt(yours, message.Reject(RangeSet.of(second[0].id)))  # which is not its own
    mine.release([first[0].id], set_redelivered=True)
    yours.release([second[3].id])
    yours.accept([second[1].id])
    world.run()
    assert [entry.message.body for entry in world.broker.host().queues["q"].waiting()] == [b"1", b"4"]
    assert acquired(two, yours, [second[2].id]) == []  # the other one still has it


# --- what nobody wants ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("immediate", [False, True, None], ids=["plain", "immediate", "immediate, queue without credit"])
@pytest.mark.parametrize("alternate", ["none", "finds", "finds nothing"])
@pytest.mark.parametrize("accept_mode", [0, 1])
@pytest.mark.parametrize("discard", [False, True])
def test_what_becomes_of_what_is_unroutable(discard: bool, accept_mode: int, alternate: str, immediate: bool | None) -> None:
    """discard-unroutable, else reject for accept-mode explicit, else one hop to the alternate exchange, else nothing."""
    world = World()
    client, session = scene(world, "rest", "idle")
    done(client, session, exchange.Declare("dead", "fanout"))
    done(client, session, exchange.Declare("x", "direct", "" if alternate == "none" else "dead"))
    if alternate == "finds":
        done(client, session, exchange.Bind("rest", "dead", ""))
    if immediate is None:
        done(client, session, exchange.Bind("idle", "x", "k"))
        session.subscribe("idle", "nocredit")
    client.events.clear()
    id = session.publish(
        "x",
        routing_key="k",
        body=b"1",
        accept_mode=AcceptMode(accept_mode),
        discard_unroutable=discard,
        immediate=immediate is not False,
    )
    session.sync()
    world.run()
    rejected = [(each.transfers, each.code) for each in commands(client, message.Reject)]
    accepted = [each.transfers for each in commands(client, message.Accept)]
    if discard or accept_mode:
        assert rejected == []
    else:
        assert rejected == [(RangeSet.of(id), 2 if immediate is None else 1)]
    assert accepted == ([RangeSet.of(id)] if discard and not accept_mode else [])
    assert on(world, "rest") == ([b"1"] if alternate == "finds" and accept_mode and not discard else [])
    assert on(world, "idle") == []
    assert any(id in event.ids for event in client.all(CommandsCompleted))


def commands(client: Client, kind: type[Any]) -> list[Any]:
    return [event.command for event in client.all(CommandReceived) if isinstance(event.command, kind)]


# --- alternate exchanges of queues ----------------------------------------------------------------------------------------


def test_a_reject_goes_to_the_alternate_exchange_of_the_queue_or_to_the_alternate_of_that() -> None:
    world = World()
    client, session = scene(world, "deep")
    done(client, session, exchange.Declare("second", "fanout"))
    done(client, session, exchange.Declare("first", "topic", "second"))
    done(client, session, queue.Declare("q", "first"))
    done(client, session, queue.Declare("dead", "second"))
    done(client, session, exchange.Bind("deep", "second", ""))
    done(client, session, exchange.Bind("dead", "first", "q"))
    put(client, session, b"1", b"2")
    put(client, session, b"3", key="q")
    session.subscribe("q", "d").grant(10)
    world.run()
    first, second, third = client.take(TransferReceived)
    session.reject([first.id, third.id], RejectCode.UNSPECIFIED, "no")
    session.release([second.id])
    world.run()
    assert [on(world, name) for name in ("q", "dead", "deep")] == [[b"2"], [b"1", b"3"], []]
    done(client, session, exchange.Unbind("dead", "first", "q"))
    client.events.clear()
    done(client, session, message.Flow("d", 0, 1))
    world.run()
    (holder,) = front(world.broker).sessions.values()
    session.reject([max(holder.unsettled)])
    world.run()
    assert [on(world, name) for name in ("q", "dead", "deep")] == [[], [b"1", b"3"], [b"2"]]
    done(client, session, queue.Delete("dead"))
    assert on(world, "deep") == [b"2", b"1", b"3"]


def test_a_deleted_queue_gives_what_is_released_later_to_its_alternate_exchange() -> None:
    world = World()
    client, session = scene(world, "deep")
    other, yours = world.session(b"other")
    done(client, session, queue.Declare("q", "amq.fanout"))
    done(client, session, exchange.Bind("deep", "amq.fanout", ""))
    put(client, session, b"1", b"2", b"3")
    yours.subscribe("q", "d").grant(2)
    world.run()
    done(client, session, queue.Delete("q"))
    assert [event.error_code for event in other.all(ExceptionReceived)] == [408]
    assert sorted(on(world, "deep")) == [b"1", b"2", b"3"]


# --- time -----------------------------------------------------------------------------------------------------------------


def test_what_is_acquired_expires_only_when_it_comes_back() -> None:
    world = World()
    client, session = scene(world)
    world.tick(0)
    put(client, session, b"1", b"2", ttl=1000)
    world.tick(0)
    put(client, session, b"3")
    session.subscribe("q", "d").grant(1)
    world.run()
    (got,) = client.take(TransferReceived)
    assert world.tick(0.999) is not None
    assert on(world) == [b"1", b"2", b"3"]
    world.tick(0.001)
    assert on(world) == [b"1", b"3"]
    session.release([got.id])
    world.run()
    assert on(world) == [b"3"]


def test_what_is_held_back_in_a_transaction_expires_from_its_publish() -> None:
    world = World()
    client, session = scene(world)
    world.tick(0)
    done(client, session, tx.Select())
    put(client, session, b"1", ttl=1000)
    world.tick(0)
    world.tick(2)
    done(client, session, tx.Commit())
    world.tick(0)
    assert on(world) == []


# --- exclusive, auto-delete -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("auto_delete", [False, True])
@pytest.mark.parametrize("subscribed", [False, True])
@pytest.mark.parametrize("how", ["detach", "cut", "exception", "close"])
def test_what_is_left_of_a_queue_when_its_session_ends(exclusive: bool, auto_delete: bool, subscribed: bool, how: str) -> None:
    world = World()
    client, session = world.session()
    done(client, session, queue.Declare("q", exclusive=exclusive, auto_delete=auto_delete))
    if subscribed:
        session.subscribe("q", "d")
        world.run()
    if how == "detach":
        session.detach()
    elif how == "cut":
        client.cut()
    elif how == "close":
        client.connection.close()
    else:
        refused(client, session, queue.Delete("nowhere"))
    world.run()
    there = "q" in world.broker.host().queues
    assert there == (not auto_delete or (not exclusive and not subscribed))
    if there:
        other, yours = world.session(b"other")
        done(other, yours, queue.Declare("q", exclusive=True))


# --- snapshots ------------------------------------------------------------------------------------------------------------


def test_a_snapshot_while_transactions_are_open() -> None:
    """What is not decided has not happened: accepted messages are there again, published ones are not; prepared ones wait."""
    world = World(BrokerConfig(journal=True))
    disk: list[bytes] = []

    def store() -> None:
        entries = world.broker.journal()
        disk.extend(encode_entry(each) for each in entries)
        if entries:
            world.broker.journalled(entries[-1].number)
        world.run()

    client, session = world.session()
    session.send(queue.Declare("q", durable=True))
    world.run()
    store()
    put(client, session, *[b"%d" % n for n in range(6)], delivery_mode=2)
    store()
    local, in_tx = world.session(b"tx")
    branch, in_branch = world.session(b"dtx")
    ready, prepared = world.session(b"prepared")
    for number, (who, with_) in enumerate(((local, in_tx), (branch, in_branch), (ready, prepared))):
        if number:
            done(who, with_, dtx.Select())
            done(who, with_, dtx.Start(Xid(1, b"g", b"%d" % number)))
        else:
            done(who, with_, tx.Select())
        subscription = with_.subscribe("q", "d")
        subscription.set_mode(FlowMode.CREDIT)
        subscription.grant(1)
        world.run()
        (got,) = who.take(TransferReceived)
        with_.accept([got.id])
        put(who, with_, b"new %d" % number, delivery_mode=2)
        store()
    done(ready, prepared, dtx.End(Xid(1, b"g", b"2")))
    asked = blurt(prepared, dtx.Prepare(Xid(1, b"g", b"2")))
    world.run()
    assert not [event for event in ready.all(ResultReceived) if event.id == asked]
    store()
    assert [event for event in ready.all(ResultReceived) if event.id == asked]
    committing = blurt(in_tx, tx.Commit())
    world.run()
    assert not [event for event in local.all(CommandsCompleted) if committing in event.ids]
    before, entries = world.broker.snapshot(), world.broker.journal()  # the commit is written, and not journalled
    (commit,) = entries

    def restored(snapshot: dict[str, object] | None, stored: list[bytes]) -> World:
        return World(
            broker=Broker.restore(snapshot, [decode_entry(each) for each in stored], config=BrokerConfig(journal=True))
        )

    for then, committed in (
        (restored(None, disk), False),
        (restored(None, [*disk, encode_entry(commit)]), True),
        (restored(decode_snapshot(encode_snapshot(before)), []), True),
    ):
        expected = [b"1", b"2", b"3", b"4", b"5", b"new 0"] if committed else [b"0", b"1", b"2", b"3", b"4", b"5"]
        assert on(then) == expected
        (doubt,) = then.broker.coordinator().in_doubt
        assert (doubt.published, doubt.accepted) == (1, 1)
        _, managing = then.session(b"manager")
        blurt(managing, dtx.Commit(doubt.xid))
        then.run()
        then.broker.journalled(then.broker.journal()[-1].number)
        then.run()
        assert sorted(on(then)) == sorted([*[each for each in expected if each != b"2"], b"new 2"])
