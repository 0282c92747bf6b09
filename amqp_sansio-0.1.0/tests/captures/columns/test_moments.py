"""Nanoseconds as moments of tables, and back."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.captures.columns.moments import NANOSECONDS, TIME, moments, nanoseconds

NS = st.none() | st.integers(-(10**18), 4 * 10**18)


@given(st.lists(NS), st.integers(0, 5), st.integers(0, 9))
def test_what_is_below_a_microsecond_is_cut_off_and_nothing_else(ns: list[int | None], start: int, count: int) -> None:
    """Whatever part of a column it is: nulls stay, and a time is never later than it was, nor by a microsecond earlier."""
    part = pa.array(ns, pa.int64()).slice(start, count)
    made = moments(part)
    assert made.type == TIME
    assert made.cast(pa.int64()).to_pylist() == [None if each is None else each // NANOSECONDS for each in part.to_pylist()]
    back = nanoseconds(made)
    assert back.type == pa.int64()
    assert back.null_count == part.null_count
    assert moments(back).equals(made)
    assert nanoseconds(made.slice(1)).equals(back.slice(1))


@given(st.lists(st.integers(0, 4 * 10**18), min_size=2))
def test_no_two_change_their_order(ns: list[int]) -> None:
    """Times that were not later are not later when they are cut."""
    assert moments(pa.array(sorted(ns), pa.int64())).cast(pa.int64()).to_pylist() == sorted(each // 1000 for each in ns)


def test_a_column_of_nothing() -> None:
    assert moments(pa.nulls(3, pa.int64())).to_pylist() == [None] * 3
    assert moments(pa.array([], pa.int64())).equals(pa.array([], TIME))
