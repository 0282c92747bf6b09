"""Tags: given by one side, named by the other, held against a list of those that are open."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.ledger.tags import TWICE, UNKNOWN, Deliveries, Tags

WORDS = st.one_of(st.tuples(st.just("give"), st.just(0)), st.tuples(st.sampled_from(["one", "all"]), st.integers(0, 8)))


@given(st.lists(WORDS, max_size=40))
def test_tags_are_as_a_list_says(said: list[tuple[str, int]]) -> None:
    """A tag is unknown when it was never given, settled twice when nothing that it names is open."""
    tags, last, held = Tags(False), 0, list[int]()
    for word, tag in said:
        if word == "give":
            last += 1
            held.append(last)
            assert tags.give_next()
            continue
        found, wrong = tags.named(tag, word == "all")
        among, twice = tags.named(tag, word == "all", itself=True)
        if tag > last or (not tag and word == "one"):
            assert wrong == UNKNOWN
            continue
        meant = [each for each in held if each == tag or (word == "all" and (not tag or each <= tag))]
        assert [each for each in range(1, last + 1) if each in found] == meant
        assert wrong == (TWICE if tag and not meant else "")
        assert (among, twice) == ((found, wrong) if not tag or tag in meant else (RangeSet(), TWICE))
        tags.settle(found)
        held = [each for each in held if each not in meant]


@given(st.lists(WORDS, max_size=40))
def test_taking_is_naming_and_settling(said: list[tuple[str, int]]) -> None:
    """`take` leaves the books as `named` and `settle` do, and returns what they settled."""
    slow, fast = Tags(False), Tags(False)
    for word, tag in said:
        if word == "give":
            assert slow.give_next() == fast.give_next()
            continue
        found, _ = slow.named(tag, word == "all")
        slow.settle(found)
        assert fast.take(tag, word == "all") == found
        assert (fast.count, fast.ids.outstanding.freeze()) == (slow.count, slow.ids.outstanding.freeze())


def test_taking_some_leaves_the_others() -> None:
    tags = Tags(False)
    for _ in range(5):
        tags.give_next()
    assert tags.take(2, True) == RangeSet.span(1, 2)
    assert (tags.count, tags.ids.outstanding.freeze()) == (3, RangeSet.span(3, 5))
    assert tags.take(3, False) == RangeSet.of(3)
    assert (tags.count, tags.ids.outstanding.freeze()) == (2, RangeSet.span(4, 5))


@pytest.mark.parametrize("doubt", [False, True])
@pytest.mark.parametrize("last", [0, 5, (1 << 31) - 2, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 40])
def test_the_next_tag_is_given_as_any_other(last: int, doubt: bool) -> None:
    one, other = Tags(False), Tags(False)
    for tags in (one, other):
        if last:
            tags.give(last)
        tags.doubt = doubt
    for _ in range(3):
        other.give(other.last + 1)
        assert one.give_next() == one.last == other.last
    assert (one.count, one.doubt, one.ids.next_id) == (other.count, other.doubt, other.ids.next_id)
    assert one.ids.outstanding.freeze() == other.ids.outstanding.freeze()


def test_what_need_not_be_settled_may_not_be() -> None:
    books = Deliveries(False)
    assert books.deliver(1, True)
    assert books.settle(1, False, False) == TWICE


def test_a_tag_that_nobody_need_settle_may_come_again() -> None:
    """RabbitMQ gives direct replies the tag of the delivery that comes next."""
    books = Deliveries(False)
    assert [books.deliver(1, True), books.deliver(1, True), books.deliver(1, False)] == [True, True, True]
    assert not books.deliver(1, False)
    assert not books.deliver(1, True)
    assert books.settle(1, False, False) == ""
    assert books.tags.count == 0
    assert [books.deliver(2, True), books.deliver(2, False)] == [True, True]
    assert books.tags.count == 1


@given(
    st.lists(st.tuples(st.sampled_from([-1, 0, 1, 1, 1, 2, 1 << 29, 1 << 31]), st.booleans(), st.booleans()), max_size=20),
    st.integers(0, 5),
)
def test_a_higher_tag_is_delivered_as_any_other(said: list[tuple[int, bool, bool]], most: int) -> None:
    quick, slow = Deliveries(False), Deliveries(False)
    for step, settled, quickly in said:
        tag = max(0, slow.tags.last + step)
        if not (quickly and quick.deliver_higher(tag, settled, most)):
            quick.deliver(tag, settled)
        elif slow.tags.count >= most or slow.tags.doubt:
            raise AssertionError("the limit stands before it")
        slow.deliver(tag, settled)
        for books in (quick, slow):
            found = books.tags
            assert (found.last, found.count, found.doubt, found.ids.next_id, found.ids.outstanding.freeze(), books._free) == (
                slow.tags.last, slow.tags.count, slow.tags.doubt, slow.tags.ids.next_id, slow.tags.ids.outstanding.freeze(),
                slow._free,
            )  # fmt: skip


def test_tags_go_up() -> None:
    books = Deliveries(False)
    assert books.deliver(3, False)
    assert not books.deliver(3, False)
    assert books.settle(2, False, False) == TWICE
    assert books.settle(3, False, False) == ""


def test_a_rollback_gives_back_what_was_settled_and_a_commit_does_not() -> None:
    books = Deliveries(False)
    books.deliver(1, False)
    assert books.settle(1, False, True) == ""
    books.roll_back()
    assert books.settle(1, False, True) == ""
    books.commit()
    books.roll_back()
    assert books.settle(1, False, True) == TWICE


def test_after_recovery_the_former_tags_are_nobodys_fault() -> None:
    books = Deliveries(False)
    books.deliver(1, False)
    books.recover()
    books.deliver(2, False)
    assert [books.settle(tag, False, False) for tag in (1, 2, 2)] == ["", "", TWICE]


@pytest.mark.parametrize(("ranges", "judged"), [(3, ""), (4, TWICE), (5, TWICE)])
def test_so_many_ranges_are_remembered_of_what_was_recovered(ranges: int, judged: str) -> None:
    """Beyond that, what was settled twice is not told from what was recovered: nobody is blamed."""
    books = Deliveries(False)
    for first in (1, 4, 7):
        for tag in range(first, first + 3):
            books.deliver(tag, False)
        books.settle(first + 1, False, False)
        books.recover(ranges)  # of each three the middle one was settled: 1, 3-4, 6-7, 9
    assert books._returned.range_count <= ranges
    assert [books.settle(tag, False, False) for tag in (1, 4, 9)] == ["", "", ""]
    assert books.settle(8, False, False) == judged


def test_ranges_of_a_transaction_are_counted() -> None:
    books = Deliveries(False)
    for tag in range(1, 6):
        books.deliver(tag, False)
    books.settle_set(RangeSet.of(1), True)
    assert books.ranges_with(RangeSet.of(3, 5)) == 3
    books.commit()
    assert books.ranges_with(RangeSet.of(3, 5)) == 2


@pytest.mark.parametrize(("ranges", "doubt"), [(2, True), (3, False), (4, False)])
def test_more_ranges_than_the_limit_are_doubt(ranges: int, doubt: bool) -> None:
    books = Deliveries(False)
    for tag in range(1, 6):
        books.deliver(tag, False)
    books.settle(2, False, False)
    books.settle(4, False, False)
    assert books.bound(ranges) is doubt
    assert books.settle(99, False, False) == ("" if doubt else UNKNOWN)
    assert not books.bound(ranges)


@pytest.mark.parametrize(("tag", "doubt"), [((1 << 30) + 1, False), ((1 << 30) + 2, True), (1 << 63, True)])
def test_beyond_the_order_of_serial_numbers_nothing_is_judged(tag: int, doubt: bool) -> None:
    books = Deliveries(False)
    books.deliver(1, False)
    books.deliver(tag, False)
    assert books.tags.doubt is doubt
    assert books.settle(7, False, False) == ("" if doubt else TWICE)


def test_tags_have_64_bits_and_are_kept_by_the_lower_32() -> None:
    tags = Tags(False)
    top = (1 << 32) - 1
    for tag in (top - 1, top, top + 1, top + 2):
        assert tags.give(tag)
    assert tags.ids.outstanding.freeze() == RangeSet([(top - 1, 1)])
    assert [tags.tag_of(serial) for serial in (top, 0, 1)] == [top, top + 1, top + 2]
    assert tags.named(top + 1, False) == (RangeSet.of(0), "")
    assert tags.named(top + 1, True) == (RangeSet([(top - 1, 0)]), "")
    tags.settle(RangeSet([(top - 1, 0)]))
    assert tags.count == 1
    assert tags.named(1, False) == (RangeSet(), TWICE)
    assert tags.named(top + 3, False) == (RangeSet(), UNKNOWN)


def test_a_million_in_order_are_kept_as_one_is() -> None:
    tags = Tags(False)
    for _ in range(1_000_000):
        tags.give_next()
    assert (tags.count, tags.ids.outstanding.range_count) == (1_000_000, 1)
    tags.settle(RangeSet([(1, 500_000), (600_000, 600_000)]))
    assert (tags.count, tags.ids.outstanding.range_count) == (499_999, 2)


def test_a_tag_beyond_that_order_is_given() -> None:
    books = Deliveries(False)
    assert books.deliver(1, False)
    assert books.deliver(1 << 40, False)


def test_settling_all_that_recovery_gave_back_is_nobodys_fault() -> None:
    for recovered, wrong in ((False, TWICE), (True, "")):
        books = Deliveries(False)
        books.deliver(1, False)
        if recovered:
            books.recover()
        else:
            books.settle(1, False, False)
        assert books.settle(1, True, False) == wrong
