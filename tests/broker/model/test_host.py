"""What the commands of class queue do to a virtual host, and its limits."""

from __future__ import annotations

from sys import getrecursionlimit
from typing import Any

import attrs
import pytest
from tests.broker.model.things import Sink, bodies, durable_host, journalled, message, publish, refusal

from amqp_sansio.broker import conditions
from amqp_sansio.broker.fronts.sessions.commands import bound_result, exchange_result, queue_result
from amqp_sansio.broker.fronts.sessions.error_column import code_of
from amqp_sansio.broker.journal import (
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
from amqp_sansio.broker.model.exchange import Direct, Fanout, HeadersExchange, Topic
from amqp_sansio.broker.model.host import VirtualHost
from amqp_sansio.broker.model.message import GONE, Message
from amqp_sansio.broker.model.queue import Queue
from amqp_sansio.broker.model.queueing import IMMEDIATE, UNROUTABLE, Default
from amqp_sansio.broker.model.subscribers import SELECTING, SESSION, Owner
from amqp_sansio.kernel.timers import AT_ONCE
from amqp_sansio.limits import DEFAULT_BROKER_LIMITS, BrokerLimits
from amqp_sansio.spec import exchange, queue
from amqp_sansio.spec.exchange import ExchangeBoundResult, ExchangeQueryResult
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


def host_with(*queues: str) -> VirtualHost:
    host = VirtualHost("h")
    for name in queues:
        host.declare_queue(name)
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
        ("amq.match", HeadersExchange),
        ("amq.headers", HeadersExchange),
    ],
)
def test_what_is_there_from_the_beginning(name: str, kind: type) -> None:
    host = host_with("q")
    exchange = host.exchange(name)
    assert exchange is not None
    assert isinstance(exchange, kind) or kind.TYPE == exchange.TYPE  # type: ignore[attr-defined]  # the type of an exchange
    assert exchange.durable
    if name:
        host.bind("q", name, "q", {"x-match": "all"} if kind is HeadersExchange else None)
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
    assert (routed.queues, routed.reject) == ((host.queues["dead"],), None)
    assert "dead" in repr(routed)


LINGER = {"qpid.auto_delete_timeout": 5}


def left(owned: bool, **more: bool) -> VirtualHost:
    """The owner or subscriber of a queue is gone; afterwards the host heard that it is 100.0."""
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


ME, YOU = Owner(SESSION), Owner(SESSION)


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
    assert exchange_result(host, "x") == ExchangeQueryResult(kind, True, False, Map())
    host.declare_exchange("t", kind, auto_delete=True)
    host.declare_exchange("t", kind, durable=True)
    assert not exchange_result(host, "t").durable
    assert journalled(host) == []
    assert [host.exchanges[name].auto_delete for name in "xt"] == [False, True]


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
        assert code_of(refusal(call), "spec") == 542
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
    host.bind("q", "x", "k", {"x-qpid-no-local": True})
    journalled(host)
    host.delete_exchange("x")
    assert journalled(host) == [ExchangeDeleted("h", "x")]
    assert (host.bindings, host.argument_octets, host.queues["q"].bindings) == (0, 0, {})
    assert exchange_result(host, "x") == ExchangeQueryResult(not_found=True)


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


@pytest.mark.rule("exchange.bind.durable-exchange")
@pytest.mark.parametrize("durable_queue", [True, False])
@pytest.mark.parametrize("durable_exchange", [True, False])
def test_a_binding_is_durable_when_both_ends_are(durable_queue: bool, durable_exchange: bool) -> None:
    host = durable_host()
    host.declare_exchange("x", "direct", durable=durable_exchange)
    host.declare_queue("q", durable=durable_queue)
    journalled(host)
    number = host.bind("q", "x", "k", {"x-qpid-no-local": True})
    both = durable_queue and durable_exchange
    assert (number != 0) == both
    assert journalled(host) == ([Bound("h", "x", "q", "k", {"x-qpid-no-local": True})] if both else [])
    assert host.bind("q", "x", "k", {"x-qpid-no-local": False}) == 0
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
