"""In how few methods tags are named, held against what these methods mean."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.engine.channels.acknowledging import fewest, one_by_one
from amqp_sansio.kernel.serials import MutableRangeSet, RangeSet

TOP = (1 << 32) - 1


@given(st.sets(st.integers(1, 30), max_size=20), st.data())
def test_what_is_named_is_what_was_asked_for_and_no_more(outstanding: set[int], data: st.DataObject) -> None:
    """What the methods mean, one after the other, is exactly the set; and only the oldest ones go together."""
    tags = {tag for tag in outstanding if data.draw(st.booleans())}
    left, meant = set(outstanding), set[int]()
    named = list(fewest(RangeSet.of(*tags), MutableRangeSet(RangeSet.of(*outstanding)), 31))
    for tag, multiple in named:
        found = {each for each in left if each == tag or (multiple and each <= tag)}
        assert tag in found
        assert len(found) > 1 or not multiple
        left -= found
        meant |= found
    assert meant == tags
    oldest = 0
    while oldest < len(outstanding) and sorted(outstanding)[oldest] in tags:
        oldest += 1
    assert len(named) == len(tags) - max(0, oldest - 1)  # nothing that means the same is shorter


@pytest.mark.parametrize(
    ("tags", "named"),
    [
        (RangeSet(), []),
        (RangeSet.of(TOP - 1), [(TOP - 1, False)]),
        (RangeSet([(TOP - 1, 1)]), [(1, True)]),
        (RangeSet([(TOP, 1)]), [(TOP, False), (0, False), (1, False)]),
    ],
)
def test_tags_go_over_the_top(tags: RangeSet, named: list[tuple[int, bool]]) -> None:
    assert list(fewest(tags, MutableRangeSet(RangeSet([(TOP - 1, 2)])), 3)) == named


def test_one_by_one() -> None:
    assert list(one_by_one(RangeSet([(TOP, 0), (5, 6)]))) == [(TOP, False), (0, False), (5, False), (6, False)]
