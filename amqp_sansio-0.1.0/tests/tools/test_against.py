"""The judge that compares two trees: its interval, its verdict, its exit code."""

from __future__ import annotations

from math import comb
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import against
from bench.against import BOUND, Interval, Tree, interval


class Stub:
    """A tree whose rounds take what they are told to take, each behind one that warms up."""

    def __init__(self, seconds: dict[str, list[float]], counted: str = "1") -> None:
        self.names = list(seconds)
        self._seconds = {name: iter([second for second in each for _ in range(2)]) for name, each in seconds.items()}
        self._counted = counted

    def run(self, name: str) -> tuple[float, str]:
        return next(self._seconds[name]), self._counted

    def close(self) -> None:
        """It has no process to end."""


def _compare(here: Stub, there: Stub, rounds: int, *only: str) -> list[str]:
    return against.compare(lambda: cast(Tree, here), lambda: cast(Tree, there), rounds, only)


def test_the_interval_of_fifteen_rounds_goes_from_the_fourth_to_the_twelfth() -> None:
    assert interval([float(number) for number in range(15, 0, -1)]) == Interval(4.0, 8.0, 12.0)


@given(st.integers(5, 60))
def test_the_interval_misses_the_median_in_at_most_a_tenth_of_all_cases(count: int) -> None:
    """The chance that fewer than k of n ratios lie below the true median is binomial; both tails together are at most 10 %."""
    found = interval([float(number) for number in range(count)])
    outside = 2 * sum(comb(count, below) for below in range(int(found.low) + 1)) / 2**count
    assert outside <= 0.1
    assert found.low + found.high == count - 1
    assert outside + 2 * comb(count, int(found.low) + 1) / 2**count > 0.1 or count == 5


def test_fewer_than_five_rounds_say_nothing() -> None:
    with pytest.raises(ValueError, match="4 ratios have no 90% interval"):
        interval([1.0] * 4)


def test_work_is_slower_only_when_the_whole_interval_lies_above_the_bound(capsys: pytest.CaptureFixture[str]) -> None:
    steady = [1.0] * 15
    here = {"clear": [BOUND + 0.01] * 15, "edge": [BOUND] * 15, "doubtful": [0.9] * 5 + [1.5] * 10, "quick": [0.5] * 15}
    assert _compare(Stub(here), Stub(dict.fromkeys(here, steady)), 15) == ["clear"]
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert "SLOWER" in lines["clear"]
    assert "no slower" in lines["doubtful"]
    assert "faster" in lines["quick"]


def test_work_that_only_one_tree_has_is_left_out_and_other_counts_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    here, there = {"both": [1.0] * 5, "new": [1.0] * 5}, {"both": [1.0] * 5}
    assert _compare(Stub(here), Stub(there, counted="2"), 5) == []
    (line,) = capsys.readouterr().out.splitlines()
    assert line.endswith("counts differ: 1 here, 2 there")


def test_an_unknown_commit_is_an_error_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        against.main(["no-such-commit"])
    assert ended.value.code == 2
    assert "no-such-commit" in capsys.readouterr().err
