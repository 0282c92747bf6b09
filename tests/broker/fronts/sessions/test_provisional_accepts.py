"""What a session has accepted in local transactions."""

from __future__ import annotations

from typing import Any

import pytest
from tests.broker.harness import Client, World, done, front, refused
from tests.broker.model.things import message as made
from tests.broker.restarts import again, consume, declared, publish, resumed, say

from amqp_sansio import Session
from amqp_sansio.broker.broker import Broker
from amqp_sansio.broker.config import BrokerConfig
from amqp_sansio.broker.fronts.sessions.consumer import Unsettled
from amqp_sansio.broker.fronts.sessions.provisional_accepts import SPARE_RANGES, ProvisionalAccepts
from amqp_sansio.broker.model.queue import Queue
from amqp_sansio.events import TransferReceived
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.limits import BrokerLimits
from amqp_sansio.spec import message, queue, tx

ALL = RangeSet([(0, 0x7FFFFFF0)])


def provisional_accepts(*ids: int) -> ProvisionalAccepts:
    """These ids, which no open transaction has accepted."""
    found, q = ProvisionalAccepts(), Queue("q")
    for id in ids:
        entry = q.put(made(body=b"%d" % id))
        q.acquire(entry)
        found[id] = Unsettled(entry, True, True)
    return found


def texts(found: ProvisionalAccepts) -> list[bytes]:
    return [entry.message.body for entry in found.entries()]


def test_a_rollback_leaves_all_of_them_and_a_commit_those_that_were_not_accepted() -> None:
    found = provisional_accepts(3, 5, 7)
    found.accept(RangeSet.of(3, 7))
    assert (found.accepted_ids(), texts(found)) == (RangeSet.of(3, 7), [b"3", b"7"])
    found.rollback()
    assert (found.accepted_ids(), texts(found), sorted(found)) == (RangeSet(), [], [3, 5, 7])
    found.accept(RangeSet.of(5))
    found.commit()
    assert (sorted(found), found.accepted_ids()) == ([3, 7], RangeSet())


def test_what_comes_later_is_accepted_only_when_it_is_named_again() -> None:
    found = provisional_accepts(3)
    found.accept(ALL)
    found.commit()
    found[9] = Unsettled(Queue("q").put(made()), True, True)
    assert found.accepted_ids() == RangeSet()


def test_ids_of_which_nothing_is_here_are_not_kept_without_end() -> None:
    found = provisional_accepts(*range(0, 40, 2))
    for number in range(1000):
        found.accept(RangeSet.of(4 * number, 1_000_000 + 4 * number))
        assert found.accepted.range_count <= 2 * len(found) + SPARE_RANGES
    assert found.accepted_ids() == RangeSet.of(*range(0, 40, 4))


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
