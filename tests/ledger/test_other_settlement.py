"""A second kind of settlement on the same parts: made-up words of a protocol that has no command ids.

One side numbers what it hands over (from 1 on); the other says «got», one number or all up to and including it, 0 for all there
are; how many may be open at once is said by «most» (0: any number) and holds when «most-ok» is heard.  Nothing in src knows it.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.ledger.credit import INFINITE, MESSAGE, OCTET, Subscriptions
from amqp_sansio.ledger.ids import Ids

READER = "reader"
Word = tuple[str, int]


class Tagged:
    """Hears both sides, and keeps its books with parts of the ledger."""

    def __init__(self) -> None:
        self.tags = Ids(1)
        self.readers = Subscriptions(4, 100)
        self.readers.subscribe(READER)
        self.asked = 0
        self.hear("most", 0)
        self.hear("most-ok", 0)

    def hear(self, word: str, number: int) -> bool:
        """Whether it is within what was agreed."""
        if word == "most":
            self.asked += 1  # it has no id: any number that the other side answers in order serves as the barrier
            self.readers.take_back(READER, self.asked, False, False)
            self.readers.grant(READER, MESSAGE, number or INFINITE)
            self.readers.grant(READER, OCTET, INFINITE)
        elif word == "most-ok":
            self.readers.carried_out(RangeSet.of(self.asked))
        elif word == "give":
            return self.readers.delivered(self.tags.take(), READER, number, number) is None
        else:
            first = self.tags.outstanding.next_from(0)
            last = self.tags.next_id - 1 if number == 0 else number
            if word == "got-all":
                if first is None or last < first:
                    return number == 0
                news = self.tags.complete_run(first, last) or self.tags.complete(RangeSet.span(first, last))
            else:
                news = self.tags.complete(RangeSet.of(number))
            self.readers.completed(news)
            return number in news or number == 0
        return True

    @property
    def left(self) -> int:
        return self.readers.entries[READER].book.messages.available


words = st.one_of(
    st.tuples(st.just("most"), st.sampled_from([0, 1, 2, 5])),
    st.tuples(st.just("give"), st.integers(0, 9)),
    st.tuples(st.sampled_from(["got", "got-all"]), st.integers(0, 9)),
)


@given(st.lists(words, max_size=40))
def test_what_is_open_and_what_is_left_is_as_a_list_of_tags_says(said: list[Word]) -> None:
    """Whatever is said, as long as «most» is answered at once."""
    books = Tagged()
    most, given_, held = 0, 0, list[int]()
    for word, number in said:
        if word == "most":
            most = number
            books.hear(word, number)
            books.hear("most-ok", 0)
        elif word == "give":
            if most and len(held) >= most:
                continue
            given_ += 1
            held.append(given_)
            assert books.hear(word, number)
        elif word == "got" and number:
            assert books.hear(word, number) is (number in held)
            held = [tag for tag in held if tag != number]
        elif word == "got-all":
            books.hear(word, number)
            held = [tag for tag in held if number and tag > number]
        assert [tag in books.tags.outstanding for tag in range(1, given_ + 1)] == [tag in held for tag in range(1, given_ + 1)]
        assert books.left == (max(0, most - counted(books)) if most else INFINITE)
        assert counted(books) <= len(held)


def counted(books: Tagged) -> int:
    """Those that were given while there was a limit: without one nothing is counted."""
    return books.readers.entries[READER].book.messages.used


@pytest.mark.parametrize(("given_", "within"), [(2, True), (3, True), (4, False)])
def test_more_than_was_agreed_at_once(given_: int, within: bool) -> None:
    books = Tagged()
    books.hear("most", 3)
    books.hear("most-ok", 0)
    assert [books.hear("give", 1) for _ in range(given_)][-1] is within


def test_until_the_answer_arrives_more_may_come() -> None:
    books = Tagged()
    books.hear("most", 1)
    assert [books.hear("give", 1) for _ in range(5)] == [True] * 5
    books.hear("most-ok", 0)
    assert [books.hear("give", 1) for _ in range(2)] == [True, False]  # the five may all have been given before it


@pytest.mark.parametrize("number", [0, 3])
def test_all_up_to_and_including_one(number: int) -> None:
    books = Tagged()
    books.hear("most", 3)
    books.hear("most-ok", 0)
    for _ in range(3):
        books.hear("give", 1)
    assert books.left == 0
    assert books.hear("got-all", number)
    assert (books.left, len(books.tags.outstanding)) == (3, 0)
    assert not books.hear("got", 9)
