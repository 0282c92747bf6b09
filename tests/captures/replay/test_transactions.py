"""Local transactions, and branches of distributed ones."""

from __future__ import annotations

import pytest
from tests.captures.replay.made import Named, ids, named
from tests.captures.replay.made import message as delivery

from amqp_sansio.captures.replay import transactions as module
from amqp_sansio.captures.replay.rows import Half, Rows
from amqp_sansio.captures.replay.state import write
from amqp_sansio.captures.replay.transactions import BranchCommand, Branches, TransactionRecords, name_of
from amqp_sansio.spec.dtx import Commit, End, Forget, Prepare, Rollback, SetTimeout, Start, XaResult, Xid


def made() -> tuple[TransactionRecords, Rows]:
    rows = Rows()
    return TransactionRecords(rows, ("s", 0), Half(rows, True)), rows


def outcomes(rows: Rows) -> list[tuple[object, object, object]]:
    return [(row["transaction"], row["outcome"], row["latency_ns"]) for row in named(rows, "transactions")]


def test_each_ends_with_its_commit_or_rollback() -> None:
    one, rows = made()
    one.touch(10).transfers += 1
    one.ends(20, 5, True)
    one.ends(30, 6, False)
    one.ends(40, 7, True)
    one.completed(ids((5, 6)), 50)
    one.refused(7)
    assert outcomes(rows) == [(1, "committed", 30), (2, "rolled-back", 20), (3, "refused", None)]
    assert [row["ts"] for row in named(rows, "transactions")] == [10, 30, 40]


@pytest.mark.parametrize(
    ("commits", "answered", "message"),
    [
        (True, True, ("accepted", 200, 300, 1)),
        (False, True, ("open", None, None, None)),
        (True, False, ("open", 200, None, 1)),
        (False, False, ("open", 200, None, 1)),
    ],
)
def test_a_delivery_accepted_in_a_transaction_is_settled_by_the_answer_to_its_commit_alone(
    commits: bool, answered: bool, message: tuple[object, object, object, object]
) -> None:
    """After a rollback the client still holds it, and has not accepted it; without an answer nobody knows."""
    rows = Rows()
    deliveries = Half(rows, True)
    one = TransactionRecords(rows, ("s", 0), deliveries)
    deliveries.send(delivery(4))
    deliveries.completed(ids((4, 4)), 150)
    one.touch(200).accepted += deliveries.settle(ids((4, 4)), "accepted", 200, transaction=1)
    one.ends(250, 5, commits)
    if answered:
        one.completed(ids((5, 5)), 300)
    one.finish("open")
    deliveries.flush("open")
    columns = "outcome", "accepted_at", "settled_at", "settled_transaction"
    assert [tuple([row[name] for name in columns]) for row in named(rows, "messages")] == [message]


def test_a_commit_without_an_answer_is_in_doubt() -> None:
    one, rows = made()
    accepted = delivery(4)
    one.touch(10).accepted.append(accepted)
    one.ends(20, 5, True)
    one.touch(30)
    one.finish("abandoned")
    assert outcomes(rows) == [(1, "in-doubt", None), (2, "abandoned", None)]


def test_an_empty_one_has_no_row_and_what_was_lost_is_unknown() -> None:
    one, rows = made()
    one.finish("open")
    assert rows.by_table["transactions"] == []
    one.ends(20, None, True)
    one.ends(30, 9, True)
    one.finish("unknown")
    assert outcomes(rows) == [(2, "unknown", None), (3, "unknown", None)]


XID = Xid(7, b"\x01\x02", b"b")
NAME = "7:0102:62"


def row(*said: tuple[BranchCommand, int | None]) -> Named:
    """The row of a branch about which these commands are said, with the status of each answer (None: no answer)."""
    rows = Rows()
    one = Branches(rows)
    time = 0
    for command, status in said:
        time += 10
        assert one.said(command, time) == NAME
        if isinstance(command, Forget):
            one.completed(command.VERB, NAME)
        elif status is not None:
            one.result(command.VERB, NAME, XaResult(status), time + 5)
    one.finish()
    (found,) = named(rows, "dtx")
    return found


BEGIN: list[tuple[BranchCommand, int | None]] = [(Start(XID), 0), (End(XID), 0)]


@pytest.mark.parametrize(
    ("rest", "outcome", "in_doubt"),
    [
        ([], "active", False),
        ([(Prepare(XID), None)], "active", True),
        ([(Prepare(XID), 0)], "prepared", True),
        ([(Prepare(XID), 7)], "read-only", False),
        ([(Prepare(XID), 1)], "failed", False),
        ([(Prepare(XID), 0), (Commit(XID), None)], "prepared", True),
        ([(Prepare(XID), 0), (Commit(XID), 0)], "committed", False),
        ([(Commit(XID, True), 0)], "committed", False),
        ([(Commit(XID, True), 1)], "rolled-back", False),
        ([(Rollback(XID), 0)], "rolled-back", False),
        ([(Rollback(XID), 2)], "timed-out", False),
        ([(Prepare(XID), 0), (Commit(XID), 6)], "heuristic", False),
        ([(Prepare(XID), 0), (Commit(XID), 6), (Forget(XID), None)], "forgotten", False),
    ],
)
def test_outcomes(rest: list[tuple[BranchCommand, int | None]], outcome: str, in_doubt: bool) -> None:
    found = row(*BEGIN, *rest)
    assert (found["xid"], found["outcome"], found["in_doubt"]) == (NAME, outcome, in_doubt)
    assert (found["ts"], found["start_at"], found["end_at"]) == (10, 10, 20)


