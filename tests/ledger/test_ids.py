"""One half of a session: what its sender says, which of it is complete or will be, and which deliveries are still open."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.kernel.machine import Machine
from amqp_sansio.kernel.serials import EMPTY, TOP, RangeSet
from amqp_sansio.ledger.ids import EXPLICIT, NONE, Delivery, Ids, Settling, TransferBook
from amqp_sansio.tables import transfer as rows

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


def some(**states: tuple[str, int]) -> TransferBook[str]:
    transfers: TransferBook[str] = TransferBook()
    for name, (state, accept_mode) in states.items():
        transfers.deliveries[int(name[1:])] = Delivery(state, accept_mode, "to", 7, False, 7)
    return transfers


def test_a_plan_changes_nothing_until_it_is_applied() -> None:
    transfers = some(d1=(rows.ACQUIRED, EXPLICIT), d2=(rows.ACQUIRED, EXPLICIT))
    before = dict(transfers.deliveries)
    plan, _ = transfers.plan(rows.ACCEPT, RangeSet([(1, 2)]))
    assert transfers.deliveries == before
    assert transfers.apply(plan, RangeSet([(1, 2)]), True) == (RangeSet([(1, 2)]), {"to": (2, 14, 14)})
    assert transfers.deliveries == {}


def test_settled_but_not_completed_is_remembered_until_it_is() -> None:
    transfers = some(d1=(rows.ACQUIRED, EXPLICIT))
    assert transfers.apply(transfers.plan(rows.ACCEPT, RangeSet.of(1))[0], RangeSet.of(1), False) == (EMPTY, {})
    assert transfers.unsettled() == EMPTY
    assert transfers.plan(rows.RELEASE, RangeSet.of(1)) == ([], [1])
    assert transfers.complete(RangeSet.of(1)) == {"to": (1, 7, 7)}
    assert transfers.deliveries == {}


def test_a_plan_names_the_ids_for_which_it_is_illegal() -> None:
    transfers = some(d1=(rows.ACQUIRED, EXPLICIT), d2=(rows.NOT_ACQUIRED, EXPLICIT))
    for ids in (RangeSet([(1, 2)]), RangeSet([(0, 2)]), RangeSet([(1, TOP)])):
        planned, bad = transfers.plan(rows.ACCEPT, ids)
        assert ([id for id, _, _ in planned], bad) == ([1], [2])
    assert transfers.plan(rows.ACCEPT, EMPTY) == ([], [])


def test_acquired_names_some_of_those_asked_for() -> None:
    transfers = some(d1=(rows.ACQUIRING, EXPLICIT), d2=(rows.ACQUIRING, EXPLICIT), d3=(rows.ACQUIRED, EXPLICIT))
    transfers.acquired(RangeSet([(1, 9)]), RangeSet.of(2, 3))
    assert [delivery.state for delivery in transfers.deliveries.values()] == [rows.NOT_ACQUIRED, rows.ACQUIRED, rows.ACQUIRED]


def test_completion_ends_what_needs_no_accept() -> None:
    transfers = some(d1=(rows.ACQUIRED, NONE), d2=(rows.ACQUIRING, NONE), d3=(rows.NOT_ACQUIRED, NONE))
    transfers.complete(RangeSet([(0, TOP)]))
    assert list(transfers.deliveries) == [2]
    transfers.complete(RangeSet.of(2))
    transfers.acquired(RangeSet.of(2), RangeSet.of(2))
    assert transfers.deliveries == {}


VERBS = [rows.ACCEPT, rows.REJECT, rows.RELEASE, rows.COMPLETE]
few = st.integers(0, 7)
kinds = st.lists(st.integers(0, 3), min_size=8, max_size=8)
verdicts = st.lists(st.tuples(st.sampled_from([*VERBS, "acquire", "answer"]), few, few), min_size=4, max_size=20)


def ranges(book: Settling) -> int:
    """How many ranges of ids it remembers."""
    return book._wanted + sum([each.range_count for each in book.standing.values()])


def named(base: int, low: int, more: int) -> list[int]:
    return [base + at & TOP for at in range(low, low + more + 1)]


@given(st.sampled_from(BASES), kinds, verdicts)
def test_each_transfer_stands_where_its_own_machine_stands(
    base: int, sent: list[int], said: list[tuple[str, int, int]]
) -> None:
    """A word moves those of which it may be said, and names the others; ids of no transfer are passed over."""
    book, alone, asked = Settling(), dict[int, tuple[int, Machine]](), dict[int, list[int]]()
    for id, kind in zip(named(base, 0, 7), sent, strict=True):
        machine = Machine(rows.TRANSFER[kind & 1])
        machine.step(rows.SENDER, rows.TRANSFER_NOT_ACQUIRED if kind & 2 else rows.TRANSFER_PRE_ACQUIRED)
        alone[id] = kind & 1, machine
        book.sent(id, id, kind & 1, not kind & 2)

    def step(ids: list[int], speaker: str, verb: str) -> list[int]:
        return [id for id in ids if id in alone and alone[id][1].step(speaker, verb) is not None]

    for at, (word, low, more) in enumerate(said):
        ids = named(base, low, more)
        some = RangeSet.of(*ids)
        if word == "acquire":
            book.acquire(at, some)
            step(ids, rows.RECIPIENT, rows.ACQUIRE)
            asked[at] = ids
        elif word == "answer":
            if asked:
                id, wanted = asked.popitem()
                book.acquired(id, some)
                step([each for each in wanted if each in ids], rows.SENDER, rows.RESULT_ACQUIRED)
                step([each for each in wanted if each not in ids], rows.SENDER, rows.RESULT_NOT_ACQUIRED)
        else:
            assert book.said(rows.RECIPIENT, word, some) == RangeSet.of(*step(ids, rows.RECIPIENT, word))
        found = {(mode, state): ids.freeze() for (mode, state), ids in book.standing.items() if ids}
        expected: dict[tuple[int, str], list[int]] = {}
        for id, (mode, machine) in alone.items():
            expected.setdefault((mode, machine.state), []).append(id)
        assert found == {key: RangeSet.of(*each) for key, each in expected.items()}


def test_a_result_that_nobody_asked_for_says_nothing() -> None:
    book = Settling()
    book.sent(0, 3, 0, False)
    book.acquired(7, RangeSet.of(0))
    assert book.said(rows.RECIPIENT, rows.ACCEPT, RangeSet.of(0)) == RangeSet.of(0)


def test_what_is_lost_is_held_against_nobody() -> None:
    book = Settling()
    book.sent(0, 3, 0, False)
    book.acquire(7, RangeSet.of(0, 2))
    assert ranges(book) == 6
    book.acquired(7, EMPTY)
    book.acquired(7, EMPTY)  # the second one answers nothing
    assert ranges(book) == 1
    book.acquire(8, RangeSet.of(1))
    book.lose()
    assert (ranges(book), book.said(rows.RECIPIENT, rows.ACCEPT, RangeSet.of(0))) == (0, EMPTY)
    book.sent(0, 3, 0, False)
    book.acquire(9, RangeSet.of(1))
    for earlier in (7, 8):
        book.acquired(earlier, RangeSet.of(1))
        assert book.said(rows.RECIPIENT, rows.ACCEPT, RangeSet.of(1)) == RangeSet.of(1)


@pytest.mark.parametrize("more", [0, 1])
def test_at_the_bound_the_oldest_go_and_nobody_is_held_to_them(more: int) -> None:
    """In each state by itself."""
    book, sent = Settling(), range(0, 8 + 4 * more, 2)
    for id in sent:
        book.sent(id, id, 0, id % 4 == 0)
    assert book.bound(12, 2) is bool(more)
    accepted = book.said(rows.RECIPIENT, rows.ACCEPT, RangeSet.of(*sent))
    assert accepted == RangeSet.of(*[id for id in sent[2 * more :] if id % 4])


def test_of_the_acquires_that_are_not_answered_the_oldest_goes() -> None:
    book = Settling()
    book.sent(0, 3, 0, False)
    for id in range(3):
        book.acquire(7 + id, RangeSet.of(id))
    assert book.bound(4, 2)
    for id in range(3):
        book.acquired(7 + id, RangeSet.of(id))
    assert book.said(rows.RECIPIENT, rows.ACCEPT, RangeSet.of(0, 1, 2)) == RangeSet.of(0)


@pytest.mark.parametrize("accept_mode", [0, 1])
def test_a_run_costs_what_one_costs(accept_mode: int) -> None:
    book = Settling()
    book.sent(0, TOP // 4, accept_mode, True)
    book.said(rows.RECIPIENT, rows.COMPLETE, RangeSet([(0, TOP // 8)]))
    assert ranges(book) == 1 + accept_mode


def test_a_word_about_nothing_leaves_everything_as_it_is() -> None:
    book = Settling()
    book.sent(0, 3, 0, True)
    assert book.said(rows.RECIPIENT, rows.ACCEPT, RangeSet.of(7)) == EMPTY
    assert list(book.standing) == [(0, rows.ACQUIRED)]
