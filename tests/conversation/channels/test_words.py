"""The methods that clients use by name."""

from __future__ import annotations

from amqp_sansio.conversation.channels import words
from amqp_sansio.spec.methods import exchange, queue


def test_every_word_puts_its_arguments_where_they_belong() -> None:
    said = words.declare_queue("q", True, False, True, False, {"x": 1})
    assert (said.queue, said.passive, said.durable, said.exclusive, said.auto_delete) == ("q", True, False, True, False)
    assert said.arguments == {"x": 1}
    said = words.declare_queue("q", False, True, False, True, None)
    assert (said.passive, said.durable, said.exclusive, said.auto_delete) == (False, True, False, True)
    assert not said.arguments
    gone = words.delete_queue("q", True, False)
    assert (gone.queue, gone.if_unused, gone.if_empty) == ("q", True, False)
    assert words.purge("q").queue == "q"
    bound = words.bind("q", "e", "k", {"x": 1})
    assert (bound.queue, bound.exchange, bound.routing_key) == ("q", "e", "k")
    assert bound.arguments == {"x": 1}
    unbound = words.unbind("q", "e", "k", None)
    assert (unbound.queue, unbound.exchange, unbound.routing_key) == ("q", "e", "k")
    made = words.declare_exchange("e", "topic", False, True, False, True, None)
    assert (made.exchange, made.type_, made.passive, made.durable) == ("e", "topic", False, True)
    assert (made.auto_delete, made.internal) == (False, True)
    removed = words.delete_exchange("e", True)
    assert (removed.exchange, removed.if_unused) == ("e", True)
    assert not any(each.no_wait for each in (said, gone, bound, unbound, made, removed))


def test_answers_are_read() -> None:
    answer = queue.DeclareOk("q", 3, 1)
    assert words.declared(answer) is answer
    assert words.count(queue.PurgeOk(4)) == 4
    assert words.count(queue.DeleteOk(5)) == 5
    assert isinstance(words.declare_exchange("e", "direct", True, False, False, False, None), exchange.Declare)


def test_no_name_of_a_queue_is_that_of_the_last_one() -> None:
    unbound = words.with_queue(queue.Unbind("", "e", "", {"x": 1}, 0, False), "q")
    assert unbound == queue.Unbind("q", "e", "q", {"x": 1}, 0, False)
    assert words.with_queue(queue.Bind("", "e", "k", True, {}, 0), "q") == queue.Bind("q", "e", "k", True, {}, 0)
    assert words.with_queue(queue.Delete("", True, False, False, 0), "q") == queue.Delete("q", True, False, False, 0)
    for other in (queue.Bind("r", "e", "", False, {}, 0), queue.Purge("", False, 0), exchange.Bind("", "e", "", False, {})):
        assert words.with_queue(other, "q") is other
