"""When queues go that nobody uses."""

from __future__ import annotations

from amqp_sansio.broker.model.lingering import Lingering
from amqp_sansio.broker.model.queue import Queue
from amqp_sansio.kernel.deadlines import AT_ONCE


def test_the_time_begins_with_the_next_moment_and_ends_so_many_seconds_later() -> None:
    lingering = Lingering()
    long, short = Queue("long", linger=10), Queue("short", linger=2)
    assert (lingering.next, len(lingering)) == (None, 0)
    for queue in (long, short):
        lingering.begin(queue)
    moments = [lingering.next]
    gone = []
    for now in (100.0, 101.9, 102.0, 200.0):
        gone.append(lingering.due(now))
        moments.append(lingering.next)
    assert gone == [[], [], [short], [long]]
    assert moments == [AT_ONCE, 102.0, 102.0, 110.0, None]


def test_who_is_used_again_stays_and_begins_anew() -> None:
    lingering = Lingering()
    queue = Queue("q", linger=2)
    lingering.begin(queue)
    lingering.stop(queue)
    assert (lingering.due(0.0), lingering.next) == ([], None)
    lingering.begin(queue)
    lingering.due(0.0)
    lingering.stop(queue)
    assert (lingering.due(5.0), lingering.next) == ([], None)
    lingering.begin(queue)
    lingering.due(5.0)
    lingering.begin(queue)
    lingering.due(6.0)
    assert (lingering.due(7.9), lingering.due(8.0)) == ([], [queue])


def test_what_was_stopped_is_forgotten() -> None:
    lingering = Lingering()
    lingering.begin(Queue("first", linger=1))
    for _ in range(1000):
        queue = Queue("q", linger=2)
        lingering.begin(queue)
        lingering.due(0.0)
        lingering.stop(queue)
    lingering.begin(Queue("last", linger=2))
    lingering.due(0.0)
    assert len(lingering) < 70
