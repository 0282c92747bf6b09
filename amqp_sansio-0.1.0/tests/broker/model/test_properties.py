"""What a message says of itself, in no family's words."""

from __future__ import annotations

import pickle

from amqp_sansio.broker.model.properties import NO_HEADERS, Properties


def test_properties_that_are_not_set() -> None:
    nothing = Properties()
    assert (nothing.exchange, nothing.message_id, nothing.user_id, nothing.headers) == ("", "", b"", NO_HEADERS)
    assert (nothing.priority, nothing.ttl, nothing.reply_to, nothing.content_type) == (None, None, None, None)


def test_properties_are_a_value() -> None:
    said = Properties("x", "k", True, 5, reply_to=("", "q"))
    assert said == Properties("x", "k", True, 5, reply_to=("", "q")) != Properties()
    assert pickle.loads(pickle.dumps(said)) == said
