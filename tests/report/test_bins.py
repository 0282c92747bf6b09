"""Counting in bounded memory."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.report.bins import PER_OCTAVE, Axis, HeaviestKeys, Latencies, first, grouped


# A percentile is told within one bin of the value at its place, whatever the values and however they come in.
@given(st.lists(st.integers(0, 10**15), min_size=1, max_size=200), st.sampled_from([0.01, 0.5, 0.9, 0.99, 1.0]))
def test_a_percentile_is_near_the_value_at_its_place(values: list[int], share: float) -> None:
    held = Latencies()
    for part in (values[::2], values[1::2]):
        held.add(np.array(part, dtype=np.int64))
    exact = sorted(values)[max(1, int(np.ceil(share * len(values)))) - 1]
    assert held.count == len(values)
    assert abs(held.percentile(share) - exact) <= exact * (2 ** (1 / PER_OCTAVE) - 1) + 1
    spread = held.spread()
    assert spread is not None
    assert (spread.least, spread.most) == (min(values), max(values))


def test_no_latencies_have_no_spread() -> None:
    held = Latencies()
    held.add(np.zeros(0, dtype=np.int64))
    assert (held.spread(), held.percentile(0.5), held.coarse()) == (None, 0, ([], []))


def test_latencies_below_zero_count_as_zero_and_are_reported() -> None:
    held = Latencies()
    held.add(np.array([-5, 0, 7]))
    assert (held.below, held.count, held.percentile(0.5)) == (1, 3, 0)


# The coarse histogram holds every value once.
@given(st.lists(st.integers(0, 2**62), min_size=1, max_size=50))
def test_the_coarse_histogram_loses_nothing(values: list[int]) -> None:
    held = Latencies()
    held.add(np.array(values, dtype=np.int64))
    edges, counts = held.coarse()
    assert sum(counts) == len(values)
    assert len(edges) == len(counts) + 1


def test_an_axis_takes_all_times() -> None:
    axis = Axis(100, 1099, steps=10)
    assert axis.step == 100
    assert axis.count(np.array([0, 100, 199, 200, 1099, 5000])).tolist() == [3, 1, 0, 0, 0, 0, 0, 0, 0, 2]
    assert Axis(5, 5).step == 1


def test_a_tally_forgets_what_is_light_and_says_so() -> None:
    tally: HeaviestKeys[str] = HeaviestKeys(most=4)
    for name, weight in (("a", 9), ("b", 1), ("c", 8), ("d", 2), ("e", 1)):
        tally.add(name, weight, 1)
    assert tally.forgot
    assert tally.top(2) == [("a", 9, 1), ("c", 8, 1)]
    assert (tally["b"], len(tally)) == (0, 3)


# The first rows are those of a full sort, whatever order they come in.
@given(st.lists(st.none() | st.integers(0, 50), max_size=400))
def test_the_first_rows_are_those_of_a_sort(values: list[int | None]) -> None:
    rows = [{"n": value} for value in values]
    order = sorted(rows, key=lambda row: (row["n"] is not None, row["n"] or 0))
    assert first(rows, 5, ("n",)) == order[:5]
    assert first(rows, 5, ("-n",)) == sorted(rows, key=lambda row: -(row["n"] or 0))[:5] or None in values


def test_rows_are_grouped_by_columns_counted_and_summed() -> None:
    rows = pa.table({"a": ["x", "y", "x", None], "b": [1, 1, 1, 2], "n": [1, 2, None, 4]})
    assert sorted(grouped(rows, ("a", "b")), key=str) == [("x", 1, 2), ("y", 1, 1), (None, 2, 1)]
    assert sorted(grouped(rows, ("b",), "n")) == [(1, 3, 3), (2, 1, 4)]
