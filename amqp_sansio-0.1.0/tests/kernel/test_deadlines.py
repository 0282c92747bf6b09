"""Deadlines."""

from __future__ import annotations

from amqp_sansio.kernel.deadlines import earliest


def test_never_is_the_earliest_of_nothing() -> None:
    assert earliest() is None
    assert earliest(None, None) is None


def test_a_moment_comes_before_never() -> None:
    assert earliest(None, 3.0, 2.0, None) == 2.0
    assert earliest(0.0, 1.0) == 0.0
