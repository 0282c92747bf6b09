"""An entry is a message in one queue."""

from __future__ import annotations

import pytest
from tests.broker.model.things import message

from amqp_sansio.broker.model.entry import AVAILABLE, Entry
from amqp_sansio.broker.model.queue import Queue
from amqp_sansio.spec.message import DeliveryProperties
from amqp_sansio.wire.headers import decode_headers


def redelivered(entry: Entry) -> bool:
    first = decode_headers(entry.header, 0, len(entry.header))[0]
    assert isinstance(first, DeliveryProperties)
    return first.redelivered


@pytest.mark.rule("message.delivery-properties.redelivered.implementation")
def test_the_header_says_whether_somebody_may_have_had_the_message() -> None:
    queue = Queue("q")
    entry = queue.put(message())
    assert (entry.redelivered, redelivered(entry)) == (False, False)
    assert queue.take() is entry
    queue.release(entry, set_redelivered=True)
    assert (entry.redelivered, redelivered(entry)) == (True, True)


def test_a_message_that_was_published_as_redelivered_is_delivered_so() -> None:
    entry = Queue("q").put(message(redelivered=True))
    assert (entry.redelivered, redelivered(entry)) == (True, True)


def test_two_queues_have_two_entries_of_one_message() -> None:
    sent = message()
    one, two = Queue("a").put(sent), Queue("b").put(sent)
    assert one.message is two.message
    assert one.queue.acquire(one)
    assert two.state == AVAILABLE


def test_it_shows_what_it_is_and_not_what_is_in_it() -> None:
    shown = repr(Queue("q").put(message("key", b"secret")))
    assert "available" in shown
    assert "secret" not in shown
