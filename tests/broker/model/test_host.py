"""What the commands of class queue do to a virtual host, and its limits."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from tests.broker.model.things import Sink, bodies, durable_host, journalled, publish, refusal

from amqp_sansio.broker import conditions
from amqp_sansio.broker.fronts.sessions.administration import bound_result, exchange_result, queue_result
from amqp_sansio.broker.fronts.sessions.error_column import code_of
from amqp_sansio.broker.journal import (
    Dequeued,
    Enqueued,
    MessageStored,
    QueueDeclared,
    QueueDeleted,
)
from amqp_sansio.broker.model.host import VirtualHost
from amqp_sansio.broker.model.message import GONE
from amqp_sansio.broker.model.owner import SESSION, Owner
from amqp_sansio.broker.model.queue import Queue
from amqp_sansio.limits import DEFAULT_BROKER_LIMITS
from amqp_sansio.spec import exchange, queue
from amqp_sansio.spec.exchange import ExchangeBoundResult
from amqp_sansio.spec.queue import QueueQueryResult
from amqp_sansio.spec.values import Map

ME, YOU = Owner(SESSION), Owner(SESSION)


# --- queues ---------------------------------------------------------------------------------------------------------------


@pytest.mark.rule(
    "queue.declare.durable.types",
    "queue.declare.durable.pre-existence",
    "queue.declare.auto-delete.pre-existence",
)
def test_declaring_a_queue_again_changes_nothing() -> None:
    host = durable_host()
    host.declare_queue("q", "amq.fanout", durable=True, arguments={"qpid.priorities": 3})
    host.declare_queue("t", auto_delete=True)
    assert journalled(host) == [QueueDeclared("h", "q", "amq.fanout", arguments={"qpid.priorities": 3})]
    host.declare_queue("q", "amq.fanout", durable=False, auto_delete=True)
    host.declare_queue("q", "", arguments={"nonsense": 1})
    host.declare_queue("t", durable=True)
    host.declare_queue("t", passive=True)
    assert journalled(host) == []
    assert queue_result(host, "q") == QueueQueryResult(
        "q", "amq.fanout", True, False, False, Map({"qpid.priorities": 3}), 0, 0
    )  # fmt: skip
    assert queue_result(host, "t") == QueueQueryResult("t", None, False, False, True, Map(), 0, 0)


def test_hints_of_a_command_differ_by_its_fields() -> None:
    host: Any = VirtualHost()
    host.declare_exchange(*exchange.Declare("x", "fanout").values())
    host.declare_queue(*queue.Declare("q", exclusive=True).values(), owner=ME)
    host.bind(*exchange.Bind("q", "x", "k").values(), owner=ME)
    assert bound_result(host, "x", "q", "k") == ExchangeBoundResult()
    host.unbind(*exchange.Unbind("q", "x", "k").values(), owner=ME)
    host.purge(*queue.Purge("q").values(), owner=ME)
    host.delete_queue(*queue.Delete("q").values(), owner=ME)
    host.delete_exchange(*exchange.Delete("x").values())
    assert queue_result(host, "q") == QueueQueryResult()
    assert exchange_result(host, "x").not_found


@pytest.mark.rule("queue.purge.empty", "queue.purge.pending-messages")
def test_a_purge_takes_what_nobody_has() -> None:
    host = durable_host()
    host.declare_queue("q", durable=True)
    for mode in (2, 1, 2):
        publish(host, "", "q", delivery_mode=mode)
    journalled(host)
    entry = host.queues["q"].take()
    publish(host, "", "q", delivery_mode=2)
    assert host.purge("q") == host.journal.last
    operations = journalled(host)
    assert [type(each) for each in operations] == [MessageStored, Enqueued, Dequeued, Dequeued]
    assert queue_result(host, "q").message_count == 0
    assert list(host.queues["q"].all()) == [entry]
    assert host.messages == 1


@pytest.mark.rule("queue.declare.exclusive.types")
def test_an_exclusive_queue_is_its_owners_until_that_ends() -> None:
    host = VirtualHost()
    host.declare_queue("q", exclusive=True, owner=ME)
    assert queue_result(host, "q").exclusive
    host.declare_queue("q", exclusive=True, owner=ME)
    host.bind("q", "amq.direct", "k", owner=ME)
    mine = Sink(owner=ME)
    host.subscribe("q", mine)
    calls: list[Any] = [
        lambda: host.declare_queue("q", owner=YOU),
        lambda: host.declare_queue("q", exclusive=True, owner=YOU),
        lambda: host.declare_queue("q", passive=True, exclusive=True, owner=YOU),
        lambda: host.bind("q", "amq.direct", "l", owner=YOU),
        lambda: host.unbind("q", "amq.direct", "k", owner=YOU),
        lambda: host.subscribe("q", Sink(owner=YOU)),
        lambda: host.delete_queue("q", owner=YOU),
        lambda: host.purge("q", owner=YOU),
    ]
    assert [code_of(refusal(call), "qpid") for call in calls] == [405] * len(calls)
    host.declare_queue("q", passive=True, owner=YOU)
    assert queue_result(host, "q").exclusive
    publish(host, "", "q", b"anybody may publish")
    host.unsubscribe(host.queues["q"], mine)
    host.owner_ended(ME)
    assert not queue_result(host, "q").exclusive
    for call in calls[:6]:
        call()
    host.declare_queue("shared", owner=ME)
    host.purge("shared", owner=YOU)
    assert not queue_result(host, "shared").exclusive


@pytest.mark.rule("queue.declare.exclusive.in-use")
def test_passive_and_exclusive_asks_whether_the_queue_is_mine_alone() -> None:
    host = VirtualHost()
    host.declare_queue("shared")
    host.declare_queue("mine", exclusive=True, owner=ME)
    host.declare_queue("mine", passive=True, exclusive=True, owner=ME)
    for name in ("mine", "shared"):
        told = refusal(host.declare_queue, name, passive=True, exclusive=True, owner=YOU)
        assert (told.condition, code_of(told, "qpid")) == (conditions.QUEUE_DECLARE_EXCLUSIVE, 405)
        host.declare_queue(name, passive=True, owner=YOU)  # qpidd lets it pass; `spec` does not
    assert queue_result(host, "shared").exclusive is False


@pytest.mark.rule("queue.delete.if-empty.not-empty")
def test_a_queue_is_not_empty_while_somebody_has_a_message_of_it() -> None:
    host = VirtualHost()
    host.declare_queue("q")
    publish(host, "", "q")
    entry = host.queues["q"].take()
    assert entry is not None
    assert refusal(host.delete_queue, "q", if_empty=True).condition is conditions.QUEUE_DELETE_NOT_EMPTY
    host.dequeue([entry])
    host.delete_queue("q", if_empty=True)


@pytest.mark.rule("queue.declare.queue.reserved-prefix", "exchange.declare.exchange.reserved-names")
def test_reserved_names_may_be_looked_at() -> None:
    host = VirtualHost(error_codes="spec")
    assert refusal(host.declare_queue, "amq.none", passive=True).condition is conditions.QUEUE_DECLARE_PASSIVE
    host.declare_exchange("amq.topic", "topic", passive=True)


@pytest.mark.parametrize("name", ["a", "Z", "7", "_", "é", "q-.,"])
def test_a_queue_name_in_the_codes_of_the_specification(name: str) -> None:
    host = VirtualHost(error_codes="spec")
    host.declare_queue(name)
    for other in (".", "-" + name, " " + name, "#"):
        assert refusal(host.declare_queue, other).condition is conditions.QUEUE_DECLARE_NAME
        VirtualHost().declare_queue(other)


def test_the_user_of_a_queue_has_it_or_its_only_subscription_for_itself() -> None:
    host = VirtualHost()
    host.declare_queue("q")
    found = host.queues["q"]
    assert host.queues["q"].user is None
    host.subscribe("q", Sink(exclusive=True, owner=YOU))
    assert found.user == YOU
    host.declare_queue("mine", exclusive=True, owner=ME)
    host.subscribe("mine", Sink(owner=ME))
    assert host.queues["mine"].user is ME


@pytest.mark.rule("queue.declare.exclusive.in-use")
def test_a_queue_that_others_use_does_not_become_exclusive() -> None:
    host = VirtualHost()
    host.declare_queue("q")
    yours = Sink(owner=YOU)
    host.subscribe("q", yours)
    assert refusal(host.declare_queue, "q", exclusive=True, owner=ME).condition is conditions.QUEUE_DECLARE_EXCLUSIVE
    host.unsubscribe(host.queues["q"], yours)
    host.subscribe("q", Sink(owner=ME))
    host.declare_queue("q", exclusive=True, owner=ME)
    assert queue_result(host, "q").exclusive


def test_what_goes_with_its_owner() -> None:
    host = VirtualHost()
    host.declare_queue("goes", exclusive=True, auto_delete=True, owner=ME)
    host.declare_queue("stays", exclusive=True, owner=ME)
    host.declare_queue("not mine", exclusive=True, auto_delete=True, owner=YOU)
    sink = Sink(owner=ME)
    host.subscribe("goes", sink)
    host.unsubscribe(host.queues["goes"], sink)
    assert "goes" in host.queues
    host.owner_ended(ME)
    host.owner_ended(ME)
    assert sorted(host.queues) == ["not mine", "stays"]


def test_what_goes_with_its_last_subscriber() -> None:
    host = VirtualHost()
    host.declare_queue("q", auto_delete=True)
    host.declare_queue("other")
    queue, a, b = host.queues["q"], Sink(), Sink()
    host.unsubscribe(queue, a)
    assert "q" in host.queues
    for each in (a, b):
        host.subscribe("q", each)
    host.unsubscribe(queue, a)
    assert "q" in host.queues
    host.unsubscribe(queue, b)
    host.unsubscribe(queue, b)
    assert sorted(host.queues) == ["other"]
    assert (a.heard, b.heard) == ([], [])


@pytest.mark.rule("message.subscribe.queue-deletion")
def test_the_subscribers_of_a_deleted_queue_hear_of_it() -> None:
    host = VirtualHost()
    host.declare_queue("q")
    queue, sinks = host.queues["q"], [Sink(), Sink(acquires=False)]
    for sink in sinks:
        host.subscribe("q", sink)
    host.delete_queue("q")
    assert [sink.heard for sink in sinks] == [[queue]] * 2
    assert (queue.subscribers, queue.deleted) == (0, True)


def test_the_messages_of_a_deleted_queue_go_to_its_alternate_exchange() -> None:
    host = durable_host()
    host.declare_queue("dead", durable=True)
    host.bind("dead", "amq.direct", "q")
    host.declare_queue("q", "amq.direct", durable=True)
    host.bind("q", "amq.direct", "q")
    for body in (b"acquired", b"left", b"held"):
        if body == b"held":
            journalled(host)
        publish(host, "", "q", body, delivery_mode=2)
    queue = host.queues["q"]
    entry = queue.take()
    assert entry is not None
    assert host.delete_queue("q") == host.journal.last
    operations = journalled(host)
    assert QueueDeleted("h", "q") in operations
    assert [each for each in operations if isinstance(each, Dequeued)] == []
    assert bodies(host.queues["dead"]) == [b"left", b"held"]
    host.release([entry], set_redelivered=True)
    journalled(host)
    assert [(each.message.body, each.redelivered) for each in host.queues["dead"].all()][-1] == (b"acquired", True)
    assert (entry.state, queue.messages, host.messages) == (GONE, 0, 3)


def test_an_accept_of_what_was_on_a_deleted_queue() -> None:
    host = durable_host()
    host.declare_queue("q", durable=True)
    publish(host, "", "q", delivery_mode=2)
    journalled(host)
    entry = host.queues["q"].take()
    assert entry is not None
    host.delete_queue("q")
    journalled(host)
    assert host.dequeue([entry]) == 0
    assert (host.messages, host.octets, entry.message.stored) == (0, 0, 0)


def test_a_deleted_queue_leaves_nothing_behind() -> None:
    host = VirtualHost()
    host.declare_queue("q", arguments={"qpid.priorities": 2}, exclusive=True, owner=ME)
    for key in "ab":
        host.bind("q", "amq.match", key, {"x-match": "all"}, owner=ME)
    publish(host, "", "q")
    host.delete_queue("q", owner=ME)
    assert (host.messages, host.octets, host.bindings, host.argument_octets) == (0, 0, 0, 0)
    assert host._owned == {}
    assert not host.dispatchable


# --- limits ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [3, 4, 5])
@pytest.mark.parametrize("limit", ["queues", "exchanges", "bindings"])
def test_below_at_and_beyond_a_limit(limit: str, count: int) -> None:
    value = 8 if limit == "exchanges" else 4  # four are there from the beginning
    host = VirtualHost(limits=attrs.evolve(DEFAULT_BROKER_LIMITS, **{limit: value}))
    host.declare_queue("q0")

    def one_more(at: int) -> object:
        if limit == "queues":
            return at and host.declare_queue(f"q{at}")
        if limit == "exchanges":
            return host.declare_exchange(f"x{at}", "direct")
        return host.bind("q0", "amq.direct", f"k{at}")

    for at in range(min(count, 4)):
        one_more(at)
    if count == 5:
        refused = refusal(one_more, 4)
        assert (refused.condition, refused.text) == (conditions.LIMIT, f"limit {limit} is {value}; there would be {value + 1}")
        assert code_of(refused, "spec") == code_of(refused, "qpid") == 506
        one_more(0)


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_octets_of_arguments_below_at_and_beyond_their_limit(more: int) -> None:
    limit = 100
    host = VirtualHost(limits=attrs.evolve(DEFAULT_BROKER_LIMITS, argument_octets=limit))
    host.declare_queue("q", arguments={"qpid.max_count": 1})
    octets = host.argument_octets
    value = "v" * (limit - octets - (4 + 4 + 8 + 1 + 2 + 3) - (2 + 1 + 2) + more)
    arguments = {"x-match": "all", "a": value}
    if more > 0:
        assert "argument_octets" in refusal(host.bind, "q", "amq.match", "k", arguments).text
        assert host.argument_octets == octets
    else:
        host.bind("q", "amq.match", "k", arguments)
        assert host.argument_octets == limit + more
        host.delete_queue("q")
        assert host.argument_octets == 0


@pytest.mark.rule("connection.open.virtual-host.separation")
def test_what_is_in_one_host_is_not_in_another() -> None:
    one, two = VirtualHost("one"), VirtualHost("two")
    one.declare_queue("q")
    one.declare_exchange("x", "direct")
    one.bind("q", "amq.direct", "k")
    publish(one, "amq.direct", "k")
    assert exchange_result(two, "x").not_found
    assert refusal(two.destination, "x").condition is conditions.TRANSFER_NO_EXCHANGE
    assert publish(two, "amq.direct", "k").queues == ()
    assert (one.messages, two.messages, two.bindings) == (1, 0, 0)
    assert isinstance(one.queues["q"], Queue)
    assert queue_result(two, "q") == QueueQueryResult()
