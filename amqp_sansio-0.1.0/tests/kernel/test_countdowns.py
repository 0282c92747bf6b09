"""Things whose time is over so many seconds after it began."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.kernel.countdowns import Countdowns
from amqp_sansio.kernel.deadlines import AT_ONCE


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
