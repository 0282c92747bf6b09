"""Branches: what a client says of them, and how it learns the answers."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.builds import wrong_type
from tests.carriers import attached_session

from amqp_sansio.engine.dtx import Dtx
from amqp_sansio.engine.xid import xid
from amqp_sansio.errors import EncodeError, LocalProtocolError
from amqp_sansio.events import BranchAnswered, BranchesRecovered, BranchTimeout, ResultReceived
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec import dtx, execution
from amqp_sansio.spec import session as c
from amqp_sansio.spec.base import Command
from amqp_sansio.spec.codes import XaStatus

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
