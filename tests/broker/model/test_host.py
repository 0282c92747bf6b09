"""What the commands of classes exchange and queue do to a virtual host."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from tests.broker.model.things import Sink, bodies, durable_host, journalled, publish, refusal

from amqp_sansio.broker import conditions
from amqp_sansio.broker.model.entry import GONE
from amqp_sansio.broker.model.host import VirtualHost
from amqp_sansio.broker.model.queue import Queue
from amqp_sansio.broker.operations import (
    Bound,
    Dequeued,
    Enqueued,
    ExchangeDeclared,
    ExchangeDeleted,
    MessageStored,
    QueueDeclared,
    QueueDeleted,
    Unbound,
)
from amqp_sansio.limits import DEFAULT_BROKER_LIMITS
from amqp_sansio.spec import exchange, queue
from amqp_sansio.spec.exchange import ExchangeBoundResult, ExchangeQueryResult
from amqp_sansio.spec.queue import QueueQueryResult
from amqp_sansio.spec.values import Map

ME, YOU = object(), object()


# --- exchanges ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["direct", "fanout", "topic", "headers"])
@pytest.mark.rule("exchange.declare.durable.support", "exchange.declare.durable.sticky", "exchange.declare.auto-delete.sticky")
def test_declaring_again_changes_nothing(kind: str) -> None:
    host = durable_host()
    host.declare_exchange("x", kind, "amq.direct", durable=True)
    assert journalled(host) == [ExchangeDeclared("h", "x", kind, "amq.direct")]
    for alternate in ("amq.direct", "", None):
        assert host.declare_exchange("x", kind, alternate, durable=False, auto_delete=True) == 0
    host.declare_exchange("x", passive=True)
    host.declare_exchange("x", kind, "whatever", passive=True, arguments={"a": 1})
    assert host.query_exchange("x") == ExchangeQueryResult(kind, True, False, Map())
    host.declare_exchange("t", kind)
    assert not host.query_exchange("t").durable
    assert journalled(host) == []
    found = host.exchange("x")
    assert found is not None
    assert not found.auto_delete


@pytest.mark.rule("exchange.declare.type.typed")
def test_a_passive_declare_of_another_type_is_refused() -> None:
    refused = refusal(VirtualHost().declare_exchange, "amq.direct", "topic", passive=True)
    assert refused.condition is conditions.EXCHANGE_DECLARE_OTHER_TYPE


@pytest.mark.rule("exchange.default-access")
def test_nobody_changes_the_default_exchange() -> None:
    host = VirtualHost()
    host.declare_queue("q")
    for call in (
        lambda: host.declare_exchange("", "direct"),
        lambda: host.declare_exchange(None, "direct", passive=True),
        lambda: host.delete_exchange(""),
        lambda: host.bind("q", "", "k"),
        lambda: host.unbind("q", None, "q"),
    ):
        assert refusal(call).code("spec") == 542
    publish(host, "", "q")
    assert host.messages == 1


@pytest.mark.rule("exchange.declare.minimum", "queue.declare.minimum-queues", "exchange.bind.binding-count")
def test_there_is_room_for_more_than_the_specification_asks() -> None:
    host = VirtualHost()
    for at in range(20):
        host.declare_exchange(f"x{at}", "direct")
    for at in range(300):
        host.declare_queue(f"q{at}")
    for at in range(20):
        host.bind("q0", f"x{at}", "k")
    assert (len(host.exchanges), len(host.queues), host.bindings) == (24, 300, 20)


def test_a_deleted_exchange_takes_its_bindings_along() -> None:
    host = durable_host()
    host.declare_exchange("x", "topic", durable=True)
    host.declare_queue("q", durable=True)
    host.bind("q", "x", "k", {"a": 1})
    journalled(host)
    host.delete_exchange("x")
    assert journalled(host) == [ExchangeDeleted("h", "x")]
    assert (host.bindings, host.argument_octets, host.queues["q"].bindings) == (0, 0, {})
    assert host.query_exchange("x") == ExchangeQueryResult(not_found=True)


def test_an_exchange_that_goes_with_its_last_binding() -> None:
    host = durable_host()
    host.declare_exchange("x", "direct", durable=True, auto_delete=True)
    host.declare_queue("q", durable=True)
    host.delete_queue("q")
    assert "x" in host.exchanges
    host.declare_queue("q", durable=True)
    host.bind("q", "x", "k")
    host.bind("q", "x", "l")
    journalled(host)
    host.unbind("q", "x", "k")
    assert journalled(host) == [Unbound("h", "x", "q", "k")]
    host.unbind("q", "x", "l")
    assert journalled(host) == [Unbound("h", "x", "q", "l"), ExchangeDeleted("h", "x")]
    assert "x" not in host.exchanges


def test_an_auto_delete_exchange_goes_when_its_last_queue_does() -> None:
    host = VirtualHost()
    host.declare_exchange("x", "direct", auto_delete=True)
    host.declare_queue("q")
    host.bind("q", "x", "k")
    host.delete_queue("q")
    assert "x" not in host.exchanges


@pytest.mark.rule("exchange.delete.exchange.used-as-alternate")
def test_an_exchange_that_is_an_alternate_stays_until_it_is_none() -> None:
    host = VirtualHost()
    host.declare_exchange("dead", "fanout", auto_delete=True)
    host.declare_queue("letters")
    host.bind("letters", "dead")
    host.declare_queue("q", "dead")
    host.declare_exchange("x", "direct", "dead")
    host.unbind("letters", "dead")
    calls: list[Any] = [lambda: host.delete_queue("q"), lambda: host.delete_exchange("x")]
    for last in calls:
        assert refusal(host.delete_exchange, "dead").condition is conditions.EXCHANGE_DELETE_ALTERNATE
        last()
    assert "dead" not in host.exchanges


# --- bindings -------------------------------------------------------------------------------------------------------------


@pytest.mark.rule("exchange.bind.durable-exchange")
@pytest.mark.parametrize("durable_queue", [True, False])
@pytest.mark.parametrize("durable_exchange", [True, False])
def test_a_binding_is_durable_when_both_ends_are(durable_queue: bool, durable_exchange: bool) -> None:
    host = durable_host()
    host.declare_exchange("x", "direct", durable=durable_exchange)
    host.declare_queue("q", durable=durable_queue)
    journalled(host)
    number = host.bind("q", "x", "k", {"a": 1})
    both = durable_queue and durable_exchange
    assert (number != 0) == both
    assert journalled(host) == ([Bound("h", "x", "q", "k", {"a": 1})] if both else [])
    assert host.bind("q", "x", "k", {"a": 2}) == 0
    host.unbind("q", "x", "k")
    assert journalled(host) == ([Unbound("h", "x", "q", "k")] if both else [])


@pytest.mark.rule("exchange.bind.duplicates")
def test_a_duplicate_is_no_error_and_changes_no_argument_not_even_to_a_wrong_one() -> None:
    host = VirtualHost()
    host.declare_queue("q")
    host.bind("q", "amq.match", "k", {"x-match": "all", "a": 1})
    others: list[dict[str, Any]] = [{"x-match": "any", "b": 1}, {}, {"x-match": "nonsense"}]
    for arguments in others:
        assert host.bind("q", "amq.match", "k", arguments) == 0
    found = host.exchange("amq.match")
    assert found is not None
    assert [binding.arguments for binding in found] == [{"x-match": "all", "a": 1}]
    assert host.bindings == 1


def stage_of_bindings() -> VirtualHost:
    host = VirtualHost()
    for name in ("bound", "unbound"):
        host.declare_queue(name)
    host.bind("bound", "amq.direct", "k")
    host.bind("bound", "amq.topic", "a.*")
    host.bind("bound", "amq.match", "h", {"x-match": "all", "a": 1})
    return host


@pytest.mark.parametrize(
    ("asked", "missing"),
    [
        (("amq.direct", "bound", "k"), ()),
        (("amq.direct", "bound"), ()),
        (("amq.direct",), ()),
        (("amq.fanout",), ()),
        (("amq.direct", None, "k"), ()),
        (("amq.topic", "bound", "a.*"), ()),
        (("amq.topic", "bound", "a.b"), ("key_not_matched",)),
        (("nowhere",), ("exchange_not_found",)),
        (("nowhere", "bound"), ("exchange_not_found",)),
        (("nowhere", "neither"), ("exchange_not_found", "queue_not_found")),
        (("amq.direct", "neither", "z"), ("queue_not_found",)),
        (("amq.direct", "unbound"), ("queue_not_matched",)),
        (("amq.direct", "unbound", "k"), ("queue_not_matched",)),
        (("amq.direct", "unbound", "z"), ("queue_not_matched", "key_not_matched")),
        (("amq.direct", "bound", "z"), ("key_not_matched",)),
        (("amq.direct", None, "z"), ("key_not_matched",)),
        (("amq.match", "bound", None, {"x-match": "all", "a": 1}), ()),
        (("amq.match", "bound", "h", {"x-match": "all", "a": 1}), ()),
        (("amq.match", "bound", None, {"x-match": "all", "a": 2}), ("args_not_matched",)),
        (("amq.match", None, None, {"b": 1}), ("args_not_matched",)),
        (
            ("amq.match", "unbound", "z", {"b": 1}),
            ("queue_not_matched", "key_not_matched", "args_not_matched"),
        ),
        (("", "bound"), ()),
        (("", "bound", "bound"), ()),
        ((None, None, "bound"), ()),
        (("", "bound", "unbound"), ()),
        (("", "bound", "z"), ("key_not_matched",)),
        (("", "bound", None, {"a": 1}), ("args_not_matched",)),
        (("", "neither"), ("queue_not_found",)),
        (("amq.direct", "", "k", {}), ()),
    ],
)
def test_what_is_bound(asked: tuple[Any, ...], missing: tuple[str, ...]) -> None:
    found = stage_of_bindings().bound(*asked)
    assert found == ExchangeBoundResult(**dict.fromkeys(missing, True))


# --- queues ---------------------------------------------------------------------------------------------------------------


@pytest.mark.rule(
    "queue.declare.durable.persistence",
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
    assert host.query_queue("q") == QueueQueryResult(
        "q", "amq.fanout", True, False, False, Map({"qpid.priorities": 3}), 0, 0
    )  # fmt: skip
    assert host.query_queue("t") == QueueQueryResult("t", None, False, False, True, Map(), 0, 0)


def test_a_command_is_told_by_its_fields() -> None:
    host: Any = VirtualHost()
    host.declare_exchange(*exchange.Declare("x", "fanout").values())
    host.declare_queue(*queue.Declare("q", exclusive=True).values(), owner=ME)
    host.bind(*exchange.Bind("q", "x", "k").values(), owner=ME)
    assert host.bound(*exchange.Bound("x", "q", "k").values()) == ExchangeBoundResult()
    host.unbind(*exchange.Unbind("q", "x", "k").values(), owner=ME)
    host.purge(*queue.Purge("q").values(), owner=ME)
    host.delete_queue(*queue.Delete("q").values(), owner=ME)
    host.delete_exchange(*exchange.Delete("x").values())
    assert host.query_queue(*queue.Query("q").values()) == QueueQueryResult()
    assert host.query_exchange(*exchange.Query("x").values()).not_found


def test_a_query_counts_what_can_be_had() -> None:
    host = VirtualHost()
    host.declare_queue("q")
    for _ in range(3):
        publish(host, "", "q")
    host.queues["q"].take()
    host.subscribe("q", Sink())
    found = host.query_queue("q")
    assert (found.message_count, found.subscriber_count) == (2, 1)
    assert host.query_queue("nowhere") == host.query_queue(None) == QueueQueryResult()
    assert host.query_exchange() == ExchangeQueryResult("direct", True, False, Map())


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
    assert host.query_queue("q").message_count == 0
    assert list(host.queues["q"].all()) == [entry]
    assert host.messages == 1


@pytest.mark.rule("queue.declare.exclusive.types")
def test_an_exclusive_queue_is_its_owners_until_that_ends() -> None:
    host = VirtualHost()
    host.declare_queue("q", exclusive=True, owner=ME)
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
    assert [refusal(call).code("qpid") for call in calls] == [405] * len(calls)
    host.declare_queue("q", passive=True, owner=YOU)
    assert host.query_queue("q").exclusive
    publish(host, "", "q", b"anybody may publish")
    host.unsubscribe(host.queues["q"], mine)
    host.owner_ended(ME)
    assert not host.query_queue("q").exclusive
    for call in calls[:6]:
        call()


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
    assert host.query_queue("q").exclusive


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
    assert not host.stirred


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
        assert refused.code("spec") == refused.code("qpid") == 506
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
    assert two.query_exchange("x").not_found
    assert refusal(two.destination, "x").condition is conditions.TRANSFER_NO_EXCHANGE
    assert publish(two, "amq.direct", "k").queues == ()
    assert (one.messages, two.messages, two.bindings) == (1, 0, 0)
    assert isinstance(one.queues["q"], Queue)
    assert two.query_queue("q") == QueueQueryResult()
