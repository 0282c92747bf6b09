"""Waiting ends with what was waited for, with the end of who should do it, or with an error."""

from __future__ import annotations

import pytest
from tests.waiting import awaited


def test_what_comes_is_what_is_given() -> None:
    coming = iter(["", "", "it", "more"])
    assert awaited(lambda: next(coming)) == "it"


def test_a_wait_that_is_over_looks_once_more() -> None:
    """What was done at the very end counts: the look comes behind the question."""
    order: list[str] = []

    def look() -> bool:
        order.append("look")
        return False

    def over() -> bool:
        order.append("over")
        return True

    assert awaited(look, over) is False
    assert order == ["over", "look"]


def test_what_never_comes_is_an_error() -> None:
    with pytest.raises(AssertionError, match="nothing came in 0"):
        awaited(lambda: False, seconds=0.0)
