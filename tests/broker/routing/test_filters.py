"""Filters of bindings: which messages pass."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.broker.model.things import message, publish, read, refusal

from amqp_sansio.broker import conditions
from amqp_sansio.broker.conditions import Refused
from amqp_sansio.broker.durable_state import Rebuilding, survey
from amqp_sansio.broker.fronts.sessions.administration import bound_result
from amqp_sansio.broker.model.host import VirtualHost
from amqp_sansio.broker.model.owner import CONNECTION, Owner
from amqp_sansio.broker.model.queue import Queue
from amqp_sansio.broker.routing.direct import Direct
from amqp_sansio.broker.routing.filters import STEP, Filter
from amqp_sansio.broker.selectors.parser import Selector
from amqp_sansio.broker.selectors.properties import Selectable
from amqp_sansio.broker.transactions.coordinator import Coordinator
from amqp_sansio.config import ErrorCodes
from amqp_sansio.spec.message import Transfer
from amqp_sansio.spec.values import Map
from amqp_sansio.wire.layouts.properties import write_properties

JMS = "x-filter-jms-selector"
KINDS = ["direct", "fanout", "topic", "headers"]


def arguments(kind: str, selector: str) -> dict[str, str]:
    return {JMS: selector, **({"x-match": "all"} if kind == "headers" else {})}


def scene(kind: str) -> VirtualHost:
    host = VirtualHost()
    host.declare_exchange("x", kind)
    host.declare_queue("q")
    return host


def found(host: VirtualHost, **headers: object) -> list[str]:
    return [queue.name for queue in publish(host, "x", "k", application_headers=headers).queues]


@pytest.mark.parametrize("kind", KINDS)
def test_a_queue_gets_what_the_selector_of_its_binding_selects(kind: str) -> None:
    host = scene(kind)
    host.bind("q", "x", "k", arguments(kind, "n > 1"))
    assert [found(host, n=1), found(host, n=2), found(host)] == [[], ["q"], []]
    host.unbind("q", "x", "k")
    assert found(host, n=2) == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_binding_without_a_selector_lets_pass_what_another_does_not(kind: str) -> None:
    host = scene(kind)
    keys = ("k", "k") if kind == "direct" else ("k", "#")
    host.declare_queue("other")
    host.bind("q", "x", keys[0], arguments(kind, "n > 1"))
    host.bind("other" if kind == "direct" else "q", "x", keys[1], {"x-match": "all"} if kind == "headers" else None)
    one = "other" if kind == "direct" else "q"
    assert found(host, n=1) == [one]
    assert sorted(found(host, n=2)) == sorted({one, "q"})
    host.unbind(one, "x", keys[1])
    assert [found(host, n=1), found(host, n=2)] == [[], ["q"]]


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_selector_is_none(kind: str) -> None:
    host = scene(kind)
    host.bind("q", "x", "k", arguments(kind, ""))
    assert found(host) == ["q"]


def test_a_selector_is_no_header_that_a_message_must_have() -> None:
    host = scene("headers")
    host.bind("q", "x", "k", {"x-match": "any", "color": "red", JMS: "n = 1"})
    assert [found(host, color="red", n=1), found(host, color="red"), found(host, n=1)] == [["q"], [], []]
    assert host.binding_words == 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_binding_that_is_not_local_lets_pass_nothing_that_the_connection_of_the_queue_published(kind: str) -> None:
    host = VirtualHost()
    host.declare_exchange("x", kind)
    host.declare_queue("q", exclusive=True, owner=Owner(CONNECTION, 5))
    host.bind("q", "x", "k", {"x-qpid-no-local": True, **arguments(kind, "n > 1")}, owner=host.queues["q"].owner)

    def queues(publisher: int, n: int) -> list[str]:
        header = write_properties(routing_key="k", application_headers=Map({"n": n}))
        sent = read(host.intake, Transfer("x", 0, 0), header, b"", publisher=publisher)
        return [queue.name for queue in host.route(host.destination("x"), sent).queues]

    assert [queues(publisher, 2) for publisher in (5, 6, 0)] == [[], ["q"], ["q"]]
    assert queues(6, 1) == []


def test_a_binding_that_may_be_local_has_no_filter() -> None:
    host = scene("direct")
    host.bind("q", "x", "k", {"x-qpid-no-local": False})
    (binding,) = host.exchanges["x"]
    assert binding.filter is None
    assert bound_result(host, "x", "q", "k", {"x-qpid-no-local": True}).args_not_matched


def test_a_selector_that_cannot_be_read_is_refused_with_the_place() -> None:
    host = scene("topic")
    refused = refusal(host.bind, "q", "x", "k", {JMS: "n > "})
    assert refused.condition is conditions.BIND_SELECTOR
    assert JMS in refused.text
    assert "at character 5" in refused.text
    assert (host.bindings, host.argument_octets) == (0, 0)


def test_arguments_that_are_known_are_refused_in_no_profile() -> None:
    host = VirtualHost(error_codes="spec")
    host.declare_queue("q")
    host.bind("q", "amq.topic", "k", {JMS: "n > 1"})
    refused = refusal(host.bind, "q", "amq.topic", "l", {JMS: "n > 1", "odd": 1})
    assert refused.condition is conditions.BIND_ARGUMENT
    assert "'odd'" in refused.text


@pytest.mark.parametrize("codes", ["qpid", "spec"])
@pytest.mark.rule("exchange.bind.arguments.unknown-argument")
def test_what_no_exchange_of_that_type_knows_is_refused_and_to_a_headers_exchange_it_is_a_header(codes: ErrorCodes) -> None:
    host = VirtualHost(error_codes=codes)
    host.declare_queue("q")
    for name in ("amq.direct", "amq.topic", "amq.fanout"):
        for argument in ("odd", "x-match", "qpid.exclusive-binding"):
            refused = refusal(host.bind, "q", name, "k", {argument: "all"})
            assert (refused.condition, repr(argument) in refused.text) == (conditions.BIND_ARGUMENT, True)
    host.bind("q", "amq.match", "k", {"x-match": "all", "odd": 1})
    assert host.bindings == 1


def test_what_was_bound_before_a_restart_is_bound_behind_it_whatever_its_arguments() -> None:
    host = VirtualHost()
    host.declare_queue("q", durable=True)
    host.bind("q", "amq.direct", "k", {"odd": 1}, restored=True)
    ledger = survey(host, Coordinator(host, host.journal, host.limits))
    then = VirtualHost()
    Rebuilding(then, Coordinator(then, then.journal, then.limits), False, 0.0, {}).build(ledger)
    assert then.queues["q"].bindings.keys() == {(then.exchanges["amq.direct"], "k")}


def test_a_changed_selector_is_another_binding_to_exchange_bound() -> None:
    host = scene("topic")
    host.bind("q", "x", "k", {JMS: "n > 1"})
    assert host.bind("q", "x", "k", {JMS: "n > 2"}) == 0
    assert not bound_result(host, "x", "q", "k", {JMS: "n > 1"}).args_not_matched
    assert bound_result(host, "x", "q", "k", {JMS: "n > 2"}).args_not_matched
    assert [found(host, n=2), found(host, n=1)] == [["q"], []]


def test_a_mandatory_message_that_no_selector_selects_reaches_no_queue() -> None:
    host = scene("fanout")
    host.bind("q", "x", "k", {JMS: "n > 1"})
    assert publish(host, "x", "k", application_headers={"n": 1}).reject is not None


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("kl"), st.none() | st.integers(0, 3)), max_size=8))
def test_a_queue_gets_a_message_once_if_one_of_its_bindings_lets_it_pass(bindings: list[tuple[str, str, int | None]]) -> None:
    host = VirtualHost()
    host.declare_exchange("x", "fanout")
    made: dict[tuple[str, str], int | None] = {}
    for name, key, least in bindings:
        host.declare_queue(name)
        host.bind(name, "x", key, None if least is None else {JMS: f"n >= {least}"})
        made.setdefault((name, key), least)
    for n in range(4):
        assert sorted(found(host, n=n)) == sorted({name for (name, _), least in made.items() if least is None or n >= least})


def refused_at(exchange: Direct, most: int) -> bool:
    try:
        exchange.route(message("k", application_headers={"n": 1}), most)
    except Refused as refused:
        return f"routing_steps is {most};" in str(refused)
    return False


@pytest.mark.parametrize(("text", "steps"), [("n = 2", 1), ("n = 2".ljust(STEP), 2), ("n = 1", 0), ("n = 1".ljust(STEP), 1)])
def test_selectors_that_are_asked_are_steps_of_routing(text: str, steps: int) -> None:
    """A short one costs nothing when the queue gets the message, else 1; a longer one costs more."""
    exchange = Direct("x")
    for number in range(3):
        exchange.bind(Queue(f"{number}"), "k", filter=Filter(Selector(text), Selectable()))
    most = 3 * steps
    assert [refused_at(exchange, limit) for limit in (max(most - 1, 0), most, most + 1)] == [most > 0, False, False]
