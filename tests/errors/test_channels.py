"""The errors of clients of channels: one sentence each, by value."""

from __future__ import annotations

import pickle

import pytest

from amqp_sansio.errors import AmqpError, ChannelClosed, InDoubt, MessageNacked, SubscriptionCancelled

EACH = [
    (ChannelClosed(3, "refused", 404, "no queue", "queue.declare"), "channel 3 is closed: refused"),
    (InDoubt(7, "the connection was lost"), "publish 7 is in doubt: the connection was lost"),
    (MessageNacked(7), "the server did not take over publish 7 (basic.nack)"),
    (SubscriptionCancelled("tag", "q"), "the server cancelled consumer 'tag' of queue 'q'"),
]


@pytest.mark.parametrize(("error", "text"), EACH, ids=lambda value: type(value).__name__)
def test_an_error_is_one_sentence_and_travels_by_value(error: AmqpError, text: str) -> None:
    assert str(error) == text
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert vars(copy) == vars(error)
