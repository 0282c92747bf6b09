"""One heap knows what expires when."""

from __future__ import annotations

from tests.broker.model.things import message

from amqp_sansio.broker.model.expiry import Expiry
from amqp_sansio.broker.model.message import Entry
from amqp_sansio.broker.model.queue import Queue


def put(expiry: Expiry, queue: Queue, ttl: int | None) -> Entry:
    entry = queue.put(message(ttl=ttl))
    expiry.add(entry)
    return entry


def test_what_expires_first_comes_out_first() -> None:
    expiry, queue = Expiry(), Queue("q")
    late, never, early = [put(expiry, queue, ttl) for ttl in (3000, None, 1000)]
    assert (len(expiry), expiry.next) == (2, 1.0)
    assert expiry.due(0.999) == []
    assert expiry.due(1.0) == [early]
    assert (expiry.overdue(early), expiry.overdue(late), expiry.overdue(never)) == (True, False, False)
    assert expiry.next == 3.0
    assert expiry.due(10.0) == [late]
    assert expiry.next is None


def test_time_does_not_go_back() -> None:
    expiry, queue = Expiry(), Queue("q")
    expiry.due(10.0)
    entry = put(expiry, queue, 5000)
    assert expiry.due(1.0) == [entry]


def test_what_is_gone_does_not_come_out_and_does_not_stay() -> None:
    expiry, queue = Expiry(), Queue("q")
    entries = [put(expiry, queue, 1000 + at) for at in range(1000)]
    for entry in entries[1:-1]:
        queue.remove(entry)
        expiry.gone(entry)
    assert len(expiry) < 200
    queue.remove(entries[0])
    expiry.gone(entries[0])
    assert expiry.next == 1.999
    assert expiry.due(5.0) == [entries[-1]]
    assert len(expiry) == 0
