"""Lines are what plain sets of numbers are, whatever ranges they are made of."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.kernel.lines import TOP, Range, check, circle, intersect, line_of, merge, subtract

BOTH_ENDS = [*range(12), *range(TOP - 11, TOP + 1)]
ranges = st.lists(st.tuples(st.sampled_from(BOTH_ENDS), st.sampled_from(range(4))).map(lambda r: (r[0], (r[0] + r[1]) & TOP)))


def ids(line: tuple[Range, ...]) -> set[int]:
    return {id for low, high in line for id in range(low, high + 1)}


# A line has the ids of its ranges; and intersection and difference of lines have those of the sets.
@given(ranges, ranges)
def test_lines_are_sets(some: list[Range], others: list[Range]) -> None:
    a, b = line_of(some), line_of(others)
    assert ids(a) == {(low + n) & TOP for low, high in some for n in range(((high - low) & TOP) + 1)}
    assert merge(sorted(a + b)) == line_of([*some, *others])
    assert ids(intersect(a, b)) == ids(a) & ids(b)
    assert ids(subtract(a, b)) == ids(a) - ids(b)


# Each range of a line ends before the next one begins, with a number between that is in neither.
@given(ranges)
def test_no_two_ranges_touch(some: list[Range]) -> None:
    line = line_of(some)
    assert all(low <= high for low, high in line)
    assert all(before[1] + 1 < after[0] for before, after in itertools.pairwise(line))


def test_on_the_circle_ranges_follow_the_widest_gap() -> None:
    assert circle(((0, 1), (5, 6))) == ((0, 1), (5, 6))
    assert circle(((0, 1), (TOP - 1, TOP))) == ((TOP - 1, 1),)


@pytest.mark.parametrize("bad", [-1, TOP + 1])
def test_what_is_no_serial_number_is_refused(bad: int) -> None:
    with pytest.raises(ValueError, match="is not a serial number"):
        check(bad)
    with pytest.raises(ValueError, match="is not a serial number"):
        line_of([(bad, 0)])