@pytest.mark.parametrize(
    ("before", "after", "outcome", "in_doubt"),
    [
        ([Start(XID)], [], "unknown", False),
        ([Start(XID), End(XID), Prepare(XID)], [], "unknown", False),
        ([Start(XID), Commit(XID)], [], "unknown", False),
        ([Start(XID), End(XID)], [Prepare(XID)], "unknown", True),
        ([], [Start(XID)], "active", False),
    ],
)
def test_after_a_loss_only_later_words_count(
    before: list[BranchCommand], after: list[BranchCommand], outcome: str, in_doubt: bool
) -> None:
    rows = Rows()
    one = Branches(rows)
    for command in before:
        one.said(command, 10, 1)
        if not isinstance(command, Commit):
            one.result(command.VERB, NAME, XaResult(0), 11)
    one.lost()
    for command in after:
        one.said(command, 20, 2)
    one.finish()
    (found,) = named(rows, "dtx")
    assert (found["outcome"], found["in_doubt"]) == (outcome, in_doubt)


def test_what_is_sent_under_an_unknown_id_may_have_been_answered() -> None:
    rows = Rows()
    one = Branches(rows)
    for command in (Start(XID), End(XID), Prepare(XID)):
        one.said(command, 10, None)
    one.finish()
    (found,) = named(rows, "dtx")
    assert (found["outcome"], found["in_doubt"]) == ("unknown", False)


def test_a_refused_decision_leaves_the_branch_where_it_was() -> None:
    rows = Rows()
    one = Branches(rows)
    one.said(Start(XID), 1)
    one.said(Prepare(XID), 2)
    one.refused("dtx.prepare", NAME, 409)
    one.finish()
    assert [(each["outcome"], each["in_doubt"], each["error_code"]) for each in named(rows, "dtx")] == [("active", False, 409)]


@pytest.mark.parametrize(
    ("verb", "prepare", "decide"),
    [("dtx.prepare", None, 4), ("dtx.commit", 3, None), ("dtx.rollback", 3, None), ("dtx.end", 3, 4)],
)
def test_a_refusal_takes_back_the_time_of_the_command_that_it_is_about_and_no_other(
    verb: str, prepare: int | None, decide: int | None
) -> None:
    rows = Rows()
    one = Branches(rows)
    said: list[BranchCommand] = [Start(XID), End(XID), Prepare(XID), Commit(XID)]
    for time, command in enumerate(said, 1):
        one.said(command, time)
    one.refused(verb, NAME, 409)
    one.finish()
    (found,) = named(rows, "dtx")
    assert (found["prepare_at"], found["decide_at"], found["error_code"]) == (prepare, decide, 409)


def test_a_branch_that_is_joined_and_resumed_has_the_time_of_its_first_start_and_counts_them_all() -> None:
    found = row((Start(XID), 0), (Start(XID, join=True), 0), (End(XID, suspend=True), 0), (Start(XID, resume=True), 0))
    assert (found["start_at"], found["starts"]) == (10, 3)


def test_a_broker_forgets_a_branch_without_deciding_it_again() -> None:
    found = row(*BEGIN, (Prepare(XID), 0), (Commit(XID), 6), (Forget(XID), None))
    assert (found["decide_at"], found["decided_at"], found["one_phase"]) == (40, 45, False)


def test_an_answer_about_a_branch_that_is_over_adds_nothing() -> None:
    rows = Rows()
    one = Branches(rows)
    one.said(Start(XID), 1)
    for time in (2, 3):
        one.said(Commit(XID, True), time)
    one.result("dtx.commit", NAME, XaResult(0), 4)
    one.result("dtx.commit", NAME, XaResult(6), 5)
    one.refused("dtx.commit", NAME, 409)
    one.completed("dtx.forget", NAME)
    one.finish()
    assert [(each["outcome"], each["decided_at"], each["error_code"]) for each in named(rows, "dtx")] == [
        ("committed", 4, None)
    ]


def test_a_branch_that_is_named_again_after_its_end_is_another_one() -> None:
    rows = Rows()
    one = Branches(rows)
    for time in (10, 20):
        one.said(Start(XID), time)
        one.said(Commit(XID, True), time + 1)
        one.result("dtx.commit", NAME, XaResult(0), time + 2)
        assert len(rows.by_table["dtx"]) == time // 10
    one.finish()
    assert [(each["ts"], each["decided_at"]) for each in named(rows, "dtx")] == [(10, 12), (20, 22)]


def test_branches_that_are_over_take_no_room_in_the_state_of_a_replay() -> None:
    rows = Rows()
    one = Branches(rows)
    empty = write(one, {"rows": rows})
    for number in range(9):
        xid = Xid(number)
        one.said(Commit(xid, True), number)
        one.result("dtx.commit", name_of(xid), XaResult(0), number)
    assert write(one, {"rows": rows}) == empty


def test_what_names_no_branch_is_passed_over() -> None:
    assert Branches(Rows()).said(Start(None), 1) is None
    assert name_of(Xid()) == "0::"


def test_what_was_lost_is_unknown() -> None:
    rows = Rows()
    one = Branches(rows)
    one.said(Start(XID), 1)
    one.said(SetTimeout(XID, 9), 2)
    one.lost()
    one.finish()
    assert [(each["outcome"], each["timeout_s"]) for each in named(rows, "dtx")] == [("unknown", 9)]


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_branches_are_bounded(monkeypatch: pytest.MonkeyPatch, more: int) -> None:
    monkeypatch.setattr(module, "BRANCHES", 5)
    rows = Rows()
    one = Branches(rows)
    for number in range(5 + more):
        one.said(Start(Xid(number)), number)
    assert len(rows.by_table["dtx"]) == max(0, more)
