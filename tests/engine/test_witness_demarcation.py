"""Transactions as a third person hears them.  (Every cell: test_demarcation.)"""

from __future__ import annotations

import pytest
from tests.conformance.rules.peers import Said, overheard

from amqp_sansio.engine.findings import Findings
from amqp_sansio.engine.witness_demarcation import DemarcationWitness
from amqp_sansio.events import Violation
from amqp_sansio.limits import DEFAULT_LIMITS, Limits
from amqp_sansio.spec import dtx, message, tx
from amqp_sansio.spec import session as c
from amqp_sansio.spec.base import Command
from amqp_sansio.spec.execution import Result, Sync

X, Y = dtx.Xid(0, b"x", b""), dtx.Xid(0, b"y", b"")
ATTACH: list[Said] = [("C", c.Attach(b"s")), ("S", c.Attached(b"s")), ("S", c.CommandPoint(0, 0))]


def from_point(point: int, *said: Command | c.CommandPoint | c.Gap) -> list[str]:
    return overheard(*ATTACH, ("C", c.CommandPoint(point, 0)), *[("C", each) for each in said], strict=True)


def hear(*said: Command, strict: bool = False, limits: Limits = DEFAULT_LIMITS) -> list[Violation]:
    findings = Findings(strict, limits)
    witness = DemarcationWitness(findings, False)
    for id, command in enumerate(said):
        witness.hear(id, command)
    return [each for each in findings.found if isinstance(each, Violation)]


def test_a_violation_names_the_sender_the_command_and_the_legal_ones() -> None:
    (found,) = hear(dtx.Select(), dtx.Start(X), dtx.End(Y))
    assert (found.speaker, found.rule, found.code) == ("C", "dtx.end.xid.not-associated", 503)
    assert found.said == "dtx.end of another xid"
    assert "dtx.end of the associated xid" in found.legal
    assert "dtx active with xid 0:78:" in found.text
    assert hear(dtx.Select(), dtx.Start(X), dtx.End(Y), strict=True)[0].code == 409


@pytest.mark.parametrize("before", [(), (tx.Select(),)])
@pytest.mark.parametrize("command", [dtx.Start(X), dtx.Start(), dtx.End(X), dtx.End()])
def test_what_needs_dtx_select_has_one_code_without_it(command: Command, before: tuple[Command, ...]) -> None:
    for strict, code in ((False, 503), (True, 409)):
        (found,) = hear(*before, command, strict=strict)
        assert (found.rule, found.code) == (f"{command.VERB}.illegal-state", code)


@pytest.mark.parametrize("xid", [None, X])
def test_without_dtx_select_or_an_xid_there_is_no_finding_about_an_xid(xid: dtx.Xid | None) -> None:
    """A sentence names no xid as another one where none was named, or where no branch can be associated."""
    (found,) = hear(dtx.Start(xid, resume=True))
    assert (found.said, found.text) == ("dtx.start", "dtx.start in state no transactions")
    (found,) = hear(dtx.End(xid))
    assert (found.said, found.text) == ("dtx.end", "dtx.end in state no transactions")
    (found,) = hear(dtx.Select(), dtx.Start(xid, resume=True))
    assert found.said == ("dtx.start" if xid is None else "dtx.start resume of another xid")


def test_the_books_go_on_after_a_violation() -> None:
    rules = [each.rule for each in hear(tx.Commit(), tx.Select(), tx.Commit(), dtx.Start(X), tx.Rollback())]
    assert rules == ["tx.commit.select-required", "dtx.start.illegal-state"]


def test_a_session_that_was_resumed_may_be_transactional() -> None:
    assert from_point(7, tx.Commit(), tx.Rollback()) == []
    assert from_point(7, dtx.End(X), dtx.Start(Y, resume=True)) == []


def test_repeated_words_are_not_held_against_anybody() -> None:
    assert "C tx.select.exactly-once" not in from_point(0, tx.Select(), tx.Commit(), c.CommandPoint(0, 0), tx.Select())


def test_a_gap_may_have_held_the_select() -> None:
    from amqp_sansio.kernel.serials import RangeSet

    assert from_point(0, Sync(), c.Gap(RangeSet.of(1)), tx.Commit()) == ["(C session.gap)"]


def test_a_start_that_failed() -> None:
    begun: list[Said] = [
        *ATTACH, ("C", c.CommandPoint(0, 0)), ("C", dtx.Select()), ("C", dtx.Start(X)), ("S", Result(1, dtx.XaResult(1))),
    ]  # fmt: skip
    for behind in ((dtx.End(X),), (dtx.Start(Y), dtx.End(Y)), (dtx.End(X, suspend=True), dtx.Start(Y))):
        assert overheard(*begun, *[("C", each) for each in behind], strict=True) == []
    assert overheard(*begun, ("C", dtx.End(Y)), strict=True) == ["C dtx.end.xid.not-associated"]


def test_a_session_of_the_same_name_begins_anew() -> None:
    detach: list[Said] = [("C", c.Detach(b"s")), ("S", c.Detached(b"s", 0))]
    once: list[Said] = [*ATTACH, ("C", c.CommandPoint(0, 0)), ("C", tx.Select()), ("C", tx.Commit())]
    assert overheard(*once, *detach, *once, strict=True) == []


def test_a_cancelled_subscription_does_not_count() -> None:
    none = message.Subscribe("q", "d", 1, 0)
    assert [each.rule for each in hear(none, tx.Select(), strict=True)] == ["tx.select.explicit-accepts"]
    assert hear(none, message.Cancel("d"), tx.Select(), strict=True) == []


@pytest.mark.parametrize(("suspended", "followed"), [(1, True), (2, True), (3, False)])
def test_limit_of_suspended_branches(suspended: int, followed: bool) -> None:
    said: list[Command] = [dtx.Select()]
    for number in range(suspended):
        branch = dtx.Xid(0, bytes([number]), b"")
        said += [dtx.Start(branch), dtx.End(branch, suspend=True)]
    findings = Findings(False, Limits(suspended_branches=2))
    witness = DemarcationWitness(findings, False)
    for id, command in enumerate([*said, dtx.End(Y)]):
        witness.hear(id, command)
    assert ([each.rule for each in findings.found] == ["dtx.end.xid.not-associated"]) == followed
    assert ([each.rule for each in findings.found] == ["limits.suspended_branches"]) != followed
