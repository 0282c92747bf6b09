"""What all exchanges have in common."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.broker.model.things import message

from amqp_sansio.broker.model.queue import Queue
from amqp_sansio.broker.routing.direct import Direct
from amqp_sansio.broker.routing.exchange import Binding, Exchange
from amqp_sansio.spec.values import List, Map, Value


@pytest.mark.rule("exchange.bind.duplicates")
def test_a_second_binding_of_the_same_key_is_none_and_its_arguments_do_not_count() -> None:
    exchange, queue = Direct("x"), Queue("q")
    first = exchange.bind(queue, "k", Map({"a": 1}))
    assert first is not None
    assert exchange.bind(queue, "k", Map({"a": 2})) is None
    assert [(binding.key, binding.arguments) for binding in exchange] == [("k", Map({"a": 1}))]
    assert len(exchange) == 1
    assert "'k'" in repr(first)


def test_what_there_is() -> None:
    exchange, a, b, c = Direct("x"), Queue("a"), Queue("b"), Queue("c")
    one, two = Map({"n": 1}), Map({"n": 2})
    exchange.bind(a, "k", one)
    exchange.bind(a, "l", two)
    exchange.bind(b, "k")
    yes = [
        (None, None, None), (a, None, None), (None, "k", None), (a, "l", None), (a, "k", one), (a, None, two),
        (None, "l", two), (None, None, one), (b, "k", Map()),
    ]  # fmt: skip
    no = [
        (c, None, None), (None, "z", None), (b, "l", None), (a, "k", two), (b, None, one), (None, "k", two), (c, "k", one),
        (None, None, Map({"n": 3})),
    ]  # fmt: skip
    assert [exchange.has(*each) for each in yes] == [True] * len(yes)
    assert [exchange.has(*each) for each in no] == [False] * len(no)
    assert (a in exchange, c in exchange) == (True, False)


def test_an_unbound_queue_leaves_nothing_behind() -> None:
    exchange, a, b = Direct("x"), Queue("a"), Queue("b")
    exchange.bind(a, "k")
    exchange.bind(b, "k")
    assert exchange.unbind(a, "z") is None
    for queue in (a, b):
        removed = exchange.unbind(queue, "k")
        assert removed is not None
        assert not queue.bindings
    assert not exchange.has(None, None, None)
    assert not exchange.has(None, "k", None)
    assert exchange.was_bound


def test_a_type_says_how_it_routes() -> None:
    base = Exchange("x")
    assert bool(base)
    with pytest.raises(NotImplementedError):
        base.route(message())
    with pytest.raises(NotImplementedError):
        base.bind(Queue("q"), "k")
    (binding,) = base
    with pytest.raises(NotImplementedError):
        base.removed(binding)


# What is found by what is counted is what a look at all bindings finds, also when some of them are no more.
@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.sampled_from("kl"), st.sampled_from([None, 1, "1", (1,), {"n": None}])), max_size=8
    ),
    st.integers(0, 8),
)
def test_what_is_bound_with_arguments(bindings: list[tuple[str, str, object]], removed: int) -> None:
    exchange = Direct("x")
    queues = {name: Queue(name) for name in "abc"}
    given_ = [Map({"v": wired(value)}) for value in (None, 1, "1", (1,), {"n": None}, 2)]
    for name, key, value in bindings:
        exchange.bind(queues[name], key, Map({"v": wired(value)}))
    for binding in list(exchange)[:removed]:
        exchange.unbind(binding.queue, binding.key)
    for queue, asked, arguments in product((None, *queues.values()), (None, "k", "l", "m"), given_):
        found = [
            binding
            for binding in exchange
            if queue in (None, binding.queue) and asked in (None, binding.key) and binding.arguments == arguments
        ]
        assert exchange.has(queue, asked, arguments) == bool(found)


def wired(value: object) -> Value:
    return List(value) if isinstance(value, tuple) else Map(value) if isinstance(value, dict) else value  # type: ignore[return-value]


def test_a_question_about_arguments_looks_at_no_binding() -> None:
    """One who asks all the time must not hold the others up."""

    class Blind(Direct):
        def __iter__(self) -> Iterator[Binding]:
            raise AssertionError("looks at all bindings")

    exchange, queue = Blind("x"), Queue("q")
    for number in range(3):
        exchange.bind(queue, f"k{number}", Map({"n": number}))
    exchange._bindings.clear()
    assert exchange.has(queue, None, Map({"n": 2}))
    assert exchange.has(None, None, Map({"n": 2}))
    assert exchange.has(None, "k2", Map({"n": 2}))
    assert not exchange.has(queue, None, Map({"n": 3}))
