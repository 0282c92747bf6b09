"""Deadlines."""

from __future__ import annotations

import pytest

from amqp_sansio.errors import EncodeError
from amqp_sansio.kernel.deadlines import earliest, moment_of


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
