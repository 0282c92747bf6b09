"""Who is let in: at each limit less one, at it and beyond."""

from __future__ import annotations

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.adapters.admission import PLAIN_OCTETS, TLS_OCTETS, Admission, checked
from amqp_sansio.config import Accepted, Rejected
from amqp_sansio.limits import DEFAULT_SERVER_LIMITS, ServerLimits


@pytest.mark.parametrize("asked", [3, 4, 5])
def test_connections_have_a_limit(asked: int) -> None:
    admission = Admission(ServerLimits(connections=4), tls=False)
    for _ in range(min(asked, 4)):
        assert admission.admit()
        admission.opened()
    assert admission.admit() is (asked < 4)
    assert admission.refused == (asked >= 4)


@pytest.mark.parametrize(("tls", "each"), [(False, PLAIN_OCTETS), (True, TLS_OCTETS)])
@pytest.mark.parametrize("octets", [-1, 0, 1])
def test_those_that_are_not_open_have_a_limit(tls: bool, each: int, octets: int) -> None:
    admission = Admission(ServerLimits(unopened_octets=4 * each + octets), tls)
    room = 3 if octets < 0 else 4
    assert [admission.admit() for _ in range(5)] == [True] * room + [False] * (5 - room)
    admission.opened()
    assert admission.admit()
    admission.left(opened=False)
    assert admission.admit()
    assert not admission.admit()


def test_the_default_is_what_it_says() -> None:
    for tls, each in ((False, PLAIN_OCTETS), (True, TLS_OCTETS)):
        admission = Admission(DEFAULT_SERVER_LIMITS, tls)
        assert admission.most_unopened * each <= 64 * 1024 * 1024


@pytest.mark.parametrize("field", attrs.fields(ServerLimits), ids=lambda field: field.name)
def test_a_default_is_positive(field: attrs.Attribute[object]) -> None:
    assert getattr(DEFAULT_SERVER_LIMITS, field.name) > 0


# Invariant: whoever comes, opens and leaves in whatever order, the counts are those of who is there, and within the limits.
@given(st.lists(st.integers(0, 20), max_size=200))
def test_the_counts_are_those_of_who_is_there(steps: list[int]) -> None:
    admission = Admission(ServerLimits(connections=8, unopened_octets=3 * PLAIN_OCTETS), tls=False)
    there: list[bool] = []
    for step in steps:
        if step < 10:
            if admission.admit():
                there.append(False)
        elif there and step < 15 and not there[step % len(there)]:
            there[step % len(there)] = True
            admission.opened()
        elif there:
            admission.left(there.pop(step % len(there)))
        assert (admission.connections, admission.unopened) == (len(there), there.count(False))
        assert admission.connections <= 8
        assert admission.unopened <= 3


def test_a_check_that_raises_is_a_no_and_quotes_nothing() -> None:
    def broken() -> Accepted:
        raise ValueError("the password was hush")

    assert checked(broken) == Rejected("ValueError")
    assert checked(lambda: Accepted("ann")) == Accepted("ann")
