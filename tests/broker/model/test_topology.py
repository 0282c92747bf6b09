"""Which queues get a message, and what becomes of one that none gets."""

from __future__ import annotations

from sys import getrecursionlimit
from typing import Any

import pytest
from tests.broker.model.things import Sink, bodies, durable_host, journalled, message, publish

from amqp_sansio.broker.fronts.sessions.administration import bound_result
from amqp_sansio.broker.journal import QueueDeleted
from amqp_sansio.broker.model.host import VirtualHost
from amqp_sansio.broker.model.message import Message
from amqp_sansio.broker.model.owner import SESSION, Owner
from amqp_sansio.broker.model.queue import Queue
from amqp_sansio.broker.model.subscribers import SELECTING
from amqp_sansio.broker.model.topology import IMMEDIATE, UNROUTABLE, Default
from amqp_sansio.broker.routing.direct import Direct
from amqp_sansio.broker.routing.fanout import Fanout
from amqp_sansio.broker.routing.headers import Headers
from amqp_sansio.broker.routing.topic import Topic
from amqp_sansio.kernel.timers import AT_ONCE
from amqp_sansio.limits import BrokerLimits


def host_with(*queues: str) -> VirtualHost:
    host = VirtualHost("h")
    for queue in queues:
        host.declare_queue(queue)
    return host


def outcome(host: VirtualHost, exchange: str, key: str, explicit: bool = True, **properties: Any) -> object:
    """The names of the queues, or the code of a reject, or None when it is dropped."""
    routed = host.route(host.destination(exchange), message(key, exchange=exchange, **properties), explicit)
    if routed.queues:
        assert routed.reject is None
        return [queue.name for queue in routed.queues]
    return routed.reject


@pytest.mark.rule("exchange.required-types", "exchange.recommended-types", "exchange.required-instances")
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("", Direct),
        ("amq.direct", Direct),
        ("amq.fanout", Fanout),
        ("amq.topic", Topic),
        ("amq.match", Headers),
        ("amq.headers", Headers),
    ],
)
def test_what_is_there_from_the_beginning(name: str, kind: type) -> None:
    host = host_with("q")
    exchange = host.exchange(name)
    assert exchange is not None
    assert isinstance(exchange, kind) or kind.TYPE == exchange.TYPE  # type: ignore[attr-defined]  # the type of an exchange
    assert exchange.durable
    if name:
        host.bind("q", name, "q", {"x-match": "all"} if kind is Headers else None)
        host.declare_exchange("new", exchange.TYPE)
        assert isinstance(host.exchange("new"), kind)
    assert outcome(host, name, "q") == ["q"]


def test_amq_headers_is_another_name_of_amq_match() -> None:
    host = host_with("q")
    assert host.exchange("amq.headers") is host.exchange("amq.match")
    host.bind("q", "amq.headers", "k", {"x-match": "all", "a": 1})
    assert outcome(host, "amq.match", "", application_headers={"a": 1}) == ["q"]
    assert not bound_result(host, "amq.match", "q", "k").queue_not_matched


@pytest.mark.rule(
    "exchange.default-exchange", "queue.declare.default-binding", "message.transfer.destination.blank-destination"
)
def test_an_empty_destination_is_the_default_exchange_to_which_every_queue_is_bound() -> None:
    host = host_with("a", "b")
    assert host.destination("") is host.destination(None) is host.default
    publish(host, "", "a", b"1")
    publish(host, "", "b", b"2")
    publish(host, "", "c", b"3")
    assert [bodies(queue) for queue in host.queues.values()] == [[b"1"], [b"2"]]


@pytest.mark.parametrize(
    ("properties", "explicit", "alternate", "expected"),
    [
        ({}, True, False, UNROUTABLE),
        ({}, True, True, UNROUTABLE),
        ({}, False, False, None),
        ({}, False, True, ["dead"]),
        ({"discard_unroutable": True}, True, False, None),
        ({"discard_unroutable": True}, True, True, None),
        ({"discard_unroutable": True}, False, True, None),
    ],
)
@pytest.mark.rule("exchange.declare.alternate-exchange.empty-name")
def test_a_message_for_which_there_is_no_queue(
    properties: dict[str, Any], explicit: bool, alternate: bool, expected: object
) -> None:
    host = host_with("dead")
    host.declare_exchange("x", "direct", "amq.fanout" if alternate else "")
    host.bind("dead", "amq.fanout")
    # The key is the name of a queue: an empty name is no alternate, and does not mean the default exchange.
    assert outcome(host, "x", "dead", explicit, **properties) == expected


