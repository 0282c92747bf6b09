"""A cursor sees what is there and takes nothing."""

from __future__ import annotations

from tests.broker.model.things import message

from amqp_sansio.broker.model.cursor import Cursor
from amqp_sansio.broker.model.queue import Queue


def seen(cursor: Cursor) -> list[bytes]:
    found = []
    while (entry := cursor.next()) is not None:
        found.append(entry.message.body)
    return found


def test_everything_is_seen_once_urgent_ones_first_and_what_comes_later_too() -> None:
    queue = Queue("q")
    for at in range(4):
        queue.put(message(body=b"%d" % at, priority=9 if at == 2 else 4))
    cursor = queue.cursor()
    assert seen(cursor) == [b"2", b"0", b"1", b"3"]
    queue.put(message(body=b"4"))
    queue.put(message(body=b"5", priority=9))
    assert seen(cursor) == [b"5", b"4"]
    assert queue.available == 6


def test_two_cursors_do_not_know_of_each_other() -> None:
    queue = Queue("q")
    queue.put(message(body=b"a"))
    first = queue.cursor()
    assert seen(first) == [b"a"]
    assert seen(queue.cursor()) == [b"a"]


def test_what_is_acquired_is_passed_over() -> None:
    queue = Queue("q")
    for at in range(3):
        queue.put(message(body=b"%d" % at))
    taken = queue.take()
    assert taken is not None
    cursor = queue.cursor()
    assert seen(cursor) == [b"1", b"2"]
    queue.release(taken)
    assert seen(cursor) == []
    assert seen(queue.cursor()) == [b"0", b"1", b"2"]


def test_what_is_gone_while_somebody_looks() -> None:
    queue = Queue("q")
    all_of_them = [queue.put(message(body=b"%d" % at)) for at in range(4)]
    cursor = queue.cursor()
    assert cursor.next() is all_of_them[0]
    queue.remove(all_of_them[0])
    queue.remove(all_of_them[1])
    assert seen(cursor) == [b"2", b"3"]


def test_what_is_held_is_waited_for() -> None:
    queue = Queue("q")
    queue.put(message(body=b"0"))
    held = queue.put(message(body=b"1"), held=True)
    queue.put(message(body=b"2"))
    cursor = queue.cursor()
    assert seen(cursor) == [b"0"]
    queue.unhold(held)
    assert seen(cursor) == [b"1", b"2"]
