"""Queues: order, priorities, acquisition, release."""

from __future__ import annotations

import math
from typing import Any

import pytest
from tests.broker.model.things import Sink, bodies, message

from amqp_sansio.broker.model.entry import GONE
from amqp_sansio.broker.model.queue import Queue, level_of
from amqp_sansio.broker.model.subscribers import Asks


def filled(count: int, **properties: Any) -> Queue:
    queue = Queue("q")
    for at in range(count):
        queue.put(message(body=b"%d" % at, **properties))
    return queue


def counts(queue: Queue) -> tuple[int, int, int]:
    return queue.available, queue.acquired, queue.held


# --- priorities -----------------------------------------------------------------------------------------------------------


@pytest.mark.rule("message.priority-level-implementation")
@pytest.mark.parametrize("levels", range(1, 11))
def test_priorities_are_divided_evenly_around_the_middle(levels: int) -> None:
    lowest, highest = 5 - math.ceil(levels / 2), 4 + levels // 2
    by_priority = [level_of(priority, levels) for priority in range(10)]
    assert set(by_priority[: lowest + 1]) == {0}
    assert set(by_priority[max(highest, 0) :]) == {levels - 1}
    assert by_priority[lowest : highest + 1] == sorted(set(by_priority))
    assert by_priority == list(Queue("q", levels=levels).level)


@pytest.mark.rule("message.min-priority-levels")
def test_two_levels_tell_0_from_9() -> None:
    queue = Queue("q", levels=2)
    for priority in (0, 9):
        queue.put(message(body=b"%d" % priority, priority=priority))
    assert bodies(queue) == [b"9", b"0"]
    assert [level_of(priority, 2) for priority in range(10)] == [0] * 5 + [1] * 5


def test_levels_that_some_number_tells_apart_more_levels_tell_apart_too() -> None:
    for levels in range(1, 10):
        for a in range(10):
            for b in range(a):
                if level_of(a, levels) != level_of(b, levels):
                    assert level_of(a, levels + 1) != level_of(b, levels + 1)


@pytest.mark.rule("message.priority-delivery")
def test_messages_of_one_priority_come_in_order_persistent_or_not() -> None:
    queue = Queue("q", durable=True)
    for at in range(10):
        queue.put(message(body=b"%d" % at, delivery_mode=1 + at % 2))
    assert bodies(queue) == [b"%d" % at for at in range(10)]


def test_urgent_messages_come_first() -> None:
    queue = Queue("q")
    for priority in (4, 0, 9, 4, 5, 9):
        queue.put(message(body=b"%d" % priority, priority=priority))
    taken = []
    while (entry := queue.take()) is not None:
        taken.append(entry.message.body)
    assert taken == [b"9", b"9", b"5", b"4", b"4", b"0"]


# --- taking and giving back -----------------------------------------------------------------------------------------------


def test_counts_and_octets() -> None:
    queue = filled(3)
    octets = queue.octets
    assert octets == sum(entry.message.size for entry in queue.all())
    entry = queue.take()
    assert entry is not None
    assert (counts(queue), queue.octets, queue.messages) == ((2, 1, 0), octets, 3)
    assert queue.remove(entry)
    assert not queue.remove(entry)
    assert (counts(queue), queue.octets) == ((2, 0, 0), octets - entry.message.size)
    assert entry.state == GONE


def test_nothing_is_taken_from_an_empty_queue() -> None:
    assert Queue("q").take() is None


@pytest.mark.rule("message.release.ordering")
def test_what_is_released_has_its_place_again() -> None:
    queue = filled(6)
    taken = [queue.take() for _ in range(5)]
    for at in (3, 0, 4, 1):
        entry = taken[at]
        assert entry is not None
        queue.release(entry)
    assert [entry.message.body for entry in queue.waiting()] == [b"0", b"1", b"3", b"4", b"5"]
    queue.put(message(body=b"fresh"))
    first = queue.take()
    assert first is taken[0]


def test_a_release_of_what_is_not_acquired_changes_nothing() -> None:
    queue = filled(1)
    (entry,) = queue.all()
    queue.release(entry, set_redelivered=True)
    assert (counts(queue), entry.redelivered) == ((1, 0, 0), False)
    queue.remove(entry)
    queue.release(entry)
    assert counts(queue) == (0, 0, 0)


def test_only_what_is_available_can_be_acquired() -> None:
    queue = filled(3)
    middle = list(queue.all())[1]
    assert queue.acquire(middle)
    assert not queue.acquire(middle)
    assert [entry.message.body for entry in queue.waiting()] == [b"0", b"2"]
    assert counts(queue) == (2, 1, 0)


def test_a_release_without_the_mark_leaves_the_mark_as_it_was() -> None:
    queue = filled(1)
    for mark, expected in ((False, False), (True, True), (False, True)):
        entry = queue.take()
        assert entry is not None
        queue.release(entry, mark)
        assert entry.redelivered is expected


def test_what_is_held_holds_up_its_level_and_no_other() -> None:
    queue = filled(1)
    held = queue.put(message(body=b"held"), held=True)
    queue.put(message(body=b"behind"))
    queue.put(message(body=b"low", priority=0))
    assert counts(queue) == (3, 0, 1)
    taken = [entry.message.body for entry in iter(queue.take, None)]
    assert taken == [b"0", b"low"]
    queue.unhold(held)
    queue.unhold(held)
    assert counts(queue) == (2, 2, 0)
    assert [entry.message.body for entry in iter(queue.take, None)] == [b"held", b"behind"]


def test_what_is_held_cannot_be_acquired_but_removed() -> None:
    queue = Queue("q")
    held = queue.put(message(), held=True)
    assert not queue.acquire(held)
    assert queue.remove(held)
    queue.unhold(held)
    assert (counts(queue), queue.octets) == ((0, 0, 0), 0)


def test_all_of_them_stand_in_the_order_of_delivery() -> None:
    queue = filled(3)
    queue.put(message(body=b"urgent", priority=9))
    queue.take()
    queue.take()
    assert bodies(queue) == [b"urgent", b"0", b"1", b"2"]


def test_a_queue_without_subscribers() -> None:
    queue = filled(1)
    assert not queue.dispatch(10)
    assert not queue.able(message(), Asks(1000))
    queue.wake(Sink())
    queue.unsubscribe(Sink())
    assert queue.subscribers == 0
    assert "1 available" in repr(queue)
