"""When branches time out."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.broker.transactions.stage import Stage

from amqp_sansio.broker.transactions.branch import Branch
from amqp_sansio.broker.transactions.timeouts import Timeouts
from amqp_sansio.broker.transactions.work import Work


def branch(timeout: int) -> Branch:
    stage = Stage()
    return Branch((timeout, b"", b""), Work(stage.host, stage.limits), timeout)


def test_time_runs_from_the_next_tick() -> None:
    timeouts, one = Timeouts(), branch(10)
    timeouts.begin(one)
    moments = [timeouts.next]
    assert timeouts.due(5.0) == []
    moments.append(timeouts.next)
    assert (timeouts.due(14.0), timeouts.due(15.0)) == ([], [one])
    moments.append(timeouts.next)
    assert moments == [None, 15.0, None]


def test_who_has_stopped_is_not_due() -> None:
    timeouts, one, two = Timeouts(), branch(10), branch(20)
    timeouts.begin(one)
    timeouts.stop(one)
    timeouts.begin(two)
    timeouts.due(0.0)
    timeouts.stop(two)
    assert (timeouts.next, timeouts.due(100.0)) == (None, [])


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(0, 20))))
def test_who_is_due_is_who_has_no_time_left(said: list[tuple[int, int, int]]) -> None:
    """After any history a branch is due at the first tick at which its last beginning is its timeout ago."""
    timeouts, now = Timeouts(), 0.0
    branches = [branch(5 + 3 * number) for number in range(5)]
    left: dict[Branch, float | None] = {}
    for which, what, seconds in said:
        one = branches[which]
        if what == 0:
            timeouts.begin(one)
            left[one] = None
        elif what == 1:
            timeouts.stop(one)
            left.pop(one, None)
        else:
            now += seconds
            for each, moment in left.items():
                if moment is None:
                    left[each] = now + each.timeout
            due = {each for each, moment in left.items() if moment is not None and moment <= now}
            assert set(timeouts.due(now)) == due
            for each in due:
                del left[each]
            moments = [moment for moment in left.values() if moment is not None]
            assert timeouts.next == (min(moments) if moments else None)


def test_setting_it_again_and_again_costs_no_memory() -> None:
    timeouts, one = Timeouts(), branch(1000)
    for now in range(1000):
        timeouts.begin(one)
        timeouts.due(float(now))
    assert len(timeouts) <= 67
    assert timeouts.due(1998.0) == []
    assert timeouts.due(1999.0) == [one]
