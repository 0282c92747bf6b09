"""A transfer to a session that is not settled."""

from __future__ import annotations

import pytest
from tests.broker.model.things import message

from amqp_sansio.broker.fronts.sessions.unsettled import Unsettled
from amqp_sansio.broker.model.queue import Queue


def test_it_may_be_acquired_later_and_is_settled_as_it_was_sent() -> None:
    entry = Queue("q").put(message())
    record = Unsettled(entry, False, True)
    assert not record.acquired
    record.acquired = True
    assert (record.entry, record.acquired, record.explicit) == (entry, True, True)
    with pytest.raises(AttributeError):
        record.other = 1  # type: ignore[attr-defined]  # there are many of them: they hold nothing else
