from __future__ import annotations

from tests.captures.replay.made import ids, message, named

from amqp_sansio.captures.replay.rows import Half, Rows
from amqp_sansio.captures.replay.transactions import Transactions


def made() -> tuple[Transactions, Rows]:
    rows = Rows()
    return Transactions(rows, ("s", 0), Half(rows, True)), rows


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
    assert named(rows, "transactions")[1]["ts"] == 30


def test_a_commit_without_an_answer_is_in_doubt() -> None:
    one, rows = made()
    accepted = message(4)
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
