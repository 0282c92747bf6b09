"""Which publish a return is of, where that can be told."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.steps import assert_linear

from amqp_sansio.engine.channels import returns
from amqp_sansio.engine.channels.returns import MOST, Returnable
from amqp_sansio.kernel.serials import MutableRangeSet, RangeSet


def test_one_candidate_is_named_and_several_are_not() -> None:
    book, doubt = Returnable(), MutableRangeSet(RangeSet([(1, 4)]))
    book.publish(1, "x", "a", doubt)
    book.publish(2, "x", "b", doubt)
    book.publish(4, "x", "b", doubt)
    assert book.returned("x", "a", doubt) == 1
    assert book.returned("x", "a", doubt) is None
    assert book.returned("x", "b", doubt) is None
    doubt.discard_id(2)  # confirmed: what comes back behind that is the other one
    assert book.returned("x", "b", doubt) == 4


def test_what_is_in_doubt_no_more_does_not_come_back() -> None:
    book, doubt = Returnable(), MutableRangeSet(RangeSet.of(1))
    book.publish(1, "x", "a", doubt)
    doubt.clear()
    assert book.returned("x", "a", doubt) is None
    assert book.returned("y", "a", doubt) is None


def test_so_many_pairs_are_remembered() -> None:
    for in_doubt, named in ((MOST // 2, True), (MOST // 2 + 1, False)):
        book, doubt = Returnable(), MutableRangeSet()
        for number in range(1, MOST + 1):
            book.publish(number, "x", str(number), doubt)
        doubt.add_range(1, in_doubt)
        book.publish(MOST + 1, "x", "last", doubt)
        doubt.add(MOST + 1)
        assert (book.returned("x", "last", doubt) == MOST + 1) is named
        assert (book.returned("x", "1", doubt) == 1) is named
        book.publish(MOST + 2, "x", "more", doubt)
        doubt.add(MOST + 2)
        assert (book.returned("x", "more", doubt) == MOST + 2) is named


@pytest.mark.parametrize(("published", "named"), [(99, True), (100, True), (101, False)])
def test_so_many_ranges_are_remembered(published: int, named: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages of two keys by turns, all of them in doubt, are a range each."""
    monkeypatch.setattr(returns, "RANGES", 100)
    book, doubt = Returnable(), MutableRangeSet()
    for number in range(1, published + 1):
        doubt.add(number)
        book.publish(number, "x", "ab"[number % 2], doubt)
    doubt.discard(RangeSet([(2, published)]))
    assert (book.returned("x", "b", doubt) == 1) is named


def test_what_is_confirmed_takes_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many messages of two keys are published and confirmed by turns: a return is named, and memory stays flat."""
    monkeypatch.setattr(returns, "RANGES", 100)
    book, doubt = Returnable(), MutableRangeSet()
    for number in range(1, 1001):
        doubt.add(number)
        book.publish(number, "x", "ab"[number % 2], doubt)
        doubt.discard(RangeSet([(1, number - 40)]) if number > 40 else RangeSet())
        assert sum([len(numbers.lows) for numbers in book._numbers.values()]) <= 100
    doubt.discard(RangeSet([(1, 999)]))
    assert book.returned("x", "a", doubt) == 1000


def holey(size: int) -> tuple[Returnable, MutableRangeSet]:
    """So many equal messages, of which every other one is still in doubt."""
    book, doubt = Returnable(), MutableRangeSet()
    for number in range(1, size + 1):
        book.publish(number, "x", "a", doubt)
        doubt.add(number)
    for number in range(1, size, 2):
        doubt.discard_id(number)
    return book, doubt


def test_a_return_costs_the_same_however_many_it_may_be_of() -> None:
    def prepared(size: int) -> Callable[[], object]:
        book, doubt = holey(size)
        return lambda: [book.returned("x", "a", doubt) for _ in range(size)]

    assert_linear(prepared, 500)


def test_what_is_in_doubt_no_more_is_looked_at_once() -> None:
    def prepared(size: int) -> Callable[[], object]:
        book, doubt = holey(size)
        doubt.discard(RangeSet([(1, size - 2)]))
        assert book.returned("x", "a", doubt) == size
        return lambda: [book.returned("x", "a", doubt) for _ in range(size)]

    assert_linear(prepared, 500)
    book, doubt = holey(6)
    doubt.discard(RangeSet.of(2))
    assert book.returned("x", "a", doubt) is None, "4 or 6"
    doubt.discard(RangeSet.of(6))
    assert book.returned("x", "a", doubt) == 4
    book, doubt = Returnable(), MutableRangeSet(RangeSet.of(2, 9))
    for number in (1, 2, 3, 9):
        book.publish(number, "x", "a", doubt)
    assert book.returned("x", "a", doubt) is None, "2 or 9"
    doubt.discard_id(2)
    assert book.returned("x", "a", doubt) == 9


def test_pairs_are_forgotten_at_the_cost_of_what_was_published() -> None:
    def prepared(size: int) -> Callable[[], object]:
        book, doubt = Returnable(), MutableRangeSet()
        for number in range(1, size + 1):
            book.publish(number, "x", str(number), doubt)
        for number in range(1, size, 2):
            doubt.add(number)
        return lambda: book._prune(doubt)

    assert_linear(prepared, 500)
