"""The other side's subscriptions with us: their flushes and windows."""

from __future__ import annotations

from tests.carriers import attached_session

from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.ledger.credit import INFINITE
from amqp_sansio.spec import message
from amqp_sansio.spec import session as c


def test_a_flush_completed_ends_the_credit() -> None:
    carrier, session = attached_session("server")
    carrier.hear(message.Subscribe("q", "d"), message.Flow("d", 0, 5), message.Flush("d"))
    assert session.subscribers["d"].message_credit == 5
    session._complete_one(2)
    assert session.subscribers["d"].message_credit == 0
    assert not session._subscribers.flushes


def test_completions_tell_whose_window_they_opened() -> None:
    carrier, session = attached_session("server")
    carrier.hear(message.Subscribe("q", "d"), message.Flow("d", 0, 5), message.Flow("d", 1, INFINITE))
    id = session.deliver("d", body=b"x")
    carrier.hear(c.Completed(RangeSet.of(id)))
    assert list(session._subscribers.replenished) == [session.subscribers["d"]]
