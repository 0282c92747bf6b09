"""What time and the limit of their number do to the branches of a coordinator."""

from __future__ import annotations

import attrs
import pytest
from tests.broker.transactions.stage import ME, XID, Stage, started, with_work

from amqp_sansio.broker.conditions import LIMIT, Refused
from amqp_sansio.broker.fronts.sessions.error_column import code_of
from amqp_sansio.broker.model.owner import SESSION, Owner
from amqp_sansio.limits import DEFAULT_BROKER_LIMITS
from amqp_sansio.spec.codes import XaStatus
from amqp_sansio.spec.dtx import Xid


def test_a_branch_has_60_seconds_from_the_first_tick_after_its_start() -> None:
    stage = with_work()
    c = stage.coordinator
    assert c.get_timeout(XID) == 60
    assert c.tick(1000.0) == 1060.0
    assert c.tick(1059.9) == 1060.0
    assert stage.on() == []
    assert c.tick(1060.0) is None
    assert stage.on() == [b"accepted"]  # at once, and not when somebody asks
    assert c.prepare(XID).status is XaStatus.XA_RBTIMEOUT
    assert c.branches == {}


def test_a_session_that_still_works_on_a_branch_that_timed_out_works_in_vain() -> None:
    stage = started()
    c = stage.coordinator
    stage.work().accept([stage.put(b"first")])
    c.tick(0.0)
    c.tick(60.0)
    stage.publish(b"late")
    stage.work().accept([stage.put(b"second")])
    assert stage.on() == [b"first", b"second"]
    assert c.end(ME, XID).status is XaStatus.XA_RBTIMEOUT
    assert c.rollback(XID).status is XaStatus.XA_RBTIMEOUT
    assert stage.on() == [b"first", b"second"]


@pytest.mark.rule("dtx.set-timeout.effective", "dtx.set-timeout.reset")
def test_a_timeout_that_is_set_counts_until_it_is_set_again_and_zero_is_the_default() -> None:
    stage = started()
    c = stage.coordinator
    c.set_timeout(XID, 3600)
    assert (c.get_timeout(XID), c.tick(0.0)) == (3600, 3600.0)
    c.end(ME, XID, suspend=True)
    c.start(ME, XID, resume=True)
    assert (c.get_timeout(XID), c.tick(100.0)) == (3600, 3600.0)
    c.set_timeout(XID, 2)
    assert (c.get_timeout(XID), c.tick(100.0)) == (2, 102.0)
    c.set_timeout(XID, 0)
    assert (c.get_timeout(XID), c.tick(101.0)) == (60, 161.0)
    c.set_timeout(XID, None)
    assert (c.get_timeout(XID), c.tick(101.0)) == (60, 161.0)
    with pytest.raises(Refused, match="too long") as told:
        c.set_timeout(XID, 3601)
    assert code_of(told.value, "qpid") == code_of(told.value, "spec") == 542
    assert (c.get_timeout(XID), c.tick(101.0)) == (60, 161.0)


def test_a_branch_that_can_only_be_rolled_back_times_out_too() -> None:
    stage = with_work()
    c = stage.coordinator
    c.start(ME, XID, join=True)
    c.owner_ended(ME)
    c.tick(0.0)
    c.tick(60.0)
    assert stage.on() == [b"accepted"]
    assert c.rollback(XID).status is XaStatus.XA_RBTIMEOUT


def test_a_timeout_that_is_set_too_late_has_no_effect() -> None:
    stage = with_work()
    c = stage.coordinator
    c.tick(0.0)
    c.tick(60.0)
    c.set_timeout(XID, 100)
    assert c.tick(61.0) is None
    assert c.get_timeout(XID) == 100
    assert c.commit(XID, one_phase=True).status is XaStatus.XA_RBTIMEOUT


@pytest.mark.parametrize("over", [-1, 0, 1])
def test_limit_branches(over: int) -> None:
    """Branches at the limit less one, at it and beyond it; one that was forgotten makes room for another."""
    stage = Stage(limits=attrs.evolve(DEFAULT_BROKER_LIMITS, branches=3))
    c = stage.coordinator
    owners = [Owner(SESSION) for _ in range(3)]
    for number in range(3 + min(over, 0)):
        c.start(owners[number], Xid(number))
    if over == 1:
        with pytest.raises(Refused, match="limit branches is 3") as told:
            c.start(ME, XID)
        assert (told.value.condition, code_of(told.value, "qpid")) == (LIMIT, 506)
        assert len(c.branches) == 3
        c.end(owners[0], Xid(0))
        c.rollback(Xid(0))
        assert c.start(ME, XID).status is XaStatus.XA_OK
    assert len(c.branches) == 3 + min(over, 0)


def test_a_branch_that_timed_out_and_that_nobody_asks_for_makes_room() -> None:
    stage = Stage(limits=attrs.evolve(DEFAULT_BROKER_LIMITS, branches=2))
    c = stage.coordinator
    one, other = Owner(SESSION), Owner(SESSION)
    c.start(one, Xid(1))
    c.start(other, Xid(2))
    c.tick(0.0)
    c.tick(60.0)
    with pytest.raises(Refused, match="limit branches"):
        c.start(ME, XID)  # somebody has not heard of either yet
    c.owner_ended(other)
    c.end(one, Xid(1))
    c.start(ME, XID)
    assert [xid[0] for xid in c.branches] == [1, 1]
    with pytest.raises(Refused) as told:
        c.rollback(Xid(2))
    assert code_of(told.value, "qpid") == 404
