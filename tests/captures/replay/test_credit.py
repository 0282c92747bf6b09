from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.captures.replay.made import ids, named
from tests.crediting import Step, steps, word

from amqp_sansio.captures.replay import credit as module
from amqp_sansio.captures.replay.credit import CreditLine
from amqp_sansio.captures.replay.rows import Rows
from amqp_sansio.ledger.credit import INFINITE
from amqp_sansio.spec.message import Cancel, Flow, Flush, SetFlowMode, Stop, Subscribe


def line(*, mode: int | None = None, messages: int = 2, octets: int = INFINITE) -> tuple[CreditLine, Rows]:
    rows = Rows()
    one = CreditLine(rows, ("C", "s", 0))
    one.hear(1, 0, Subscribe(queue="q", destination="d"))
    if mode is not None:
        one.hear(1, 1, SetFlowMode("d", mode))
    one.hear(2, 2, Flow("d", 0, messages))
    one.hear(3, 3, Flow("d", 1, octets))
    return one, rows


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
    monkeypatch.setattr(module, "WINDOW_MESSAGES", 5)
    one, _ = line(messages=100)
    for id in range(5 + more):
        one.delivered(10, id, "d", 1)
    for number in range(4 + more):
        one.hear(20, None, Subscribe(queue="q", destination=str(number)))
    assert ("d" in one.subscriptions) == (more < 1)
    assert len(one._live) == min(5, 5 + more)


@example([("run", [1] * 4)], None, 3)
@given(steps(), st.sampled_from([None, 0, 1]), st.sampled_from([3, 1000]))
def test_many_deliveries_at_once_are_the_same_as_one_by_one(said: list[Step], mode: int | None, window: int) -> None:
    """Whatever credit is given and taken between, and whether or not they can be taken at once."""
    lines = [line(mode=mode, messages=5, octets=60) for _ in range(2)]
    sent = 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "WINDOW_MESSAGES", window)
        for time, (what, more) in enumerate(said, 10):
            told: list[object] = []
            for at_once, (one, rows) in enumerate(lines):
                queues = []
                if what == "run":
                    if at_once and one.deliveries(sent, "d", more):
                        queues = [one.queue_of("d")] * len(more)
                    else:
                        queues = [one.delivered(time, sent + number, "d", octets) for number, octets in enumerate(more)]
                elif what == "done":
                    one.completed(ids(tuple(more)), time)
                else:
                    one.hear(time, 100 + time, word(what, more))
                flow = one.subscriptions["d"].flow if "d" in one.subscriptions else None
                credit = flow and (flow.messages.limit, flow.messages.used, flow.octets.limit, flow.octets.used)
                told.append((queues, named(rows, "credit"), one._live, credit))
            assert told[0] == told[1]
            sent += len(more) if what == "run" else 0


def test_deliveries_that_leave_credit_are_taken_at_once() -> None:
    one, _ = line(messages=5, octets=60)
    assert one.deliveries(0, "d", [20, 20])
    assert not one.deliveries(2, "d", [20])
    assert one.deliveries(2, "d", [19])
    assert one.deliveries(3, "other", [1])
