"""The other side's half: equal to a plain-set model, across the top of the serial numbers too."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.steps import assert_linear

from amqp_sansio.engine.halves import DUPLICATE, TIMELY_IDS, TIMELY_RANGES, Inbound, Owed
from amqp_sansio.errors import LocalProtocolError
from amqp_sansio.kernel.serials import EMPTY, TOP, RangeSet

BASES = [0, TOP - 6, 0x7FFFFFFA]


class Model:
    """The same, counted from 0 and with plain sets of ints."""

    def __init__(self) -> None:
        self.cursor = 0
        self.high = 0
        self.seen: set[int] = set()
        self.skipped: set[int] = set()
        self.completed: set[int] = set()
        self.incomplete: set[int] = set()
        self.ahead: set[int] = set()

    def holes(self) -> set[int]:
        return set(range(self.high)) - self.seen - self.skipped

    def take(self) -> int:
        while self.cursor in self.skipped and self.cursor in self.ahead:
            self.cursor += 1
        id = self.cursor
        self.cursor += 1
        if id in self.seen or id in self.skipped:
            return -1
        self.high = max(self.high, id + 1)
        self.seen.add(id)
        self.incomplete.add(id)
        return id


small = st.integers(0, 12)
steps = st.lists(st.tuples(st.sampled_from(["point", "take", "complete", "gap", "known"]), small, small), max_size=40)


@given(steps, st.sampled_from(BASES))
def test_received_holes_and_completed_are_those_of_plain_sets(script: list[tuple[str, int, int]], base: int) -> None:
    """Whatever is pointed at, received, gapped and completed, each id is fresh at most once and the sets are exact."""
    inbound, model = Inbound(), Model()

    def abs_(ids: set[int]) -> RangeSet:
        return RangeSet.of(*[(base + id) & TOP for id in ids])

    inbound.point(base)
    for verb, a, b in script:
        low, high = min(a, b), max(a, b)
        if verb == "point":
            inbound.point((base + a) & TOP)
            model.cursor = a
            model.high = max(model.high, a)
            model.ahead = {id for id in model.ahead if id >= a}
        elif verb == "take":
            id = inbound.take()
            expected = model.take()
            assert id == (DUPLICATE if expected < 0 else (base + expected) & TOP)
            if id >= 0:
                inbound.outstanding.add(id)
        elif verb == "complete":
            some = {id for id in model.incomplete if low <= id <= high}
            inbound.complete(abs_(some))
            model.incomplete -= some
            model.completed |= some
        elif verb == "gap":
            ids = set(range(low, high + 1))
            news = ids - model.seen - model.skipped
            assert inbound.gap(abs_(ids)) == abs_(news)
            model.ahead |= {id for id in news if id >= model.cursor}
            model.skipped |= news
            model.high = max(model.high, high + 1)
            model.completed |= news | (model.incomplete & ids)
            model.incomplete -= ids
            while model.cursor in model.ahead:
                model.cursor += 1
        else:
            some = {id for id in model.completed if low <= id <= high}
            inbound.known_completed(abs_(some))
            model.completed -= some
        assert inbound.known.freeze() == abs_(model.completed)
        assert inbound.outstanding.freeze() == abs_(model.incomplete)
        assert inbound.holes.freeze() == abs_(model.holes())
        assert inbound.expected(new=True) == abs_(model.holes() | {model.high})


def receive(inbound: Inbound, n: int) -> list[int]:
    ids = [inbound.take() for _ in range(n)]
    for id in ids:
        if id >= 0:
            inbound.outstanding.add(id)
    return ids


@pytest.mark.parametrize("base", BASES)
def test_duplicates_after_an_attachment_are_consumed_and_count(base: int) -> None:
    inbound = Inbound()
    inbound.point(base)
    ids = receive(inbound, 10)
    inbound.begin_attachment()
    assert not inbound.pointed
    inbound.point(ids[4])
    assert receive(inbound, 7) == [DUPLICATE] * 6 + [(base + 10) & TOP]


def test_the_first_point_may_be_anywhere_and_makes_no_holes() -> None:
    inbound = Inbound()
    assert inbound.expected(new=True) == EMPTY
    assert inbound.expected(new=False) == RangeSet.of(0)
    inbound.point(4000)
    assert not inbound.holes
    assert inbound.expected(new=True) == RangeSet.of(4000)


def test_a_point_ahead_leaves_a_hole_whatever_its_size() -> None:
    inbound = Inbound()
    inbound.point(0)
    inbound.point(0x30000000)
    assert inbound.take() == 0x30000000
    assert inbound.expected(new=False) == RangeSet([(0, 0x2FFFFFFF), (0x30000001, 0x30000001)])
    inbound.point(5)
    assert inbound.take() == 5
    assert 5 not in inbound.holes


def test_sync_completes_only_after_all_prior_commands() -> None:
    inbound = Inbound()
    inbound.point(0)
    receive(inbound, 3)
    sync = inbound.take()
    inbound.add_sync(sync)
    receive(inbound, 1)
    inbound.complete(RangeSet.of(0, 2, 4))
    assert sync not in inbound.known
    inbound.complete(RangeSet.of(1))
    assert inbound.known.freeze() == RangeSet([(0, 4)])


def test_sync_waits_for_holes_too() -> None:
    inbound = Inbound()
    inbound.point(0)
    inbound.point(1)
    inbound.add_sync(inbound.take())
    assert not inbound.known
    inbound.gap(RangeSet.of(0))
    assert inbound.known.freeze() == RangeSet([(0, 1)])


def test_a_sync_that_fills_a_hole_does_not_wait_for_one_behind_it() -> None:
    """What comes again out of order is complete in its own order: 5 does not wait for 6, which 7 waits for."""
    inbound = Inbound()
    inbound.point(0)
    receive(inbound, 5)
    inbound.complete(RangeSet([(0, 4)]))
    inbound.point(7)
    inbound.add_sync(inbound.take())
    inbound.point(5)
    inbound.add_sync(inbound.take())
    assert 5 in inbound.known
    assert 7 not in inbound.known
    receive(inbound, 1)
    inbound.complete(RangeSet.of(6))
    assert inbound.known.freeze() == RangeSet([(0, 7)])
    assert inbound.sync_count == 0


@pytest.mark.parametrize("base", BASES)
def test_syncs_behind_holes_cost_what_came(base: int) -> None:
    """Each sync looks at the first hole only, whichever way the numbers go around."""

    def syncs(size: int) -> Callable[[], object]:
        inbound = Inbound()
        inbound.point(base)

        def work() -> None:
            for number in range(size):
                inbound.point((base + 2 * number + 1) & TOP)
                inbound.add_sync(inbound.take())

        return work

    assert_linear(syncs, 300)


@given(st.lists(st.lists(st.integers(0, 80), max_size=20), max_size=12), st.sampled_from(BASES))
def test_repeated_reports_hold_what_is_complete(turns: list[list[int]], base: int) -> None:
    """All that is complete is told, in whole ranges; ranges that did not change are told again only when they are few."""
    inbound = Inbound()
    inbound.point(base)
    receive(inbound, 81)
    told = EMPTY
    for turn in turns:
        for number in turn:
            id = (base + number) & TOP
            if id in inbound.outstanding:
                inbound.complete(RangeSet.of(id))
        now = inbound.tell_completed()
        told |= now
        assert told == inbound.known.freeze()
        assert now == inbound.known.around(now)
    inbound.begin_attachment()
    assert inbound.untold_completed() == told


def test_many_ranges_are_reported_once() -> None:
    inbound = Inbound()
    inbound.point(0)
    receive(inbound, 200)
    inbound.complete(RangeSet.of(*range(0, 100, 2)))
    assert inbound.tell_completed() == RangeSet.of(*range(0, 100, 2))
    assert not inbound.tell_completed()
    inbound.complete(RangeSet.of(1, 150))
    assert inbound.tell_completed() == RangeSet([(0, 2), (150, 150)])
    inbound.point(4)
    assert inbound.take() == DUPLICATE
    assert inbound.tell_completed() == RangeSet.of(4)


@pytest.mark.parametrize("verb", ["point", "complete", "gap", "known"])
def test_ranges_without_end_cost_what_came(verb: str) -> None:
    """Whatever falls into many ranges, a control about one of them does not look at the others."""

    def calls(size: int) -> Callable[[], object]:
        inbound = Inbound()
        inbound.point(0)
        if verb == "complete":
            receive(inbound, 2 * size + 1)
        if verb in ("gap", "known"):
            for number in range(size):
                inbound.point(2 * number + 1)
                inbound.take()
        if verb == "known":
            inbound.known.update(RangeSet.of(*range(1, 2 * size, 2)))

        def work() -> None:
            for number in range(size):
                if verb == "point":
                    inbound.point(2 * number + 1)
                    inbound.take()
                elif verb == "complete":
                    inbound.complete(RangeSet.of(2 * number + 1))
                elif verb == "gap":
                    inbound.gap(RangeSet.of(2 * number))
                else:
                    inbound.known_completed(RangeSet.of(2 * number + 1))

        return work

    assert_linear(calls, 400)


@pytest.mark.rule("session.gap.gap-confirmation-and-completion")
def test_gap_moves_the_cursor_and_completes_all_that_it_covers() -> None:
    inbound = Inbound()
    inbound.point(0)
    receive(inbound, 3)
    inbound.complete(RangeSet.of(0))
    inbound.outstanding.discard(RangeSet.of(2))
    inbound.add_sync(2)
    assert inbound.gap(RangeSet([(0, 4)])) == RangeSet([(3, 4)])
    assert inbound.known.freeze() == RangeSet([(0, 4)])
    assert not inbound.outstanding
    assert not inbound.syncs
    assert inbound.sync_count == 0
    inbound.known_completed(RangeSet([(0, 4)]))
    inbound.complete(RangeSet.of(1))  # the application had not heard
    assert not inbound.known
    assert inbound.take() == 5


def test_what_the_sender_knows_to_be_complete_is_not_confirmed_any_more() -> None:
    """Also where it was confirmed and is not complete."""
    inbound = Inbound()
    inbound.point(0)
    receive(inbound, 2)
    inbound.confirmed.update(RangeSet([(0, 1)]))
    inbound.known_completed(RangeSet.of(0))
    assert inbound.confirmed.freeze() == RangeSet.of(1)


@pytest.mark.parametrize("how", ["complete", "gap"])
def test_what_is_complete_is_not_confirmed_besides(how: str) -> None:
    """However it came to be complete: `confirmed` holds what will be, and is not yet."""
    inbound = Inbound()
    inbound.point(0)
    receive(inbound, 3)
    inbound.confirmed.update(RangeSet([(0, 2)]))
    if how == "complete":
        inbound.complete(RangeSet.of(1))
    else:
        inbound.gap(RangeSet.of(1))
    assert inbound.confirmed.freeze() == RangeSet.of(0, 2)
    assert inbound.known.freeze() == RangeSet.of(1)


def test_gap_in_a_new_session() -> None:
    inbound = Inbound()
    assert inbound.gap(EMPTY) == EMPTY
    assert inbound.gap(RangeSet([(0, 9)])) == RangeSet([(0, 9)])
    assert inbound.expected(new=True) == RangeSet.of(10)


def test_a_gap_of_billions_costs_nothing() -> None:
    inbound = Inbound()
    inbound.point(0)
    news = inbound.gap(RangeSet([(0, 0xFFFFFFFF)]))
    assert len(news) == 0x80000000
    assert inbound.ranges <= 2


def test_timely_reply_is_asked_for_when_what_the_sender_does_not_know_has_grown() -> None:
    inbound = Inbound()
    inbound.point(0)
    for id in receive(inbound, TIMELY_IDS - 1):
        inbound.complete(RangeSet.of(id))
    assert not inbound.wants_timely()
    inbound.complete(RangeSet.of(*receive(inbound, 1)))
    assert inbound.wants_timely()
    assert not inbound.wants_timely()
    inbound.known_completed(RangeSet([(0, TIMELY_IDS)]))
    assert not inbound.known
    ids = receive(inbound, 2 * TIMELY_RANGES)
    inbound.complete(RangeSet.of(*ids[::2]))
    assert inbound.wants_timely()


def test_a_duplicate_of_a_completed_command_has_its_completion_said_again() -> None:
    inbound = Inbound()
    inbound.point(0)
    receive(inbound, 1)
    inbound.complete(RangeSet.of(0))
    inbound.begin_attachment()
    inbound.point(0)
    assert not inbound.due
    assert inbound.take() == DUPLICATE
    assert inbound.due


def test_seen() -> None:
    inbound = Inbound()
    assert not inbound.seen(0)
    inbound.point(0)
    receive(inbound, 2)
    inbound.point(5)
    assert [id for id in range(7) if inbound.seen(id)] == [0, 1]
    assert inbound.cursor == 5


def test_completions_that_nobody_acknowledges_do_not_outgrow_the_serial_numbers() -> None:
    inbound = Inbound()
    inbound.point(0)
    inbound.known.add_range(0, 0x7FFFFFF0)
    inbound.cursor = inbound.next_id = 0x7FFFFFF1
    assert inbound.wants_timely()
    assert len(inbound.known) <= 1 << 30
    assert inbound.known.freeze().last == 0x7FFFFFF0


def test_a_result_is_given_once_and_before_completion() -> None:
    inbound = Inbound()
    inbound.owed[4] = Owed(8, 4, "queue.queue-query-result")
    inbound.owed[5] = Owed(8, 1, "")
    with pytest.raises(LocalProtocolError):
        inbound.check_results_given(RangeSet([(0, TOP)]))
    inbound.check_results_given(RangeSet.of(5))
    inbound.check_result(4, None)
    inbound.given(4)
    with pytest.raises(LocalProtocolError):
        inbound.check_result(4, None)
    inbound.check_results_given(RangeSet.of(4, 5))
    inbound.complete(RangeSet.of(4, 5))
    assert inbound.owed == {}
