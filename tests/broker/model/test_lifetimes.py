"""Who has queues, and when they go by themselves."""

from __future__ import annotations

import pytest
from tests.broker.model.things import Sink, bodies, durable_host, journalled, publish

from amqp_sansio.broker.model.host import VirtualHost
from amqp_sansio.broker.model.owner import SESSION, Owner
from amqp_sansio.broker.operations import QueueDeleted
from amqp_sansio.kernel.deadlines import AT_ONCE

LINGER = {"qpid.auto_delete_timeout": 5}


def left(owned: bool, **more: bool) -> VirtualHost:
    """Somebody had a queue for itself, or subscribed to it, and is no more; 100.0 was told after that."""
    host = durable_host()
    owner = Owner(SESSION)
    host.declare_queue("q", "amq.fanout", exclusive=owned, auto_delete=True, arguments=LINGER, owner=owner, **more)
    if owned:
        host.owner_ended(owner)
    else:
        leave(host, "q")
    assert host.due == AT_ONCE
    assert host.expire(100.0) == 105.0
    return host


def leave(host: VirtualHost, name: str) -> None:
    sink = Sink()
    host.subscribe(name, sink)
    host.unsubscribe(host.queues[name], sink)


@pytest.mark.parametrize("owned", [False, True])
def test_an_unused_queue_goes_after_its_time(owned: bool) -> None:
    host = left(owned)
    assert host.expire(104.9) == 105.0
    assert "q" in host.queues
    assert host.expire(105.0) is None
    assert host.queues == {}


@pytest.mark.parametrize("owned", [False, True])
def test_using_it_again_stops_the_time(owned: bool) -> None:
    host = left(owned)
    owner = Owner(SESSION)
    sink = Sink(owner=owner)
    if owned:
        host.declare_queue("q", exclusive=True, arguments=LINGER, owner=owner)
    else:
        host.subscribe("q", sink)
    assert host.due is None
    assert host.expire(200.0) is None
    assert "q" in host.queues
    if owned:
        host.owner_ended(owner)
    else:
        host.unsubscribe(host.queues["q"], sink)
    assert host.expire(200.0) == 205.0
    host.expire(205.0)
    assert host.queues == {}


def test_a_subscription_outlives_the_owner_and_keeps_the_queue() -> None:
    host = VirtualHost()
    owner, sink = Owner(SESSION), Sink()
    host.declare_queue("q", exclusive=True, arguments=LINGER, owner=owner)
    sink.owner = owner
    host.subscribe("q", sink)
    host.owner_ended(owner)
    for now in (0.0, 5.0):
        host.expire(now)
    assert "q" in host.queues
    host.unsubscribe(host.queues["q"], sink)
    for now in (6.0, 11.0):
        host.expire(now)
    assert host.queues == {}


def test_what_is_left_on_it_goes_to_its_alternate_exchange_and_the_journal_knows() -> None:
    host = left(False, durable=True)
    host.declare_queue("dead")
    host.bind("dead", "amq.fanout")
    publish(host, "", "q", b"1")
    journalled(host)
    host.expire(105.0)
    assert bodies(host.queues["dead"]) == [b"1"]
    assert journalled(host) == [QueueDeleted("h", "q")]


def test_a_queue_that_is_deleted_before_is_forgotten() -> None:
    host = left(False)
    host.delete_queue("q")
    host.declare_queue("q")
    assert host.due is None
    host.expire(105.0)
    assert "q" in host.queues


def test_a_time_makes_it_auto_delete_and_none_is_none() -> None:
    host = VirtualHost()
    host.declare_queue("timed", arguments=LINGER)
    host.declare_queue("at once", auto_delete=True, arguments={"qpid.auto_delete_timeout": 0})
    host.declare_queue("stays", arguments={"qpid.auto_delete_timeout": 0})
    for name in ("timed", "at once", "stays"):
        leave(host, name)
    assert list(host.queues) == ["timed", "stays"]
    assert (host.expire(0.0), host.expire(5.0)) == (5.0, None)
    assert list(host.queues) == ["stays"]
