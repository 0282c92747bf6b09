"""Results, exceptions and outcomes paired with what they answer, also when something comes between: a loss, a resumption."""

from __future__ import annotations

import pytest
from tests.carriers import BareCarrier, attached_session

from amqp_sansio.engine.results import Owed, Results, exception_of
from amqp_sansio.engine.session import Session
from amqp_sansio.errors import LocalProtocolError
from amqp_sansio.events import (
    BranchAnswered,
    BranchesRecovered,
    BranchTimeout,
    Event,
    Origin,
    SessionDetached,
    TransactionEnded,
    TransactionOutcome,
)
from amqp_sansio.kernel.serials import TOP, RangeSet
from amqp_sansio.spec import dtx, execution, queue, tx
from amqp_sansio.spec import session as c
from amqp_sansio.spec.codes import XaStatus
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


X = dtx.Xid(0, b"x", b"")
COMMITTED, ROLLED_BACK, UNKNOWN = TransactionOutcome


def told(events: list[Event]) -> list[Event]:
    return [e for e in events if isinstance(e, TransactionEnded | BranchAnswered | BranchesRecovered | BranchTimeout)]


def cut(session: Session) -> None:
    assert session._channel is not None
    session._channel.lost(Origin.EOF, "cut")


def exception(code: int, id: int | None) -> execution.Exception_:
    return execution.Exception_(code, id, 5, 2)


def test_a_loss_with_a_commit_under_way_leaves_it_unknown() -> None:
    carrier, session = attached_session("client")
    local = session.select_tx()
    session.publish(body=b"1")
    first = local.commit()
    second = local.rollback()
    third = local.commit()
    session.publish(body=b"2")
    carrier.happened()
    cut(session)
    happened = carrier.happened()
    assert told(happened) == [
        TransactionEnded(b"s", first, UNKNOWN),
        TransactionEnded(b"s", second, ROLLED_BACK),
        TransactionEnded(b"s", third, UNKNOWN),
        TransactionEnded(b"s", None, ROLLED_BACK),
    ]
    assert isinstance(happened[-1], SessionDetached)  # the last word about a session
    assert local.under_way == ()


def test_a_loss_without_one_rolls_back_what_is_open() -> None:
    carrier, session = attached_session("client")
    session.select_tx()
    session.publish(body=b"1")
    cut(session)
    assert told(carrier.happened()) == [TransactionEnded(b"s", None, ROLLED_BACK)]


def test_where_nothing_is_open_nothing_is_rolled_back() -> None:
    carrier, session = attached_session("client")
    id = session.select_tx().commit()
    carrier.hear(c.Completed(RangeSet([(0, id)])))
    carrier.happened()
    cut(session)
    assert told(carrier.happened()) == []
    carrier, session = attached_session("client")
    session.publish(body=b"1")
    cut(session)
    assert told(carrier.happened()) == []


@pytest.mark.parametrize(
    ("at", "code", "outcomes"),
    [
        ("commit", 409, [ROLLED_BACK, ROLLED_BACK, ROLLED_BACK]),  # refused
        ("before", 404, [ROLLED_BACK, ROLLED_BACK, ROLLED_BACK]),  # what comes behind the failing command is not executed
        ("commit", 541, [UNKNOWN, ROLLED_BACK, ROLLED_BACK]),  # broken down inside: it may have had its effect
        ("behind", 404, [UNKNOWN, ROLLED_BACK, ROLLED_BACK]),  # executed before it, and its completion was not heard
        ("none", 408, [UNKNOWN, UNKNOWN, ROLLED_BACK]),  # not about a command of ours
    ],
)
def test_an_exception(at: str, code: int, outcomes: list[TransactionOutcome]) -> None:
    carrier, session = attached_session("client")
    local = session.select_tx()
    before = session.publish(body=b"1")
    commit = local.commit()
    behind = session.publish(body=b"2")
    last = local.commit()
    session.publish(body=b"3")
    carrier.happened()
    carrier.hear(exception(code, {"before": before, "commit": commit, "behind": behind}.get(at)), c.Detach(b"s"))
    assert told(carrier.happened()) == [
        TransactionEnded(b"s", id, outcome) for id, outcome in zip((commit, last, None), outcomes, strict=True)
    ]  # fmt: skip


