"""What of a table is under ids that somebody named."""

from __future__ import annotations

from hypothesis import given
from tests.kernel.test_serials import NEAR_TOP, made, models

from amqp_sansio.kernel.picking import pick, take
from amqp_sansio.kernel.serials import EMPTY, HALF, TOP, RangeSet


@given(models, models)
def test_pick_finds_the_live_ids_in_order(asked: frozenset[int], live: frozenset[int]) -> None:
    order = [id for id in NEAR_TOP if id in asked and id in live]
    assert pick(made(asked), dict.fromkeys(live)) == order


@given(models, models)
def test_take_gives_what_is_live_in_order_and_it_is_live_no_more(asked: frozenset[int], live: frozenset[int]) -> None:
    table = {id: -id for id in live}
    assert take(made(asked), table) == [-id for id in NEAR_TOP if id in asked and id in live]
    assert table == {id: -id for id in live - asked}


def test_ranges_of_billions_cost_nothing() -> None:
    live = {5: "a", TOP: "b", 700: "c"}
    assert pick(RangeSet([(0, TOP)]), live) == [5, 700, TOP]
    assert pick(RangeSet([(10, 10 + HALF)]), live) == [700]
    assert take(RangeSet([(10, 10 + HALF)]), live) == ["c"]
    assert take(EMPTY, live) == []
    assert take(RangeSet([(0, TOP)]), live) == ["a", "b"]
