"""The calls for queues, exchanges and bindings, from blocking code."""

from __future__ import annotations

import pytest
from tests.adapters.served import Served

from amqp_sansio.adapters.sync import connect
from amqp_sansio.adapters.sync.topology import Topology
from amqp_sansio.conversation.errors import SessionFailed
from amqp_sansio.spec import queue


def test_a_broker_does_what_they_say() -> None:
    with Served() as served, connect(served.url) as connection, connection.session() as session:
        session.declare_exchange("e", "topic", timeout=9)
        session.declare_queue("q", arguments={"qpid.max_count": 10})
        session.bind("q", "e", "a.#")
        assert not session.bound("e", "q", "a.#").key_not_matched
        session.publish("e", "a.b", b"x")
        assert session.query_queue("q").message_count == 1
        session.purge("q")
        session.unbind("q", "e", "a.#")
        assert session.bound("e", "q", "a.#").key_not_matched
        session.delete_exchange("e")
        session.delete_queue("q")
        assert session.query_queue("q").queue is None
        with pytest.raises(SessionFailed, match="404"):
            session.declare_queue("q", passive=True)


def test_the_calls_are_those_of_a_session() -> None:
    with pytest.raises(NotImplementedError):
        Topology().execute(queue.Purge("q"))
