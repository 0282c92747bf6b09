"""Which publish a return is of, where that can be told."""

from __future__ import annotations

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
