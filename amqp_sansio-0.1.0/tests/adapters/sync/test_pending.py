"""What is not waited for is asked for its result."""

from __future__ import annotations

import pytest
from tests.adapters.served import Served

from amqp_sansio.adapters.sync import Pending, connect
from amqp_sansio.conversation.errors import MessageReturned
from amqp_sansio.conversation.ticket import Ticket


def test_it_is_asked_as_often_as_one_likes() -> None:
    with Served() as served, connect(served.url) as connection, connection.session() as session:
        session.declare_queue("q")
        pending = session.send("", "q", b"x")
        assert [pending.result(), pending.result(0.0), pending.done, repr(pending)] == [None, None, True, "<Pending done>"]
        lost = session.send("", "nowhere", b"x", mandatory=True)
        for _ in range(2):
            with pytest.raises(MessageReturned):
                lost.result()


def test_it_waits_no_longer_than_it_may() -> None:
    ticket: Ticket[int] = Ticket()
    asked: list[float | None] = []

    def wait(ticket: Ticket[int], timeout: float | None) -> int:
        asked.append(timeout)
        raise TimeoutError

    pending = Pending(ticket, wait)
    for timeout in (0.5, None):
        with pytest.raises(TimeoutError):
            pending.result(timeout)
    assert (asked, repr(pending)) == ([0.5, None], "<Pending open>")
