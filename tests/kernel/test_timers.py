"""Deadlines."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.steps import assert_linear

from amqp_sansio.errors import EncodeError
from amqp_sansio.kernel.timers import AT_ONCE, FEW, Agenda, Countdowns, earliest, moment_of


def test_never_is_the_earliest_of_nothing() -> None:
    assert earliest() is None
    assert earliest(None, None) is None


def test_a_moment_comes_before_never() -> None:
    assert earliest(None, 3.0, 2.0, None) == 2.0
    assert earliest(0.0, 1.0) == 0.0


def test_what_is_no_moment_is_refused() -> None:
    assert (moment_of(3), moment_of(0.5), moment_of(True)) == (3.0, 0.5, 1.0)
    for odd in (None, "now", 1j, float("nan"), float("inf"), float("-inf"), 2**2000):
        with pytest.raises(EncodeError, match="tick: takes seconds"):
            moment_of(odd)


def test_things_are_due_in_the_order_of_their_moments() -> None:
    agenda: Agenda[str] = Agenda()
    agenda.note("b", 2.0)
    agenda.note("a", 1.0)
    agenda.note("never", None)
    assert agenda.next == 1.0
    assert agenda.due(0.5) == []
    assert agenda.due(2.0) == ["a", "b"]
    assert len(agenda) == 0


def test_a_thing_stands_under_its_earliest_moment_once() -> None:
    agenda: Agenda[str] = Agenda()
    agenda.note("a", 5.0)
    agenda.note("a", 9.0)
    agenda.note("a", 3.0)
    assert agenda.next == 3.0
    assert agenda.due(3.0) == ["a"]
    assert agenda.due(10.0) == []


def test_what_is_forgotten_is_not_due() -> None:
    agenda: Agenda[str] = Agenda()
    agenda.note("a", 1.0)
    agenda.note("b", 2.0)
    agenda.forget("a")
    assert agenda.next == 2.0
    assert agenda.due(5.0) == ["b"]


def test_telling_a_later_moment_again_and_again_costs_no_memory() -> None:
    agenda: Agenda[str] = Agenda()
    for moment in range(1000):
        agenda.note("a", 1000.0 + moment)
    assert len(agenda._heap) == 1


def test_telling_an_earlier_moment_again_and_again_costs_no_memory() -> None:
    agenda: Agenda[str] = Agenda()
    for moment in range(1000):
        agenda.note("a", -moment)
    assert len(agenda._heap) <= 2 * FEW


def test_what_was_forgotten_costs_no_memory_however_late_its_moment_is() -> None:
    """A session that is kept for years, resumed, and ended: nothing must hold on to it."""
    agenda: Agenda[str] = Agenda()
    agenda.note("b", 2.0)
    for number in range(1000):
        for moment in (1e9, 1e9 + number, 1e9):
            agenda.note(f"a{number}", moment)
            agenda.forget(f"a{number}")
            agenda.note("c", 3.0 + 1000 - number)
    assert len(agenda._heap) <= 2 * FEW
    assert agenda.due(2.5) == ["b"]
    assert agenda.next == 4.0
    assert agenda.due(4.0) == ["c"]
    assert agenda.next is None


def test_many_that_stay_are_not_looked_through_each_time() -> None:
    agenda: Agenda[int] = Agenda()
    for number in range(1000):
        agenda.note(number, float(number))
    for number in range(600):
        agenda.forget(number)
    assert 400 <= len(agenda._heap) <= 1000
    assert agenda.due(1000.0) == list(range(600, 1000))


def test_noting_many_costs_what_they_are() -> None:
    def noted(count: int) -> Callable[[], None]:
        agenda: Agenda[int] = Agenda()

        def note() -> None:
            for number in range(count):
                agenda.note(number, float(number))

        return note

    assert_linear(noted, 500)


def test_the_time_begins_with_the_next_moment_and_ends_so_many_seconds_later() -> None:
    countdowns: Countdowns[str] = Countdowns()
    assert countdowns.next is None
    countdowns.begin("long", 10)
    countdowns.begin("short", 2)
    moments = [countdowns.next]
    over = []
    for now in (100.0, 101.9, 102.0, 200.0):
        over.append(countdowns.due(now))
        moments.append(countdowns.next)
    assert over == [[], [], ["short"], ["long"]]
    assert moments == [AT_ONCE, 102.0, 102.0, 110.0, None]


def test_what_has_stopped_is_not_due() -> None:
    countdowns: Countdowns[str] = Countdowns()
    countdowns.begin("one", 10)
    countdowns.stop("one")
    assert (countdowns.due(0.0), countdowns.next) == ([], None)
    countdowns.begin("two", 20)
    countdowns.due(0.0)
    countdowns.stop("two")
    assert (countdowns.next, countdowns.due(100.0)) == (None, [])


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(0, 20))))
def test_what_is_due_is_what_has_no_time_left(said: list[tuple[int, int, int]]) -> None:
    """After any history a thing is due at the first moment at which its last beginning is its seconds ago."""
    countdowns: Countdowns[int] = Countdowns()
    now = 0.0
    left: dict[int, float | None] = {}
    for which, what, seconds in said:
        if what == 0:
            countdowns.begin(which, 5 + 3 * which)
            left[which] = None
        elif what == 1:
            countdowns.stop(which)
            left.pop(which, None)
        else:
            now += seconds
            for each, moment in left.items():
                if moment is None:
                    left[each] = now + 5 + 3 * each
            due = {each for each, moment in left.items() if moment is not None and moment <= now}
            assert set(countdowns.due(now)) == due
            for each in due:
                del left[each]
        if None in left.values():
            assert countdowns.next == AT_ONCE
        else:
            assert countdowns.next == min([moment for moment in left.values() if moment is not None], default=None)


def test_beginning_again_and_again_costs_no_memory() -> None:
    countdowns: Countdowns[str] = Countdowns()
    for now in range(1000):
        countdowns.begin("one", 1000)
        countdowns.due(float(now))
    assert len(countdowns._agenda._heap) <= 67
    assert countdowns.due(1998.0) == []
    assert countdowns.due(1999.0) == ["one"]


def test_what_was_stopped_is_forgotten() -> None:
    countdowns: Countdowns[int] = Countdowns()
    countdowns.begin(-1, 1)
    for number in range(1000):
        countdowns.begin(number, 2)
        countdowns.due(0.0)
        countdowns.stop(number)
    countdowns.begin(-2, 2)
    countdowns.due(0.0)
    assert len(countdowns._agenda._heap) < 70
