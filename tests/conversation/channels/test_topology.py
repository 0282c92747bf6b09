"""What was declared through a connection."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.steps import assert_linear

from amqp_sansio.conversation.channels.topology import Declared, Topology, everything, nothing
from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.errors import ChannelClosed, LimitError
from amqp_sansio.spec.base import Method
from amqp_sansio.spec.methods import exchange, queue


def declared_queue(name: str, passive: bool = False) -> queue.Declare:
    return queue.Declare(name, passive, False, False, False, False, {}, 0)


def declared_exchange(name: str, passive: bool = False) -> exchange.Declare:
    return exchange.Declare(name, "direct", passive, False, False, {}, 0, False, False)


def bound(name: str, source: str = "e", key: str = "k", **arguments: str) -> queue.Bind:
    return queue.Bind(name, source, key, False, arguments, 0)


def joined(to: str, source: str = "e", key: str = "k") -> exchange.Bind:
    return exchange.Bind(to, source, key, False, {})


def filled(*methods: Declared) -> Topology:
    topology = Topology()
    for method in methods:
        topology.hear(method, None)
    return topology


def test_what_is_declared_is_kept_once_in_its_order() -> None:
    methods = declared_exchange("e"), declared_queue("a"), declared_queue("b"), bound("a"), joined("f")
    topology = filled(*methods, *methods)
    assert topology.exchanges == methods[:1]
    assert list(topology.queues.values()) == list(methods[1:3])
    assert topology.bindings == methods[3:]


def test_passive_declarations_and_the_default_exchange_declare_nothing() -> None:
    topology = filled(declared_queue("a", passive=True), declared_exchange("e", passive=True), declared_exchange(""))
    assert (topology.exchanges, topology.queues) == ((), {})


def test_a_queue_that_the_server_named_is_kept_by_that_name() -> None:
    topology = Topology()
    topology.hear(declared_queue(""), queue.DeclareOk("amq.gen-1", 0, 0))
    topology.hear(declared_queue(""), None)
    others = bound("other"), joined("amq.gen-1")
    for each in (bound("amq.gen-1"), *others):
        topology.hear(each, None)
    assert list(topology.queues) == ["amq.gen-1"]
    topology.rename({"amq.gen-1": "amq.gen-2"})
    assert list(topology.queues) == ["amq.gen-2"]
    assert list(topology.bindings) == [bound("amq.gen-2"), *others]
    topology.hear(queue.Unbind("amq.gen-2", "e", "k", {}, 0, False), queue.UnbindOk())
    assert list(topology.bindings) == [*others]


def test_key_and_arguments_distinguish_bindings() -> None:
    assert len(filled(bound("a"), bound("a", key="l"), bound("a", x="1"), bound("a", x="2"), bound("b")).bindings) == 5


def test_what_is_removed_is_forgotten_with_its_bindings() -> None:
    topology = filled(declared_exchange("e"), declared_queue("a"), declared_queue("b"), bound("a"), bound("b"), joined("f"))
    topology.hear(queue.Unbind("a", "e", "k", {}, 0, False), queue.UnbindOk())
    assert list(topology.bindings) == [bound("b"), joined("f")]
    topology.hear(queue.Delete("b", False, False, False, 0), queue.DeleteOk(0))
    assert list(topology.queues) == ["a"]
    assert list(topology.bindings) == [joined("f")]
    topology.hear(exchange.Unbind("f", "e", "k", False, {}), exchange.UnbindOk())
    assert not topology.bindings
    topology.hear(joined("f"), None)
    topology.hear(bound("a"), None)
    topology.hear(exchange.Delete("e", False, False, 0), exchange.DeleteOk())
    assert (topology.exchanges, topology.bindings) == ((), ())


def test_a_queue_that_goes_with_its_last_consumer_is_forgotten() -> None:
    going = queue.Declare("a", False, False, False, True, False, {}, 0)
    topology = filled(going, bound("a"), declared_queue("b"))
    assert [topology.goes_unconsumed(name) for name in ("a", "b", "c")] == [True, False, False]
    topology.forget_queue("a")
    assert (list(topology.queues), topology.bindings) == (["b"], ())


def test_what_the_server_refuses_is_dropped() -> None:
    declared: list[tuple[str, Declared]] = [("", declared_exchange("e")), ("a", declared_queue("a")), ("", bound("a"))]
    topology = filled(*[method for _, method in declared])
    for name, method in declared:
        topology.drop(name, method)
    assert (topology.exchanges, topology.queues, topology.bindings) == ((), {}, ())
    topology.drop(*declared[0])


def test_names_may_be_exchanged() -> None:
    topology = Topology()
    for name in ("a", "b"):
        topology.hear(queue.Declare("", False, False, False, False, False, {"of": name}, 0), queue.DeclareOk(name, 0, 0))
        topology.hear(bound(name), None)
    topology.rename({"a": "b", "b": "a", "unknown": "c"})
    assert {name: each.arguments for name, each in topology.queues.items()} == {"b": {"of": "a"}, "a": {"of": "b"}}
    assert sorted([each.queue for each in topology.bindings if isinstance(each, queue.Bind)]) == ["a", "b"]


def test_the_user_chooses() -> None:
    assert everything(declared_queue("a"))
    assert not nothing(declared_queue("a"))
    topology = Topology(lambda each: isinstance(each, queue.Declare) and each.queue != "b")
    for method in (declared_queue("a"), declared_queue("b"), declared_exchange("e"), bound("a"), joined("f")):
        topology.hear(method, None)
    assert (list(topology.queues), topology.exchanges, topology.bindings) == (["a"], (), ())


def test_an_exchange_that_goes_with_its_last_binding_is_forgotten() -> None:
    def going(name: str) -> exchange.Declare:
        return exchange.Declare(name, "fanout", False, False, False, {}, 0, True, False)

    declared = going("e"), going("f"), declared_exchange("g"), declared_queue("a"), declared_queue("b")
    topology = filled(*declared, bound("a"), bound("b"), joined("e", "f"), joined("f", "g"))
    topology.hear(queue.Unbind("a", "e", "k", {}, 0, False), queue.UnbindOk())
    assert [each.exchange for each in topology.exchanges] == ["e", "f", "g"]
    topology.hear(queue.Delete("b", False, False, False, 0), queue.DeleteOk(0))
    assert [each.exchange for each in topology.exchanges] == ["g"]
    assert not topology.bindings
    ring = filled(going("e"), going("f"), joined("e", "f"), joined("f", "e"))
    ring.hear(exchange.Delete("e", False, False, 0), exchange.DeleteOk())
    assert (ring.exchanges, ring.bindings) == ((), ())


def test_a_long_row_of_exchanges_goes_at_once() -> None:
    def prepared(size: int) -> Callable[[], object]:
        topology = Topology()
        for each in range(size):
            topology.hear(exchange.Declare(f"{each}", "fanout", False, False, False, {}, 0, True, False), None)
            topology.hear(joined(f"{each + 1}", f"{each}"), None)
        return lambda: topology.hear(exchange.Delete(f"{size}", False, False, 0), exchange.DeleteOk())

    assert_linear(prepared, 500)


def test_what_is_known_needs_no_room() -> None:
    topology = Topology(everything, 3)
    assert not topology.must_have_room(declared_queue("a", passive=True))
    assert not topology.must_have_room(declared_exchange(""))
    assert not topology.must_have_room(queue.Purge("a", False, 0))
    for method in (declared_exchange("e"), declared_queue("a"), bound("a")):
        assert topology.must_have_room(method)
        topology.hear(method, None)
        assert not topology.must_have_room(method)
    assert len(topology) == 3
    for more in (declared_exchange("f"), declared_queue("b"), declared_queue(""), bound("a", key="l"), joined("f")):
        with pytest.raises(LimitError, match="declared"):
            topology.must_have_room(more)


def test_what_waits_for_its_answer_takes_room() -> None:
    topology = Topology(everything, 1)
    answer: Ticket[Method] = Ticket()
    topology.expect(answer)
    with pytest.raises(LimitError):
        topology.must_have_room(declared_queue("a"))
    answer.fail(ChannelClosed(1, "refused"))
    assert topology.must_have_room(declared_queue("a"))
