"""What the commands of class exchange do to a virtual host."""

from __future__ import annotations

from typing import Any

import pytest
from tests.broker.model.things import durable_host, journalled, publish, refusal

from amqp_sansio.broker import conditions
from amqp_sansio.broker.fronts.sessions.administration import exchange_result
from amqp_sansio.broker.fronts.sessions.error_column import code_of
from amqp_sansio.broker.journal import (
    Bound,
    ExchangeDeclared,
    ExchangeDeleted,
    Unbound,
)
from amqp_sansio.broker.model.host import VirtualHost
from amqp_sansio.broker.model.owner import SESSION, Owner
from amqp_sansio.spec.exchange import ExchangeQueryResult
from amqp_sansio.spec.values import Map

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
