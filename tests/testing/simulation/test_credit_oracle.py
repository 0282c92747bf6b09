"""Credit as a client counts it."""

from __future__ import annotations

import pytest

from amqp_sansio.testing.simulation.credit_oracle import Allowance
from amqp_sansio.testing.simulation.outcome import Fault


def test_a_window_moves_with_completions_and_credit_does_not() -> None:
    for window in (True, False):
        allowance = Allowance("d", window)
        allowance.grant(1, 10)
        allowance.transfer(10)
        with pytest.raises(Fault, match="credit is never exceeded"):
            allowance.transfer(1)
        allowance.complete(10)
        if window:
            allowance.transfer(10)
        else:
            with pytest.raises(Fault):
                allowance.transfer(10)


def test_octets_are_counted_too() -> None:
    allowance = Allowance("d", True)
    allowance.grant(5, 10)
    assert allowance.left == 0  # nobody knows how large the next one is
    with pytest.raises(Fault, match="11 of octets"):
        allowance.transfer(11)


def test_a_stop_takes_what_was_granted_before_it_once_it_is_complete() -> None:
    allowance = Allowance("d", True)
    allowance.grant(2)
    allowance.end(7)
    allowance.grant(1)
    allowance.transfer(1)
    assert allowance.left == 0
    allowance.ended(7)
    allowance.complete(1)
    assert allowance.left == 1


def test_what_was_sent_before_a_stop_may_come_again_after_it_when_the_session_is_resumed() -> None:
    allowance = Allowance("d", True)
    allowance.grant(1)
    allowance.end(7)
    allowance.resumed()
    allowance.ended(7)
    allowance.transfer(1)
    with pytest.raises(Fault):
        allowance.transfer(1)
    allowance.grant(4)
    assert allowance.left == 3  # it stands in the window


def test_nobody_knows_of_which_credit_a_message_came_that_crossed_a_flush() -> None:
    """It may have come of the credit before the flush or of what was granted behind it: so much more may come, not must."""
    allowance = Allowance("d", False)
    allowance.grant(1)
    allowance.end(7)
    allowance.grant(2)
    allowance.transfer(1)
    allowance.transfer(1)
    allowance.ended(7)
    assert allowance.left == 0
    allowance.transfer(1)
    with pytest.raises(Fault):
        allowance.transfer(1)
