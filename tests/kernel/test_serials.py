"""Lines are what plain sets of numbers are, whatever ranges they are made of."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.steps import assert_linear

from amqp_sansio.kernel.serials import (
    EMPTY,
    HALF,
    MODULUS,
    TOP,
    ById,
    MutableRangeSet,
    Range,
    RangeSet,
    between,
    check,
    circle,
    intersect,
    line_of,
    merge,
    pick,
    serial_add,
    serial_diff,
    serial_le,
    serial_lt,
    subtract,
)

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
def test_a_number_that_is_no_serial_number_is_refused(bad: int) -> None:
    with pytest.raises(ValueError, match="is not a serial number"):
        check(bad)
    with pytest.raises(ValueError, match="is not a serial number"):
        line_of([(bad, 0)])


# A small universe of ids that lies across the top, so that sets of ints can be the model.
NEAR_TOP = [(TOP - 11 + n) & TOP for n in range(24)]
near = st.sampled_from(range(len(NEAR_TOP)))
models = st.frozensets(st.sampled_from(NEAR_TOP))
near_ranges = st.lists(st.tuples(near, near).map(lambda pair: (min(pair), max(pair))), max_size=8)
numbers = st.integers(0, TOP)


def made(model: frozenset[int]) -> RangeSet:
    return RangeSet.of(*sorted(model))


def naive(ids: RangeSet) -> frozenset[int]:
    return frozenset(id for id in NEAR_TOP if id in ids)


def test_serials_go_around() -> None:
    assert serial_add(TOP, 1) == 0
    assert serial_add(0, -1) == TOP
    assert serial_diff(0, TOP) == 1
    assert serial_diff(TOP, 0) == -1
    assert serial_diff(HALF, 0) == HALF
    assert serial_diff(0, HALF) == HALF
    assert serial_lt(TOP, 0)
    assert not serial_lt(0, TOP)
    assert not serial_lt(5, 5)
    assert serial_le(5, 5)
    assert not serial_lt(0, HALF)
    assert not serial_lt(HALF, 0)


@given(numbers, numbers)
def test_the_difference_leads_from_one_number_to_the_other(a: int, b: int) -> None:
    n = serial_diff(a, b)
    assert -HALF < n <= HALF
    assert serial_add(b, n) == a
    assert serial_lt(b, a) == (0 < n < HALF)
    assert serial_le(b, a) == (0 <= n < HALF)


@given(models, models)
def test_the_algebra_is_that_of_plain_sets(a: frozenset[int], b: frozenset[int]) -> None:
    assert naive(made(a) | made(b)) == a | b
    assert naive(made(a) & made(b)) == a & b
    assert naive(made(a) - made(b)) == a - b
    assert made(a).isdisjoint(made(b)) == a.isdisjoint(b)
    assert made(a).issubset(made(b)) == a.issubset(b)
    assert (made(a) == made(b)) == (a == b)
    assert len(made(a)) == len(a)
    assert bool(made(a)) == bool(a)


@given(models)
def test_ranges_ascend_and_do_not_touch(model: frozenset[int]) -> None:
    ids = made(model)
    ranges = ids.ranges
    for (_, high), (low, _) in itertools.pairwise(ranges):
        assert serial_lt(serial_add(high, 1), low)
    if model:
        order = [id for id in NEAR_TOP if id in model]
        assert (ids.first, ids.last) == (order[0], order[-1])


@given(near_ranges)
def test_any_ranges_make_the_set_of_their_ids(ranges: list[tuple[int, int]]) -> None:
    ids = RangeSet([(NEAR_TOP[low], NEAR_TOP[high]) for low, high in ranges])
    assert naive(ids) == frozenset(NEAR_TOP[n] for low, high in ranges for n in range(low, high + 1))


@given(models)
def test_a_set_is_a_value(model: frozenset[int]) -> None:
    ids = made(model)
    again = pickle.loads(pickle.dumps(ids))
    assert again == ids
    assert hash(again) == hash(ids)
    assert RangeSet(ids.ranges) == ids
    assert eval(repr(ids)) == ids


@given(st.lists(st.tuples(st.sampled_from(["add", "add_range", "update", "discard", "discard_id"]), near, near, models)))
def test_the_mutable_set_does_what_a_plain_set_does(steps: list[tuple[str, int, int, frozenset[int]]]) -> None:
    ids, model = MutableRangeSet(), set[int]()
    for verb, a, b, others in steps:
        low, high = min(a, b), max(a, b)
        if verb == "add":
            ids.add(NEAR_TOP[a])
            model.add(NEAR_TOP[a])
        elif verb == "add_range":
            ids.add_range(NEAR_TOP[low], NEAR_TOP[high])
            model.update(NEAR_TOP[low : high + 1])
        elif verb == "update":
            ids.update(made(others))
            model |= others
        elif verb == "discard":
            ids.discard(made(others))
            model -= others
        else:
            ids.discard_id(NEAR_TOP[a])
            model.discard(NEAR_TOP[a])
        assert ids.freeze() == made(frozenset(model))
        assert len(ids) == len(model)
        assert bool(ids) == bool(model)
        assert all((id in ids) == (id in model) for id in NEAR_TOP)
    assert ids.copy().freeze() == ids.freeze()


def test_ranges_of_billions_cost_nothing() -> None:
    everything = RangeSet([(0, TOP)])
    half = RangeSet([(10, 10 + HALF)])
    assert len(everything) == MODULUS
    assert everything.ranges == ((0, TOP),)
    assert len(half) == HALF + 1
    assert len(everything - half) == MODULUS - HALF - 1
    assert (everything - half).ranges == ((11 + HALF, 9),)
    assert half | (everything - half) == everything
    assert everything & half == half
    mutable = MutableRangeSet(everything)
    mutable.discard(half)
    assert len(mutable) == MODULUS - HALF - 1
    mutable.add_range(0, TOP)
    assert mutable.freeze() == everything
    assert len([RangeSet([(n, n + HALF)]) | everything for n in range(1000)]) == 1000


def test_a_set_beyond_half_the_circle_still_has_one_order() -> None:
    ids = RangeSet([(0, 1), (1 << 30, HALF), (3 << 30, (3 << 30) + 5)])
    assert RangeSet(reversed(ids.ranges)).ranges == ids.ranges


def test_adding_at_the_end_keeps_one_range() -> None:
    ids = MutableRangeSet()
    for n in range(TOP - 1000, TOP + 1000):
        ids.add(n & TOP)
    assert ids.freeze().ranges == ((TOP - 1000, 998),)
    assert ids.range_count == 2


@pytest.mark.parametrize("other", ["1", None, 1.5])
def test_what_is_no_number_is_in_no_set(other: object) -> None:
    ids = RangeSet([(0, 5)])
    assert other not in ids
    assert other not in MutableRangeSet(ids)


def test_what_is_no_serial_number_is_refused() -> None:
    for bad in (-1, MODULUS):
        with pytest.raises(ValueError, match="not a serial number"):
            RangeSet.of(bad)
        with pytest.raises(ValueError, match="not a serial number"):
            MutableRangeSet().add(bad)
        with pytest.raises(ValueError, match="not a serial number"):
            MutableRangeSet().add_range(0, bad)
    ids = MutableRangeSet(RangeSet([(5, TOP)]))
    with pytest.raises(ValueError, match="not a serial number"):
        ids.add(MODULUS)
    for missing in ("first", "last"):
        with pytest.raises(ValueError, match="empty set"):
            getattr(EMPTY, missing)
    assert "5" not in RangeSet.of(5)
    assert -1 not in RangeSet([(0, TOP)])
    assert MODULUS not in RangeSet([(0, TOP)])


def test_a_set_cannot_be_changed() -> None:
    ids = RangeSet.of(1)
    with pytest.raises(AttributeError):
        ids._line = ()
    with pytest.raises(AttributeError):
        del ids._line
    assert str(RangeSet([(1, 3), (7, 7)])) == "{1-3, 7}"
    assert repr(EMPTY) == "RangeSet()"


@given(models, models)
def test_what_is_missing_is_what_a_plain_set_would_miss(held: frozenset[int], asked: frozenset[int]) -> None:
    """The ids asked for that a mutable set has not are those of the difference."""
    assert naive(MutableRangeSet(made(held)).missing(made(asked))) == asked - held
    assert MutableRangeSet(made(held)).missing(made(asked)) == made(asked) - made(held)


@given(models, models)
def test_what_is_taken_away_is_reported(some: frozenset[int], others: frozenset[int]) -> None:
    """`take` leaves what `discard` leaves, and tells what of the ids was there."""
    mine, ids = made(some), made(others)
    taking, discarding = MutableRangeSet(mine), MutableRangeSet(mine)
    discarding.discard(ids)
    assert taking.take(ids) == mine & ids
    assert taking.freeze() == discarding.freeze()


@given(models, models, near)
def test_what_is_common_and_what_comes_next_is_what_a_plain_set_has(
    held: frozenset[int], asked: frozenset[int], start: int
) -> None:
    """The ids of both sets; and going around the circle from an id, the first one met, and the end of its range."""
    ids = MutableRangeSet(made(held))
    assert ids.common(made(asked)) == made(held & asked)
    around = [id for id in (NEAR_TOP[start:] + NEAR_TOP[:start]) if id in held]
    assert ids.next_from(NEAR_TOP[start]) == (around[0] if around else None)
    for low, high in zip(ids.lows, ids.highs, strict=True):
        assert ids.end_of(low) == ids.end_of(high) == high


@given(models, models, near, st.integers(1, 5))
def test_ranges_around_ids_and_the_first_ones(held: frozenset[int], asked: frozenset[int], start: int, most: int) -> None:
    """Whole are the ranges in which an id that is asked for is; the first ones are met first, going around the circle."""
    ids = MutableRangeSet(made(held))
    line = tuple(zip(ids.lows, ids.highs, strict=True))
    assert ids.around(made(asked)) == RangeSet([(low, high) for low, high in line if any(low <= id <= high for id in asked)])
    first = ids.first_ranges(NEAR_TOP[start], most)
    beyond = [(max(low, NEAR_TOP[start]), high) for low, high in line if high >= NEAR_TOP[start]]
    behind = [(low, high) for low, high in line if high < NEAR_TOP[start]]
    assert first == RangeSet([*beyond, *behind][:most])


@pytest.mark.parametrize("verb", ["discard", "take", "common", "missing", "update", "next_from"])
def test_a_change_costs_what_it_names_whatever_the_set_holds(verb: str) -> None:
    """Many ranges, and each is named once by itself."""

    def calls(size: int) -> Callable[[], object]:
        ids = MutableRangeSet(RangeSet.of(*range(0, 4 * size, 2)))
        asked = [id if verb == "next_from" else RangeSet.of(id) for id in range(0, 4 * size, 4)]

        def work() -> None:
            for each in asked:
                getattr(ids, verb)(each)

        return work

    assert_linear(calls, 500)


@given(near, near, near, near)
def test_the_lowest_are_taken_away(low: int, high: int, first: int, last: int) -> None:
    """What holds for any sets holds for one range and another."""
    mine = RangeSet([(100 + min(low, high), 100 + max(low, high))])
    ids = RangeSet([(100 + min(first, last), 100 + max(first, last))])
    taking = MutableRangeSet(mine)
    assert taking.take(ids) == mine & ids
    assert taking.freeze() == mine - ids


@given(models, numbers, numbers)
def test_between_is_an_intersection(some: frozenset[int], low: int, high: int) -> None:
    """`between` is the intersection with one span, and a span is the set of that range."""
    ids = made(some)
    assert RangeSet.span(low, high) == RangeSet([(low, high)])
    assert between(ids, low, high) == ids & RangeSet([(low, high)])


def test_a_span_is_made_of_serial_numbers() -> None:
    with pytest.raises(ValueError, match="is not a serial number"):
        RangeSet.span(0, MODULUS)


@given(near, near, near, near)
def test_updating_one_range_by_another_adds_what_is_new(low: int, high: int, first: int, last: int) -> None:
    """Whatever lies where: what was in the set stays, what is added comes to it, and nothing else."""
    low, high, first, last = *sorted((low, high)), *sorted((first, last))
    ids = MutableRangeSet(RangeSet.span(NEAR_TOP[low], NEAR_TOP[high]))
    ids.update(RangeSet.span(NEAR_TOP[first], NEAR_TOP[last]))
    assert {at for at, id in enumerate(NEAR_TOP) if id in ids} == {*range(low, high + 1), *range(first, last + 1)}


@given(models, models)
def test_pick_finds_the_live_ids_in_order(asked: frozenset[int], live: frozenset[int]) -> None:
    order = [id for id in NEAR_TOP if id in asked and id in live]
    assert pick(made(asked), dict.fromkeys(live)) == order


def test_picking_from_ranges_of_billions_costs_nothing() -> None:
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
