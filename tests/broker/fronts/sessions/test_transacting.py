"""Transactions of clients, local and distributed, through the broker."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.broker.harness import Client, World, blurt, bodies, done, front, refused

from amqp_sansio import Session
from amqp_sansio.broker.config import BrokerConfig
from amqp_sansio.broker.transactions.coordinator import DEFAULT_TIMEOUT
from amqp_sansio.events import CommandsCompleted, TransferReceived
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec import dtx, exchange, message, queue, tx
from amqp_sansio.spec.base import Command
from amqp_sansio.spec.codes import AcquireMode, DeliveryMode, FlowMode, XaStatus
from amqp_sansio.spec.dtx import GetTimeoutResult, RecoverResult, XaResult, Xid
from amqp_sansio.spec.message import Acquired

ONE = Xid(1, b"global", b"one")
OK = XaResult(XaStatus.XA_OK)


def scene(world: World, *texts: bytes) -> tuple[Client, Session]:
    client, session = world.session()
    done(client, session, queue.Declare("q"))
    for text in texts:
        session.publish(routing_key="q", body=text)
    world.run()
    client.events.clear()
    return client, session


def counts(world: World) -> tuple[int, int]:
    found = world.broker.host("").queues["q"]
    return found.available, found.acquired


@pytest.mark.rule("message.transfer.transactional-publish")
def test_what_is_published_is_seen_after_commit(world: World) -> None:
    client, session = scene(world)
    done(client, session, tx.Select())
    published = session.publish(routing_key="q", body=b"1", sync=True)
    world.run()
    assert any(published in event.ids for event in client.all(CommandsCompleted))
    assert counts(world) == (0, 0)
    done(client, session, tx.Commit())
    assert counts(world) == (1, 0)
    session.publish(routing_key="q", body=b"2")
    world.run()
    assert counts(world) == (1, 0)  # the next transaction
    done(client, session, tx.Rollback())
    assert counts(world) == (1, 0)


def test_a_rolled_back_accept_leaves_the_message_with_the_session(world: World) -> None:
    client, session = scene(world, b"1", b"2")
    done(client, session, tx.Select())
    session.subscribe("q", "d").grant(2)
    world.run()
    first, second = client.take(TransferReceived)
    session.accept(first.id)
    world.run()
    assert counts(world) == (0, 2)
    done(client, session, tx.Rollback())
    assert counts(world) == (0, 2)
    (holder,) = front(world.broker).sessions.values()
    assert (sorted(holder.unsettled), sorted(holder.provisional)) == ([second.id], [first.id])
    done(client, session, message.Release(RangeSet.of(first.id)))
    assert sorted(holder.provisional) == []


def deliveries(client: Client, session: Session, count: int) -> list[int]:
    """The ids of so many messages, which the session has and has not settled."""
    session.subscribe("q", "d").grant(count)
    client.world.run()
    return [event.id for event in client.take(TransferReceived)]


def test_what_is_accepted_and_released_before_a_rollback_is_available_at_once(world: World) -> None:
    """As qpid.messaging rolls back: it releases what it has accepted, then says tx.rollback."""
    client, session = scene(world, b"1", b"2", b"3")
    done(client, session, tx.Select())
    ids = deliveries(client, session, 2)
    done(client, session, message.Stop("d"))
    done(client, session, message.Accept(RangeSet.of(*ids)))
    done(client, session, message.Release(RangeSet.of(*ids), True))
    assert counts(world) == (3, 0)
    done(client, session, tx.Rollback())
    assert counts(world) == (3, 0)
    session.send(message.Flow("d", 0, 5))
    session.send(message.Flow("d", 1, 1000))
    world.run()
    assert bodies(client) == [b"1", b"2", b"3"]


def test_a_commit_leaves_what_was_released_after_its_accept(world: World) -> None:
    client, session = scene(world, b"1", b"2")
    done(client, session, tx.Select())
    first, second = deliveries(client, session, 2)
    done(client, session, message.Accept(RangeSet.of(first, second)))
    done(client, session, message.Release(RangeSet.of(second)))
    done(client, session, tx.Commit())
    assert [entry.message.body for entry in world.broker.host().queues["q"].all()] == [b"2"]


@pytest.mark.rule("message.reject.alternate-exchange")
def test_a_reject_after_an_accept_does_not_wait_for_the_commit(world: World) -> None:
    client, session = scene(world, b"1")
    done(client, session, queue.Declare("dead"))
    done(client, session, queue.Declare("other", "amq.fanout"))
    done(client, session, exchange.Bind("dead", "amq.fanout", ""))
    session.publish(routing_key="other", body=b"2")
    done(client, session, tx.Select())
    session.subscribe("other", "o").grant(1)
    world.run()
    (event,) = client.take(TransferReceived)
    done(client, session, message.Accept(RangeSet.of(event.id)))
    done(client, session, message.Reject(RangeSet.of(event.id)))
    done(client, session, tx.Rollback())
    queues = world.broker.host().queues
    assert (queues["dead"].available, queues["other"].messages) == (1, 0)


def test_what_was_accepted_counts_as_acquired_until_the_transaction_is_decided(world: World) -> None:
    client, session = scene(world, b"1", b"2")
    done(client, session, tx.Select())
    first, second = deliveries(client, session, 2)
    done(client, session, message.Accept(RangeSet.of(first)))
    both = RangeSet.of(first, second)
    assert done(client, session, message.Acquire(both)) == Acquired(both)
    done(client, session, tx.Commit())
    assert done(client, session, message.Acquire(both)) == Acquired(RangeSet.of(second))


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["accept", "release", "reject", "acquire", "commit", "rollback"]),
            st.lists(st.integers(0, 5), max_size=4),
        ),
        max_size=12,
    )
)
def test_every_message_is_available_or_in_the_hands_of_its_session(said: list[tuple[str, list[int]]]) -> None:
    """Whatever a session says about its messages, in whatever order, it holds none that it has released or rejected, it can
    settle each that it holds, and each is available again when it ends, unless a commit has taken it off the queue."""
    world = World()
    client, session = scene(world, *[b"%d" % number for number in range(6)])
    done(client, session, tx.Select())
    ids = deliveries(client, session, 6)
    (holder,) = front(world.broker).sessions.values()
    q = world.broker.host().queues["q"]
    words: dict[str, Callable[[RangeSet], Command]] = {
        "accept": message.Accept,
        "release": message.Release,
        "reject": message.Reject,
        "acquire": message.Acquire,
        "commit": lambda _: tx.Commit(),
        "rollback": lambda _: tx.Rollback(),
    }
    done(client, session, message.Cancel("d"))
    here, accepted = set(ids), set[int]()
    for word, places in said:
        done(client, session, words[word](RangeSet.of(*[ids[place] for place in places])))
        if word in ("release", "reject"):
            assert not [place for place in places if ids[place] in {*holder.unsettled, *holder.provisional}]
        held = [record.entry for record in (*holder.unsettled.values(), *holder.provisional.values()) if record.acquired]
        assert q.acquired == len(set(held)) == len(held)
        assert holder.tx is not None
        named = {ids[place] for place in places} & here
        if word == "accept":
            accepted |= named
        elif word in ("release", "reject"):
            here -= named
            accepted -= named
        elif word == "commit":
            here -= accepted
        if word in ("commit", "rollback"):
            accepted.clear()
        assert {id for id in ids if id in holder.provisional.accepted_ids()} == accepted
        assert {*holder.unsettled, *holder.provisional} == here
    left = q.messages
    client.cut()
    assert (q.available, q.acquired) == (left, 0)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["accept", "release", "reject", "acquire", "rollback", "publish"]),
            st.lists(st.integers(0, 4), max_size=4),
        ),
        max_size=12,
    )
)
def test_what_is_acquired_is_known_beside_what_was_only_shown(said: list[tuple[str, list[int]]]) -> None:
    world = World()
    client, session = scene(world, *[b"%d" % number for number in range(3)])
    done(client, session, tx.Select())
    session.subscribe("q", "browser", acquire_mode=AcquireMode.NOT_ACQUIRED).grant(5)
    session.subscribe("q", "taker").grant(1)
    world.run()
    (holder,) = front(world.broker).sessions.values()
    for word, places in said:
        known = sorted([*holder.unsettled, *holder.provisional])
        named = RangeSet.of(*[known[place] for place in places if place < len(known)])
        words: dict[str, Callable[[], object]] = {
            "accept": lambda named=named: done(client, session, message.Accept(named)),  # type: ignore[misc]  # a default
            "release": lambda named=named: done(client, session, message.Release(named)),  # type: ignore[misc]
            "reject": lambda named=named: done(client, session, message.Reject(named)),  # type: ignore[misc]
            "acquire": lambda named=named: done(client, session, message.Acquire(named)),  # type: ignore[misc]
            "rollback": lambda: done(client, session, tx.Rollback()),
            "publish": lambda: (session.publish(routing_key="q"), done(client, session, tx.Commit())),
        }
        words[word]()
        taken = [id for id, record in holder.unsettled.items() if record.acquired]
        assert holder.unsettled.among(holder.acquired(RangeSet([(0, 1000)]))) == sorted(taken)


def test_a_committed_accept_takes_off_the_queue(world: World) -> None:
    client, session = scene(world, b"1", b"2")
    done(client, session, tx.Select())
    session.subscribe("q", "d").grant(1)
    world.run()
    (first,) = client.take(TransferReceived)
    session.accept(first.id)
    done(client, session, tx.Commit())
    assert counts(world) == (0, 1)  # the window has moved to the second
    client.cut()
    assert counts(world) == (1, 0)


def test_the_end_of_a_session_rolls_back_and_releases(world: World) -> None:
    client, session = scene(world, b"1")
    done(client, session, tx.Select())
    session.subscribe("q", "d").grant(1)
    world.run()
    session.accept(client.take(TransferReceived)[0].id)
    session.publish(routing_key="q", body=b"2")
    world.run()
    client.cut()
    assert counts(world) == (1, 0)
    other, again = world.session(b"t")
    again.subscribe("q", "d").grant(5)
    world.run()
    (event,) = other.all(TransferReceived)
    assert event.body == b"1"
    assert event.delivery_properties is not None
    assert event.delivery_properties.redelivered


def test_a_commit_waits_for_the_journal(world: World) -> None:
    world = World(BrokerConfig(journal=True), world.chunk)
    client, session = world.session()
    session.send(queue.Declare("q", durable=True))
    session.send(tx.Select())
    session.publish(routing_key="q", body=b"1", delivery_mode=DeliveryMode.PERSISTENT)
    session.publish(routing_key="q", body=b"2")
    commit = session.send(tx.Commit(), sync=True)
    world.run()
    assert not any(commit in event.ids for event in client.all(CommandsCompleted))
    assert world.broker.host("").queues["q"].available == 0
    world.broker.journalled(world.broker.journal()[-1].number)
    world.run()
    assert any(commit in event.ids for event in client.all(CommandsCompleted))
    assert world.broker.host("").queues["q"].available == 2


@pytest.mark.parametrize("command", [tx.Commit(), tx.Rollback()], ids=lambda command: command.VERB)
def test_without_select(world: World, command: tx.Commit) -> None:
    client, session = world.session()
    assert refused(client, session, command).error_code in (409, 503)


# --- branches -----------------------------------------------------------------------------------------------------------------


def test_a_branch_in_two_phases(world: World) -> None:
    client, session = scene(world, b"1")
    session.subscribe("q", "d").grant(1)
    world.run()
    (first,) = client.take(TransferReceived)
    done(client, session, dtx.Select())
    assert done(client, session, dtx.Start(ONE)) == OK
    session.accept(first.id)
    session.publish(routing_key="q", body=b"2")
    assert done(client, session, dtx.End(ONE)) == OK
    assert counts(world) == (0, 1)
    other, manager = world.session(b"manager")
    assert done(other, manager, dtx.Prepare(ONE)) == OK
    assert done(other, manager, dtx.Recover()) == RecoverResult([ONE])
    assert done(other, manager, dtx.Commit(ONE)) == OK
    world.run()
    assert bodies(client) == [b"2"]
    assert done(other, manager, dtx.Recover()) == RecoverResult([])


def test_a_branch_rolled_back_gives_accepted_messages_back(world: World) -> None:
    client, session = scene(world, b"1")
    subscription = session.subscribe("q", "d")
    subscription.set_mode(FlowMode.CREDIT)
    subscription.grant(1)
    world.run()
    (first,) = client.take(TransferReceived)
    done(client, session, dtx.Select())
    done(client, session, dtx.Start(ONE))
    session.accept(first.id)
    done(client, session, dtx.End(ONE))
    assert done(client, session, dtx.Rollback(ONE)) == OK
    assert counts(world) == (1, 0)


def test_what_is_outside_of_a_branch_happens_at_once(world: World) -> None:
    client, session = scene(world)
    done(client, session, dtx.Select())
    done(client, session, dtx.Start(ONE))
    done(client, session, dtx.End(ONE))
    session.publish(routing_key="q", body=b"1")
    world.run()
    assert counts(world) == (1, 0)


def test_the_end_of_a_session_dooms_its_branch(world: World) -> None:
    client, session = scene(world)
    done(client, session, dtx.Select())
    done(client, session, dtx.Start(ONE))
    session.publish(routing_key="q", body=b"1")
    world.run()
    client.cut()
    other, manager = world.session(b"manager")
    assert done(other, manager, dtx.Prepare(ONE)) == XaResult(XaStatus.XA_RBROLLBACK)
    assert done(other, manager, dtx.Rollback(ONE)) == OK
    assert counts(world) == (0, 0)


@pytest.mark.rule("dtx.set-timeout.effective", "dtx.set-timeout.reset")
def test_branches_time_out_by_tick(world: World) -> None:
    world.tick(100.0)
    client, session = scene(world)
    done(client, session, dtx.Select())
    done(client, session, dtx.Start(ONE))
    for said, seconds in ((5, 5), (0, DEFAULT_TIMEOUT), (5, 5)):
        done(client, session, dtx.SetTimeout(ONE, said))
        assert done(client, session, dtx.GetTimeout(ONE)) == GetTimeoutResult(seconds)
    session.publish(routing_key="q", body=b"1")
    world.run()
    assert world.broker.tick(world.now) == world.now + 5
    world.tick(5.0)
    assert done(client, session, dtx.End(ONE)) == XaResult(XaStatus.XA_RBTIMEOUT)
    assert counts(world) == (0, 0)


def test_forget_of_what_was_not_decided(world: World) -> None:
    client, session = scene(world)
    assert refused(client, session, dtx.Forget(ONE)).error_code == 404


def test_more_branches_than_fit_into_a_frame_come_in_parts() -> None:
    world = World()
    client, session = scene(world)
    done(client, session, dtx.Select())
    xids = [Xid(1, bytes(200), b"%0100d" % n) for n in range(300)]
    for xid in xids:
        blurt(session, dtx.Start(xid))
        session.publish(routing_key="q", body=b"x")
        blurt(session, dtx.End(xid))
        blurt(session, dtx.Prepare(xid))
    world.run()
    result = done(client, session, dtx.Recover())
    assert isinstance(result, RecoverResult)
    told = list(result.in_doubt or ())
    assert told == xids[: len(told)]
    assert len(told) == 65535 // (14 + 200 + 100)
