"""One half of a session: what is said, and what of it is complete or will be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.kernel.serials import EMPTY, TOP, RangeSet
from amqp_sansio.ledger.ids import Ids

BASES = [0, TOP - 6, 0x7FFFFFFA]
small = st.integers(0, 14)
words = st.tuples(st.sampled_from(["take", "run", "completed", "confirmed", "skipped"]), small, st.integers(0, 5))


def state(book: Ids) -> tuple[int, str, str]:
    return book.next_id, str(book.outstanding), str(book.confirmed)


@given(st.sampled_from(BASES), st.lists(words, max_size=30))
def test_what_is_in_doubt_was_sent_and_is_neither_complete_nor_skipped(base: int, said: list[tuple[str, int, int]]) -> None:
    """Whatever order it is said in, whether ids go around, and whether the quick way can be gone."""
    book, said_ids, doubt, sure = Ids(base), 0, set[int](), set[int]()
    for word, low, more in said:
        named = {base + at & TOP for at in range(low, low + more + 1)}
        ids = RangeSet.span(base + low & TOP, base + low + more & TOP)
        if word == "take":
            assert book.take() == base + said_ids & TOP
            doubt.add(base + said_ids & TOP)
            said_ids += 1
        elif word == "run":
            first = book.take_run(more + 1)
            assert first in (None, base + said_ids & TOP)
            if first is None:
                assert book.take() == base + said_ids & TOP
                for _ in range(more):
                    book.take()
            doubt |= {base + said_ids + at & TOP for at in range(more + 1)}
            said_ids += more + 1
        elif word == "completed":
            before = state(book)
            news = book.complete_run(base + low & TOP, base + low + more & TOP)
            if news is None:
                assert state(book) == before
                news = book.complete(ids)
            assert set(listed(news)) == doubt & named
            doubt -= named
        elif word == "confirmed":
            assert set(listed(book.confirm(ids))) == (doubt & named) - sure
            sure |= doubt & named
        else:
            book.skip(ids)
            doubt -= named
        sure &= doubt
        assert set(listed(book.outstanding.freeze())) == doubt
        assert set(listed(book.confirmed.freeze())) == sure


def listed(ids: RangeSet) -> list[int]:
    return [low + at & TOP for low, high in ids.ranges for at in range((high - low & TOP) + 1)]


@pytest.mark.parametrize("base", BASES)
def test_what_was_not_sent_is_beyond(base: int) -> None:
    book = Ids(base)
    book.take()
    assert book.beyond(RangeSet.span(base, base + 2 & TOP)) == RangeSet.span(base + 1 & TOP, base + 2 & TOP)
    assert book.beyond(RangeSet.of(base)) == EMPTY


@pytest.mark.parametrize(("ranges", "doubt"), [(2, False), (3, False), (4, True)])
@pytest.mark.parametrize("base", [0, TOP - 3, 0x7FFFFFFA])
def test_at_the_bound_the_oldest_range_goes(base: int, ranges: int, doubt: bool) -> None:
    book = Ids(base)
    for _ in range(2 * ranges):
        book.take()
    book.complete(RangeSet.of(*[base + 2 * at + 1 & TOP for at in range(ranges)]))
    assert book.bound(3) is doubt
    assert (base in book.outstanding) is not doubt
    assert len(book.outstanding) == min(ranges, 3)


def test_the_bound_holds_whatever_one_word_does_to_what_is_outstanding() -> None:
    book = Ids()
    book.take_run(40)
    book.complete(RangeSet.of(*range(0, 40, 2)))
    assert book.bound(3)
    assert book.outstanding.freeze() == RangeSet.of(35, 37, 39)


@pytest.mark.parametrize("more", [0, 1])
def test_of_the_results_awaited_the_oldest_goes(more: int) -> None:
    book = Ids()
    gone = [book.wait(id, str(id), 2) for id in range(2 + more)]
    assert gone == [None, None, 0][: 2 + more]
    assert book.awaited == {id: str(id) for id in range(more, 2 + more)}


def test_half_of_all_ids_ahead_nothing_is_known() -> None:
    book = Ids(5)
    book.take()
    assert book.complete_run(6, TOP) is None
    assert book.complete(RangeSet.span(6, TOP)) == EMPTY
