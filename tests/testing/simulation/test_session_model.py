"""What a client knows of one session: above all, whether the broker may have ended it."""

from __future__ import annotations

from amqp_sansio.engine.session import Session
from amqp_sansio.spec.dtx import Xid
from amqp_sansio.testing.simulation.item import Group
from amqp_sansio.testing.simulation.session_model import Branch, Tenure


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
    branch = made.branch = Branch(Xid(1, b"a", b""), Group("b"))
    assert made.work is branch.group
    branch.stage = "ended"
    assert repr(made.work) == "None"
    made.transactional, made.group = True, Group("g")
    assert made.work is made.group