def test_a_local_detach_rolls_back_too() -> None:
    carrier, session = attached_session("client")
    local = session.select_tx()
    id = local.commit()
    session.publish(body=b"1")
    session.detach()
    carrier.happened()
    carrier.hear(c.Completed(RangeSet([(0, id)])), c.Detached(b"s", 0))
    assert told(carrier.happened())[-1] == TransactionEnded(b"s", None, ROLLED_BACK)


def test_branches_that_are_not_answered_are_unknown() -> None:
    carrier, session = attached_session("client")
    handle = session.select_dtx()
    prepare, forget, recover, ask = handle.prepare(X), handle.forget(X), handle.recover(), handle.get_timeout(X)
    carrier.happened()
    cut(session)
    assert told(carrier.happened()) == [
        BranchAnswered(b"s", prepare, "dtx.prepare", X, None),
        BranchAnswered(b"s", forget, "dtx.forget", X, None),
        BranchesRecovered(b"s", recover, None),
        BranchTimeout(b"s", ask, X, None),
    ]


def test_a_result_of_another_type_is_no_answer() -> None:
    """It ends the session, and what it was to answer stays unknown: the caller is told that too."""
    carrier, session = attached_session("client")
    id = session.dtx.prepare(X)
    carrier.hear(execution.Result(id, dtx.GetTimeoutResult(9)))
    assert told(carrier.happened()) == [BranchAnswered(b"s", id, "dtx.prepare", X, None)]
    assert session.state == "ended"


def test_a_branch_whose_command_is_refused_says_so() -> None:
    carrier, session = attached_session("client")
    handle = session.dtx
    prepare, commit = handle.prepare(X), handle.commit(X)
    carrier.happened()
    carrier.hear(exception(404, prepare), c.Detach(b"s"))
    assert told(carrier.happened()) == [
        BranchAnswered(b"s", prepare, "dtx.prepare", X, None, 404), BranchAnswered(b"s", commit, "dtx.commit", X, None),
    ]  # fmt: skip


def resumed(session: Session, expected: int) -> BareCarrier:
    carrier = BareCarrier("client")
    carrier.channel(0).bind(session)
    session.attach()
    carrier.hear(c.Attached(b"s"), c.Expected(RangeSet.of(expected)), c.CommandPoint(0, 0))
    assert session.state == "attached"
    return carrier


@pytest.mark.parametrize("stored", [False, True])
def test_a_session_that_is_resumed_learns_the_outcome_later_and_hears_of_no_unknown_one_before(stored: bool) -> None:
    carrier, session = attached_session("client", timeout=60)
    local = session.select_tx()
    session.publish(body=b"1")
    commit = local.commit()
    prepare = session.dtx.prepare(X)
    carrier.happened()
    cut(session)
    assert told(carrier.happened()) == []
    assert session.tx.under_way == (commit,)
    if stored:
        session = Session.restore(session.snapshot())
    carrier = resumed(session, commit)  # the server has not seen the commit: it is said again
    assert [each.VERB for each in carrier.said() if each.VERB.startswith(("tx.", "dtx."))] == ["tx.commit", "dtx.prepare"]
    assert told(carrier.happened()) == []
    carrier.hear(c.Completed(RangeSet([(0, commit)])), execution.Result(prepare, dtx.XaResult(0)))
    assert told(carrier.happened()) == [
        TransactionEnded(b"s", commit, COMMITTED), BranchAnswered(b"s", prepare, "dtx.prepare", X, XaStatus.XA_OK),
    ]  # fmt: skip
    session.tx.commit()  # still transactional


def test_a_resumption_that_fails_makes_it_unknown() -> None:
    carrier, session = attached_session("client", timeout=60)
    commit = session.select_tx().commit()
    cut(session)
    carrier = BareCarrier("client")
    carrier.channel(0).bind(session)
    session.attach()
    carrier.hear(c.Attached(b"s"), c.Expected(RangeSet()))
    assert told(carrier.happened()) == [TransactionEnded(b"s", commit, UNKNOWN)]


def test_a_session_that_expires_detached_hands_out_nothing_but_still_knows() -> None:
    carrier, session = attached_session("client", timeout=60)
    commit = session.select_tx().commit()
    cut(session)
    session.tick(0.0)
    session.tick(10.0**6)
    assert session.state == "ended"
    assert told(carrier.happened()) == []
    assert session.tx.under_way == (commit,)


def test_a_server_tells_nothing_about_transactions() -> None:
    carrier, session = attached_session("server")
    carrier.hear(dtx.Select(), dtx.Start(X))
    carrier.happened()
    cut(session)
    assert told(carrier.happened()) == []