@pytest.mark.parametrize("explicit", [True, False])
def test_an_immediate_message_waits_for_nobody(explicit: bool) -> None:
    host = host_with("a", "b", "dead")
    host.declare_exchange("x", "fanout", "amq.fanout")
    host.bind("dead", "amq.fanout")
    unroutable = IMMEDIATE if explicit else ["dead"]
    assert outcome(host, "x", "", explicit, immediate=True) == (UNROUTABLE if explicit else ["dead"])
    for name in ("a", "b"):
        host.bind(name, "x")
    assert outcome(host, "x", "", explicit, immediate=True) == unroutable
    host.subscribe("a", Sink())
    assert outcome(host, "x", "", explicit, immediate=True) == unroutable
    sink = Sink(credit=1)
    host.subscribe("b", sink)
    assert outcome(host, "x", "", explicit, immediate=True) == ["a", "b"]
    sink.credit = 0
    assert outcome(host, "x", "", explicit, immediate=True) == unroutable
    assert outcome(host, "x", "", explicit) == ["a", "b"]
    assert outcome(host, "x", "", explicit, immediate=True, discard_unroutable=True) is None


def test_an_immediate_message_asks_no_more_subscribers_than_its_limit_whatever_the_queues() -> None:
    """A selector of 4,096 octets takes a while: a message to a thousand queues of many subscribers would take minutes."""
    asked: list[Sink] = []

    class Asked(Sink):
        def able(self, message: Message) -> bool:
            asked.append(self)
            return super().able(message)

    host = VirtualHost(limits=BrokerLimits(routing_steps=10 * SELECTING + 5))
    for number in range(20):
        host.declare_queue(f"q{number}")
        host.bind(f"q{number}", "amq.fanout")
        for credit in (0, 0, 1):
            host.subscribe(f"q{number}", Asked(credit, wanted=b"x"))
    assert outcome(host, "amq.fanout", "", immediate=True) == IMMEDIATE
    assert len(asked) == 10
    host.declare_exchange("few", "fanout")
    for number in range(3):
        host.bind(f"q{number}", "few")
    assert outcome(host, "few", "", immediate=True) == ["q0", "q1", "q2"]


@pytest.mark.rule("exchange.declare.alternate-exchange.double-failure")
def test_an_alternate_exchange_passes_nothing_on() -> None:
    host = host_with("last")
    host.declare_exchange("third", "fanout")
    host.bind("last", "third")
    host.declare_exchange("second", "direct", "third")
    host.declare_exchange("first", "direct", "second")
    assert outcome(host, "first", "k", explicit=False) is None
    assert outcome(host, "second", "k", explicit=False) == ["last"]


def test_an_exchange_that_is_its_own_alternate_in_a_circle_ends() -> None:
    host = host_with()
    host.declare_exchange("a", "direct")
    host.declare_exchange("b", "direct", "a")
    assert outcome(host, "b", "k", explicit=False) is None


def test_a_chain_of_exchanges_of_any_length_goes_with_its_last() -> None:
    """Each is the alternate of the next and waits for it: a client can make more of them than calls may be nested."""
    host, length = host_with("q"), 3 * getrecursionlimit()
    for number in range(length):
        host.declare_exchange(f"x{number}", "fanout", f"x{number - 1}" if number else None, auto_delete=True)
        host.bind("q", f"x{number}")
        if number:
            host.unbind("q", f"x{number - 1}")
    before = len(host.exchanges)
    host.unbind("q", f"x{length - 1}")
    assert len(host.exchanges) == before - length
    assert (host.bindings, host.binding_words, host.argument_octets) == (0, 0, 0)


def test_which_exchange_found_the_queues() -> None:
    host = host_with("dead")
    host.declare_exchange("x", "direct", "amq.fanout")
    host.bind("dead", "amq.fanout")
    routed = host.route(host.destination("x"), message("k"), explicit=False)
    assert routed.via is host.exchange("amq.fanout")
    assert "dead" in repr(routed)


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


def test_the_default_exchange_knows_every_queue_by_its_name() -> None:
    queues = {"a": Queue("a")}
    exchange = Default(queues)
    assert list(exchange.route(message("a"))) == [queues["a"]]
    assert list(exchange.route(message("b"))) == []
    queues["b"] = Queue("b")
    assert list(exchange.route(message("b"))) == [queues["b"]]
    assert len(exchange) == 2
    assert queues["a"] in exchange
    assert exchange.has(queues["a"], "a", None)
    assert not exchange.has(queues["a"], "b", None)
    assert exchange.has(queues["a"], None, None)
    assert exchange.has(None, "b", None)
    assert exchange.has(None, None, None)
    assert not Default({}).has(None, None, None)
