"""Local transactions and branches: what a client says of them, and how it learns the outcome."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.builds import wrong_type
from tests.carriers import attached_session

from amqp_sansio.config import Profile
from amqp_sansio.engine.session import Session
from amqp_sansio.engine.transactions import Dtx
from amqp_sansio.errors import EncodeError, LocalProtocolError, SessionDetachedError
from amqp_sansio.events import (
    BranchAnswered,
    BranchesRecovered,
    BranchTimeout,
    CommandsCompleted,
    ResultReceived,
    TransactionEnded,
    TransactionOutcome,
)
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec import dtx, execution, message, tx
from amqp_sansio.spec import session as c
from amqp_sansio.spec.base import Command
from amqp_sansio.spec.codes import XaStatus
from amqp_sansio.spec.xids import xid

X = xid(1, b"global", b"branch")

VERBS: list[tuple[Callable[[Dtx], int], Command]] = [
    (lambda d: d.prepare(X), dtx.Prepare(X)),
    (lambda d: d.commit(X), dtx.Commit(X, False)),
    (lambda d: d.commit(X, one_phase=True), dtx.Commit(X, True)),
    (lambda d: d.rollback(X), dtx.Rollback(X)),
    (lambda d: d.forget(X), dtx.Forget(X)),
    (lambda d: d.recover(), dtx.Recover()),
    (lambda d: d.get_timeout(X), dtx.GetTimeout(X)),
    (lambda d: d.set_timeout(X, 0), dtx.SetTimeout(X, 0)),
]


@pytest.mark.parametrize(("say", "command"), VERBS, ids=lambda value: value.VERB if isinstance(value, Command) else "")
def test_what_coordinates_is_sent_without_select(say: Callable[[Dtx], int], command: Command) -> None:
    carrier, session = attached_session("client")
    id = say(session.dtx)
    assert carrier.said()[-1] == command
    assert session.dtx.under_way == ((id, command.VERB, getattr(command, "xid", None)),)


def test_demarcation_needs_select() -> None:
    carrier, session = attached_session("client")
    for say in (session.dtx.start, session.dtx.end):
        with pytest.raises(LocalProtocolError):
            say(X)
    handle = session.select_dtx()
    session.select_dtx()
    handle.start(X)
    handle.end(X, suspend=True)
    handle.start(X, resume=True)
    handle.end(X, fail=True)
    handle.start(X, join=True)
    assert [each for each in carrier.said() if each.VERB.startswith("dtx.")] == [
        dtx.Select(), dtx.Select(), dtx.Start(X), dtx.End(X, suspend=True), dtx.Start(X, resume=True), dtx.End(X, fail=True),
        dtx.Start(X, join=True),
    ]  # fmt: skip


@pytest.mark.parametrize("status", list(XaStatus))
def test_an_answer_with_a_status(status: XaStatus) -> None:
    carrier, session = attached_session("client")
    id = session.dtx.prepare(X)
    carrier.happened()
    result = execution.Result(id, dtx.XaResult(int(status)))
    carrier.hear(result, result)  # said twice it is told once
    assert carrier.happened() == [
        ResultReceived(b"s", id, dtx.XaResult(int(status))), BranchAnswered(b"s", id, "dtx.prepare", X, status),
    ]  # fmt: skip
    assert session.dtx.under_way == ()
    carrier.hear(c.Completed(RangeSet.of(id)))
    assert [type(event).__name__ for event in carrier.happened()] == ["CommandsCompleted"]


@pytest.mark.parametrize("value", [None, dtx.XaResult(None), dtx.XaResult(99)])
def test_an_answer_that_tells_nothing(value: dtx.XaResult | None) -> None:
    carrier, session = attached_session("client")
    id = session.dtx.commit(X)
    carrier.happened()
    carrier.hear(execution.Result(id, value))
    assert carrier.happened()[-1] == BranchAnswered(b"s", id, "dtx.commit", X, None)


def test_answers_of_other_kinds() -> None:
    carrier, session = attached_session("client")
    handle = session.dtx
    forget, timeout, ask, recover = handle.forget(X), handle.set_timeout(X, 60), handle.get_timeout(X), handle.recover()
    carrier.happened()
    carrier.hear(
        c.Completed(RangeSet.of(forget, timeout)),
        execution.Result(ask, dtx.GetTimeoutResult(60)),
        execution.Result(recover, dtx.RecoverResult((X, xid(0, b"y")))),
    )
    assert [event for event in carrier.happened() if type(event).__name__.startswith("Branch")] == [
        BranchAnswered(b"s", forget, "dtx.forget", X, XaStatus.XA_OK),
        BranchAnswered(b"s", timeout, "dtx.set-timeout", X, XaStatus.XA_OK),
        BranchTimeout(b"s", ask, X, 60),
        BranchesRecovered(b"s", recover, (X, xid(0, b"y"))),
    ]


def test_lists_that_hold_no_xid() -> None:
    for listed in ((), None):
        carrier, session = attached_session("client")
        id = session.dtx.recover()
        carrier.hear(execution.Result(id, dtx.RecoverResult(listed)))
        assert carrier.happened()[-1] == BranchesRecovered(b"s", id, ())


def test_what_is_no_xid_or_no_time() -> None:
    carrier, session = attached_session("client")
    handle = session.select_dtx()
    carrier.said()
    wrong: list[Callable[[], object]] = [
        lambda: handle.start(dtx.Xid(0, bytes(65), b"")),
        lambda: handle.set_timeout(X, -1),
        lambda: handle.set_timeout(X, 2**32),
    ]
    for say in wrong:
        with pytest.raises(EncodeError):
            say()
    with wrong_type():
        handle.start("x")  # type: ignore[arg-type]  # what a caller may do
    with wrong_type():
        handle.end(None)  # type: ignore[arg-type]  # likewise
    assert carrier.said() == []
    assert handle.under_way == ()


def test_a_branch_from_a_servers_list_may_have_any_name_that_the_wire_carries() -> None:
    carrier, session = attached_session("client")
    strange = dtx.Xid(0, b"", bytes(255))
    session.dtx.rollback(strange)
    assert carrier.said()[-1] == dtx.Rollback(strange)
    assert repr(session.dtx) == "<Dtx of b's'>"


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
