"""What a client knows of one session: its credit, and whether the broker may have ended it."""

from __future__ import annotations

import pytest

from amqp_sansio.engine.session import Session
from amqp_sansio.spec.dtx import Xid
from amqp_sansio.testing.simulation.ledger import MessageGroup
from amqp_sansio.testing.simulation.outcome import InvariantError
from amqp_sansio.testing.simulation.session_model import Allowance, Branch, Tenure


def test_a_window_moves_with_completions_and_credit_does_not() -> None:
    for window in (True, False):
        allowance = Allowance("d", window)
        allowance.grant(1, 10)
        allowance.transfer(10)
        with pytest.raises(InvariantError, match="credit is never exceeded"):
            allowance.transfer(1)
        allowance.complete(10)
        if window:
            allowance.transfer(10)
        else:
            with pytest.raises(InvariantError):
                allowance.transfer(10)


def test_octets_are_counted_too() -> None:
    allowance = Allowance("d", True)
    allowance.grant(5, 10)
    assert allowance.left == 0  # nobody knows how large the next one is
    with pytest.raises(InvariantError, match="11 of octets"):
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
    with pytest.raises(InvariantError):
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
    with pytest.raises(InvariantError):
        allowance.transfer(1)


def tenure() -> Tenure:
    return Tenure("t", "client 1", Session(b"t", "client"))


def test_a_session_is_firm_until_its_connection_breaks_and_then_as_long_as_it_was_granted() -> None:
    made = tenure()
    assert not made.loose(1.0)
    made.granted = 100
    made.harm(10.0)
    made.harm(50.0)
    assert (made.loose(94.0), made.loose(95.0)) == (False, True)
    made.well()
    assert not made.loose(1000.0)


def test_a_session_that_was_granted_nothing_or_whose_broker_crashed_may_have_lost_it() -> None:
    made = tenure()
    made.harm(1.0)
    assert made.loose(1.0)
    made = tenure()
    made.granted, made.crashed = 100, True
    assert made.loose(1.0)


def test_work_belongs_to_the_transaction_that_is_open() -> None:
    made = tenure()
    branch = made.branch = Branch(Xid(1, b"a", b""), MessageGroup("b"))
    assert made.work is branch.group
    branch.stage = "ended"
    assert repr(made.work) == "None"
    made.transactional, made.group = True, MessageGroup("g")
    assert made.work is made.group
