from __future__ import annotations

import pytest
from tests.captures.replay.books import Line
from tests.captures.replay.made import ids, named

from amqp_sansio.captures.replay import credit as module
from amqp_sansio.captures.replay.rows import Rows
from amqp_sansio.ledger.credit import INFINITE
from amqp_sansio.spec.message import Cancel, Flow, Flush, SetFlowMode, Stop, Subscribe


def line(*, mode: int | None = None, messages: int = 2, octets: int = INFINITE) -> tuple[Line, Rows]:
    one = Line()
    one.hear(1, 0, Subscribe(queue="q", destination="d"))
    if mode is not None:
        one.hear(1, 1, SetFlowMode("d", mode))
    one.hear(2, 2, Flow("d", 0, messages))
    one.hear(3, 3, Flow("d", 1, octets))
    return one, one.rows


def events(rows: Rows) -> list[tuple[object, object, object]]:
    return [(row["event"], row["message_credit"], row["stalled_ns"]) for row in named(rows, "credit")]


def test_a_window_runs_out_and_moves() -> None:
    one, rows = line()
    assert one.delivered(10, 0, "d", 5) == "q"
    one.delivered(20, 1, "d", 5)
    one.completed(ids((0, 0)), 50)
    assert events(rows)[3:] == [("exhausted", 0, None), ("refilled", 1, 30)]


def test_a_window_moves_also_where_the_clock_goes_back() -> None:
    one, rows = line()
    one.delivered(10, 0, "d", 5)
    one.delivered(20, 1, "d", 5)
    one.completed(ids((0, 0)), 15)
    one.completed(ids((1, 1)), 16)
    assert events(rows)[3:] == [("exhausted", 0, None), ("refilled", 1, None)]


def test_credit_mode_needs_another_flow() -> None:
    one, rows = line(mode=0)
    one.delivered(10, 0, "d", 5)
    one.delivered(20, 1, "d", 5)
    one.completed(ids((0, 1)), 50)
    one.hear(80, 4, Flow("d", 0, None))
    assert events(rows)[4:] == [("exhausted", 0, None), ("flow", INFINITE, 60)]


def test_octets_run_out_too_and_what_is_taken_away_is_no_stall() -> None:
    one, rows = line(octets=9)
    one.delivered(10, 0, "d", 9)
    one.hear(15, 5, Stop("d"))
    one.delivered(16, 1, "d", 9)
    one.hear(17, 6, Cancel("d"))
    one.end(99)
    assert events(rows)[3:] == [("exhausted", 1, None), ("stop", 0, 5), ("cancel", 0, None)]
    assert one.delivered(18, 2, "d", 1) is None


def test_a_flush_takes_credit_when_it_is_complete() -> None:
    one, rows = line()
    one.hear(5, 7, Flush("d"))
    one.carried_out(ids((7, 7)))
    one.hear(6, 8, Flow("d", 0, 1))
    assert events(rows)[3:] == [("flush", 2, None), ("flow", 1, None)]


def test_the_end_tells_how_long_credit_was_at_zero() -> None:
    one, rows = line(messages=1)
    one.delivered(10, 0, "d", 5)
    one.end(110)
    assert events(rows)[-1] == ("end", 0, 100)


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_what_is_followed_is_bounded(monkeypatch: pytest.MonkeyPatch, more: int) -> None:
    monkeypatch.setattr(module, "SUBSCRIPTIONS", 5)
    one, _ = line(messages=100)
    for number in range(4 + more):
        one.hear(20, None, Subscribe(queue="q", destination=str(number)))
    assert ("d" in one.credit.subscriptions) == (more < 1)


@pytest.mark.parametrize("octets", [[20, 20], [20, 40], [20, 40, 1], [60]])
def test_of_many_deliveries_at_once_the_one_that_used_credit_up_is_reported(octets: list[int]) -> None:
    once, by_one = line(messages=5, octets=60)[0], line(messages=5, octets=60)[0]
    for one in (once, by_one):
        one.books.heard.book.doubt = True  # also beyond the credit
    times = [10 * number for number in range(len(octets))]
    assert once.deliveries(times, 0, "d", octets) == "q"
    assert [by_one.delivered(time, id, "d", cost) for id, (time, cost) in enumerate(zip(times, octets, strict=True))]
    for one in (once, by_one):
        one.completed(ids((0, 0)), 99)
    assert named(once.rows, "credit") == named(by_one.rows, "credit")


def test_credit_runs_out_with_the_delivery_that_used_it_up_though_the_book_is_ahead() -> None:
    one, rows = line()
    for id in (0, 1):
        one.books.heard.book.delivered(id, "d", 5, 5)
    for id in (0, 1):
        one.credit.deliveries("d", id, (10 * id,))
    assert [(row["ts"], row["event"]) for row in named(rows, "credit")][3:] == [(10, "exhausted")]


@pytest.mark.parametrize(("used_up", "told", "count"), [(None, 5, 0), (5, None, 0), (None, None, 1), (5, 5, 1)])
def test_a_delivery_without_an_id_is_not_taken_for_one_with_an_id(used_up: int | None, told: int | None, count: int) -> None:
    one, rows = line(messages=1)
    one.books.heard.book.delivered(used_up, "d", 5, 5)
    assert one.credit.deliveries("d", told, (10,)) == "q"
    assert len([event for event, _, _ in events(rows) if event == "exhausted"]) == count


def test_a_queue_is_known_without_the_book() -> None:
    """A limit of the observer may have made it forget what rows are made of."""
    one, rows = line()
    one.books.heard.book.lose()
    assert one.delivered(5, 0, "d", 1) == "q"
    one.hear(6, 4, Stop("d"))
    assert events(rows)[-1] == ("stop", 0, None)
