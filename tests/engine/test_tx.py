"""Local transactions: what a client says, and how it learns the outcome."""

from __future__ import annotations

import pytest
from tests.carriers import attached_session

from amqp_sansio.config import Profile
from amqp_sansio.engine.session import Session
from amqp_sansio.errors import LocalProtocolError, SessionDetachedError
from amqp_sansio.events import CommandsCompleted, TransactionEnded, TransactionOutcome
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec import message, tx
from amqp_sansio.spec import session as c

COMMITTED, ROLLED_BACK = TransactionOutcome.COMMITTED, TransactionOutcome.ROLLED_BACK


def test_commit_and_rollback_end_in_one_event_each() -> None:
    carrier, session = attached_session("client")
    local = session.select_tx()
    session.publish("ex", body=b"1")
    first = local.commit()
    session.publish("ex", body=b"2")
    second = local.rollback()
    said = [each for each in carrier.said() if each.VERB.startswith("tx.")]
    assert said == [tx.Select(), tx.Commit(), tx.Rollback()]
    assert list(local.under_way) == [first, second]
    carrier.happened()
    carrier.hear(c.Completed(RangeSet([(0, first)])))
    assert carrier.happened() == [
        CommandsCompleted(b"s", RangeSet([(0, first)])), TransactionEnded(b"s", first, COMMITTED),
    ]  # fmt: skip
    assert list(local.under_way) == [second]
    carrier.hear(c.Completed(RangeSet([(0, second)])))
    assert carrier.happened()[1:] == [TransactionEnded(b"s", second, ROLLED_BACK)]
    assert not local.under_way


def test_the_outcome_is_asked_for_promptly_unless_the_caller_does_not_want_that() -> None:
    for sync in (1, 0):
        carrier, session = attached_session("client")
        local = session.select_tx()
        carrier.take()
        local.commit(sync=bool(sync))
        assert carrier.take()[-4:-2] == bytes([1, sync])  # the session header of the command: its size and its flags


def test_without_select_nothing_is_sent() -> None:
    carrier, session = attached_session("client")
    for verb in (session.tx.commit, session.tx.rollback):
        with pytest.raises(LocalProtocolError) as raised:
            verb()
        assert "tx.select" in raised.value.legal
    assert carrier.said() == []
    assert session.tx.under_way == ()


def test_a_server_has_no_transaction_to_commit() -> None:
    _, session = attached_session("server")
    with pytest.raises(LocalProtocolError, match="only the client"):
        session.select_tx()
    with pytest.raises(LocalProtocolError, match="only the client"):
        session.tx.commit()


def test_a_detached_session_is_a_race() -> None:
    carrier, session = attached_session("client")
    local = session.select_tx()
    carrier.hear(c.Detached(b"s", 0))
    with pytest.raises(SessionDetachedError):
        local.commit()
    assert repr(local) == "<Tx of b's'>"


def test_what_was_accepted_is_acquired_again_after_a_rollback() -> None:
    """Also by a session that went through a snapshot; after a commit it is over for good."""
    carrier, session = attached_session("client")
    subscription = session.subscribe("q", "d")
    subscription.grant(10)
    local = session.select_tx()
    carrier.hear(message.Transfer("d", 0, 0), body=b"1")
    carrier.hear(message.Transfer("d", 0, 0), body=b"2")
    session.accept([0, 1])
    assert not subscription.unsettled
    with pytest.raises(LocalProtocolError, match="no such unsettled transfer"):
        session.release(0)
    copy = Session.restore(session.snapshot())
    copy._transfers.decided(False)
    assert copy._transfers.unsettled() == RangeSet.of(0, 1)
    local.rollback()
    assert subscription.unsettled == RangeSet.of(0, 1)
    assert subscription.message_credit == 10  # the window moved when they were accepted, and does not move again
    session.release(0)
    session.accept(1)
    local.commit()
    local.rollback()
    assert not subscription.unsettled
    assert subscription.message_credit == 10


def test_under_manual_completion_what_is_rolled_back_is_completed_by_the_application() -> None:
    carrier, session = attached_session("client", profile=Profile(completion="manual"))
    subscription = session.subscribe("q", "d")
    subscription.grant(10)
    local = session.select_tx()
    carrier.hear(message.Transfer("d", 0, 0))
    session.accept(0)
    local.rollback()
    assert subscription.unsettled == RangeSet.of(0)
    assert subscription.message_credit == 9
    session.complete(0)
    assert subscription.message_credit == 10
    session.release(0)
    assert not subscription.unsettled
