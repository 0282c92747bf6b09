"""What of a table is under ids that somebody named."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.kernel.test_serials import NEAR_TOP, made, models

from amqp_sansio.kernel.picking import ById, pick
from amqp_sansio.kernel.serials import EMPTY, HALF, TOP, RangeSet


@given(models, models)
def test_pick_finds_the_live_ids_in_order(asked: frozenset[int], live: frozenset[int]) -> None:
    order = [id for id in NEAR_TOP if id in asked and id in live]
    assert pick(made(asked), dict.fromkeys(live)) == order


def test_ranges_of_billions_cost_nothing() -> None:
    live = {5: "a", TOP: "b", 700: "c"}
    assert pick(RangeSet([(0, TOP)]), live) == [5, 700, TOP]
    assert pick(RangeSet([(10, 10 + HALF)]), live) == [700]
    assert pick(EMPTY, live) == []


@given(
    st.lists(st.tuples(st.sampled_from(["set", "remove", "del", "add_all", "drop", "run", "take", "one"]), st.integers(0, 11))),
    st.data(),
)
def test_a_dict_by_ids_finds_what_a_dict_holds(script: list[tuple[str, int]], data: st.DataObject) -> None:
    """Whatever came and went: the keys in a set of ids, in their order, across the top of the numbers too."""
    base = data.draw(st.sampled_from([0, TOP - 5]))
    kept, model = ById[str](), dict[int, str]()
    for verb, number in script:
        id = (base + number) & TOP
        if verb == "set":
            kept[id] = model[id] = f"{number}"
        elif verb == "add_all":
            kept.add_all({id: "x"})
            model[id] = "x"
        elif verb == "drop":
            assert kept.drop(id) == model.pop(id, None)
        elif verb == "run":
            values = ["y"] * min(3, TOP - id + 1)
            kept.run(id, values)
            model.update(zip(range(id, id + len(values)), values, strict=True))
        elif verb in ("take", "one"):
            some = RangeSet([(id, id if verb == "one" else (id + 3) & TOP)])
            assert kept.take(some) == [model.pop(id) for id in pick(some, model)]
        elif id in model and verb == "remove":
            assert kept.remove(id) == model.pop(id)
        elif id in model:
            del kept[id], model[id]
    assert kept == model
    low, high = sorted((data.draw(st.integers(0, 11)), data.draw(st.integers(0, 11))))
    ids = RangeSet([((base + low) & TOP, (base + high) & TOP)])
    asked = [(base + number) & TOP for number in range(low, high + 1)]
    assert kept.among(ids) == [id for id in asked if id in model]
    kept.clear()
    assert kept.among(ids) == []


def test_at_a_bound_the_oldest_goes() -> None:
    table = ById[str]()
    assert [table.push(id, name, 2) for id, name in ((7, "a"), (3, "b"), (5, "c"), (4, "d"))] == [None, None, "a", "b"]
    assert table.take(RangeSet([(0, 9)])) == ["d", "c"]
