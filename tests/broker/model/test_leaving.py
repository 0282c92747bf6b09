"""Dead letters that are too many for one turn."""

from __future__ import annotations

from typing import Any

import pytest
from tests.broker.harness import World, done, scene
from tests.broker.model.things import Sink, bodies, durable_host, journalled, publish

from amqp_sansio.broker.journal import Dequeued, Enqueued
from amqp_sansio.broker.model import queueing
from amqp_sansio.broker.model.host import VirtualHost
from amqp_sansio.broker.model.queueing import MOVED_OCTETS
from amqp_sansio.spec import exchange, queue

MOST = 4


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queueing, "MOVED", MOST)


def with_letters(host: VirtualHost, count: int, alternate: str = "amq.fanout", **properties: Any) -> VirtualHost:
    host.declare_queue("dead", durable=True)
    host.bind("dead", alternate)
    host.declare_queue("q", alternate, durable=True)
    for number in range(count):
        publish(host, "", "q", b"%d" % number, **properties)
    return host


@pytest.mark.parametrize(("count", "turns"), [(MOST - 1, 0), (MOST, 0), (MOST + 1, 1), (3 * MOST + 1, 3)])
def test_so_many_of_a_queue_that_is_deleted_are_moved_in_one_turn(count: int, turns: int) -> None:
    host = with_letters(VirtualHost(), count)
    host.delete_queue("q")
    assert len(bodies(host.queues["dead"])) == min(count, MOST)
    host.declare_queue("q")  # another one, which has none of them
    taken = 0
    while host.leaving:
        assert host.messages == count
        host.move_some()
        taken += 1
    assert taken == turns
    assert bodies(host.queues["dead"]) == [b"%d" % number for number in range(count)]
    assert (host.messages, host.octets) == (count, host.queues["dead"].octets)
    assert host.queues["q"].messages == 0


def test_long_headers_are_read_in_as_many_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queueing, "MOVED", 1024)
    host = with_letters(VirtualHost(), 3, application_headers={"h": "x" * 60_000, "i": "x" * 60_000})
    host.delete_queue("q")
    assert (len(bodies(host.queues["dead"])), MOVED_OCTETS) == (2, 128 * 1024)
    host.move_some()
    assert (len(bodies(host.queues["dead"])), len(host.leaving)) == (3, 0)


def test_rejected_ones_are_moved_in_turns_and_what_finds_no_room_goes_nowhere() -> None:
    host = VirtualHost()
    host.declare_queue("small", arguments={"qpid.max_count": 2 * MOST})
    host.bind("small", "amq.direct", "q")
    host.declare_queue("q", "amq.direct")
    for number in range(3 * MOST):
        publish(host, "", "q", b"%d" % number)
    sink = Sink()
    host.subscribe("q", sink)
    while host.dispatch(100):
        pass
    host.reject(sink.got)
    assert len(bodies(host.queues["small"])) == MOST
    while host.leaving:
        host.move_some()
    assert bodies(host.queues["small"]) == [b"%d" % number for number in range(2 * MOST)]
    assert host.messages == 2 * MOST


def test_persistent_ones_are_moved_at_once_in_one_entry_of_the_journal() -> None:
    host = with_letters(durable_host(), 3 * MOST, delivery_mode=2)
    before = len(journalled(host))
    host.delete_queue("q")
    assert not host.leaving
    (operations,) = [each.operations for each in host.journal.take()]
    assert before
    assert len([each for each in operations if isinstance(each, Enqueued)]) == 3 * MOST
    assert not [each for each in operations if isinstance(each, Dequeued) and each.queue == "dead"]


def test_what_expires_meanwhile_goes_nowhere() -> None:
    host = with_letters(VirtualHost(), 3 * MOST, ttl=1000)
    host.expire(0.0)
    host.delete_queue("q")
    host.expire(2.0)
    while host.leaving:
        host.move_some()
    assert (bodies(host.queues["dead"]), host.messages, host.octets) == ([], 0, 0)


def test_the_alternate_exchange_stays_until_the_last_is_moved() -> None:
    host = VirtualHost()
    host.declare_exchange("x", "fanout", auto_delete=True)
    with_letters(host, 2 * MOST, "x")
    host.delete_queue("q")
    host.unbind("dead", "x", None)
    assert "x" in host.exchanges
    host.move_some()
    assert "x" not in host.exchanges


def test_a_broker_goes_on_with_them_by_itself_and_says_that_it_will() -> None:
    world = World()
    client, session = scene(world, "dead", "q")
    done(client, session, exchange.Bind("dead", "amq.fanout"))
    session.send(queue.Declare("r", "amq.fanout"))
    for _ in range(9 * MOST):
        session.publish(routing_key="r")
    client.world.run()
    world.tick(1.0)
    client.peer.receive_data(b"")
    session.send(queue.Delete("r"))
    client.peer.receive_data(client.connection.data_to_send())
    host = world.broker.host()
    assert world.broker.tick(world.now) is not None
    turns = 0
    for _ in world.broker.events():
        pass
    while host.leaving:
        assert world.broker.due == world.now
        world.broker.tick(world.now)
        turns += 1
    assert turns > 1
    client.world.run()
    assert (host.queues["dead"].messages, world.broker.due == world.now) == (9 * MOST, False)
