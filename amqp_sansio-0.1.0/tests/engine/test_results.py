"""Results, paired with what asked for them."""

from __future__ import annotations

import pytest

from amqp_sansio.engine.results import Owed, Results, exception_of
from amqp_sansio.errors import LocalProtocolError
from amqp_sansio.kernel.serials import TOP, RangeSet
from amqp_sansio.spec import queue, tx
from amqp_sansio.spec.execution import Exception_


def test_a_result_is_for_what_waits_for_one() -> None:
    """A commit waits for its outcome, which is no result."""
    results = Results()
    results.asked[4] = queue.Query("q")
    results.said(5, tx.Commit())
    assert results.received(4) == queue.Query("q")
    assert results.received(5) is None
    del results.asked[4]
    assert results.received(4) is None
    assert results.stray == 2


def test_a_result_is_given_once_and_before_completion() -> None:
    results = Results()
    results.owed[4] = Owed(8, 4, "queue.queue-query-result")
    results.owed[5] = Owed(8, 1, "")
    with pytest.raises(LocalProtocolError):
        results.check_complete(RangeSet([(0, TOP)]))
    results.check_complete(RangeSet.of(5))
    results.check_result(4, None)
    results.given(4)
    with pytest.raises(LocalProtocolError):
        results.check_result(4, None)
    results.check_complete(RangeSet.of(4, 5))
    results.completed(RangeSet([(0, TOP)]))
    assert results.owed == {}


def test_an_exception_full_of_zeros_is_about_no_command() -> None:
    assert exception_of(Exception_(404, 0, 0, 0, 0)) == (None, None, None, None)
    assert exception_of(Exception_(404, 7, 0, 0, 0)) == (7, 0, 0, 0)
    assert exception_of(Exception_(404, 7)) == (7, None, None, None)
    assert exception_of(Exception_(404)) == (None, None, None, None)
