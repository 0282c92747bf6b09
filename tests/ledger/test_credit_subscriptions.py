"""The subscriptions of one side of a session: credit, and the deliveries that use it up."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.crediting import Step, steps

from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.ledger import credit as module
from amqp_sansio.ledger.credit import CREDIT_MODE, INFINITE, MESSAGE, OCTET, Exhausted, Subscriptions

NAME = "d"


def book(messages: int = 3, octets: int = INFINITE, *, mode: int | None = None, most: int = 1000) -> Subscriptions:
    made = Subscriptions(8, most)
    made.subscribe(NAME)
    if mode is not None:
        made.set_mode(NAME, mode)
    made.grant(NAME, MESSAGE, messages)
    made.grant(NAME, OCTET, octets)
    return made


def deliver(made: Subscriptions, *ids: int | None, octets: int = 10) -> list[int | None]:
    return [made.delivered(id, NAME, octets, octets) for id in ids]


def exhausted(made: Subscriptions) -> Exhausted | None:
    return made.entries[NAME].exhausted


def test_the_delivery_that_uses_credit_up_stands_there_until_there_is_credit_again() -> None:
    made = book(2, 100)
    deliver(made, 0)
    assert exhausted(made) is None
    deliver(made, 1)
    assert exhausted(made) == (1, 0, 80)
    assert deliver(made, 2) == [MESSAGE]
    assert exhausted(made) == (1, 0, 80)
    made.completed(RangeSet([(0, 1)]))
    assert exhausted(made) is None
    assert made.moved == [NAME]


def test_several_completed_at_once_give_back_what_each_cost() -> None:
    made = book(3, 100)
    for id, octets in enumerate((10, 20, 30)):
        deliver(made, id, octets=octets)
    credit = made.entries[NAME].book
    assert (credit.messages.used, credit.octets.used, credit.most_messages, credit.most_octets) == (3, 60, 0, 40)
    made.completed(RangeSet([(0, 1)]))
    assert (credit.messages.used, credit.octets.used, credit.most_messages, credit.most_octets) == (1, 30, 2, 70)


@pytest.mark.parametrize("flush", [True, False])
def test_what_takes_credit_back_ends_that_too(flush: bool) -> None:
    made = book(1)
    deliver(made, 0)
    assert exhausted(made) == (0, 0, INFINITE)
    made.take_back(NAME, 9, flush, False)
    assert exhausted(made) is None


def test_a_grant_in_the_other_unit_is_no_credit_yet() -> None:
    made = book(1, 10)
    deliver(made, None)
    assert exhausted(made) == (None, 0, 0)
    made.grant(NAME, OCTET, 10)
    assert exhausted(made) == (None, 0, 0)
    made.grant(NAME, MESSAGE, 1)
    assert exhausted(made) is None


def test_many_deliveries_of_which_one_uses_the_credit_up() -> None:
    made = book(3, 100)
    assert made.deliveries(5, NAME, [10, 90, 1], [10, 90, 0])
    assert exhausted(made) == (6, 1, 0)


def test_a_word_without_id_takes_back_and_leaves_doubt() -> None:
    made = book(3)
    made.take_back(NAME, None, False, False)
    assert made.doubt
    assert made.entries[NAME].book.empty


def test_a_cancelled_one_stays_until_that_is_carried_out() -> None:
    made = book(3)
    made.take_back(NAME, 4, False, True)
    assert deliver(made, 0) == [None]
    made.carried_out(RangeSet.of(4))
    assert not made.entries


def test_of_two_with_one_name_nobody_knows_the_credit() -> None:
    made = book(3)
    made.subscribe(NAME)
    assert made.entries[NAME].doubt


@pytest.mark.parametrize(("mode", "doubt"), [(CREDIT_MODE, True), (1, False)])
def test_a_mode_that_changes_under_way_leaves_doubt(mode: int, doubt: bool) -> None:
    made = book(3)
    assert not made.set_mode(NAME, mode)
    assert made.entries[NAME].doubt is doubt


def test_in_doubt_deliveries_beyond_all_credit_are_still_taken_at_once() -> None:
    """Nobody is held to anything, so nothing is to be said about any of them."""
    made = book(1)
    assert not made.deliveries(0, NAME, [1, 1], [1, 1])
    made.doubt = True
    assert made.deliveries(0, NAME, [1, 1], [1, 1])
    assert made.deliveries(2, "other", [1], [1])
    assert len(made.live) == 2


def test_a_loss_forgets_and_doubt_does_not() -> None:
    made = book(3)
    deliver(made, 0)
    made.doubt = True
    assert made.entries
    assert made.live
    made.lose()
    assert made.doubt
    assert not made.entries
    assert not made.live


@pytest.mark.parametrize(("more", "first"), [(-1, 0), (0, 0), (1, 1)])
def test_at_a_bound_the_oldest_goes_and_there_is_doubt(monkeypatch: pytest.MonkeyPatch, more: int, first: int) -> None:
    monkeypatch.setattr(module, "BARRIERS", 5)
    subscriptions, deliveries, barriers = Subscriptions(5, 5), book(100, most=5), book(100)
    for number in range(5 + more):
        subscriptions.subscribe(str(number))
        deliver(deliveries, number)
        barriers.take_back(NAME, number, True, False)
    assert next(iter(subscriptions.entries)) == str(first)
    assert next(iter(deliveries.live)) == next(iter(barriers._barriers)) == first
    assert deliveries.entries[NAME].book.messages.used == min(5, 5 + more)
    for made in (subscriptions, deliveries, barriers):
        assert made.doubt is (more > 0)


BARRIERS = st.one_of(st.tuples(st.just("flush"), st.none()), st.tuples(st.just("carried"), st.integers(100, 112)))


@example([("run", [1] * 5)], 4, None)
@example([("run", [1] * 4)], 3, None)
@example([("flow", (0, INFINITE)), ("run", [0, 1])], 4, None)
@example([("mode", 0), ("stop", None), ("flow", (0, 3)), ("run", [1] * 7)], 1000, None)
@given(steps(BARRIERS), st.sampled_from([3, 4, 1000]), st.sampled_from([None, 0, 1]))
def test_many_deliveries_at_once_are_the_same_as_one_by_one(said: list[Step], most: int, mode: int | None) -> None:
    """Whatever credit is given and taken between, and whether or not they can be taken at once."""
    books = [book(5, 60, most=most, mode=mode) for _ in range(2)]
    sent = 0
    for id, (what, more) in enumerate(said, 100):
        for at_once, made in enumerate(books):
            if what == "run":
                if not (at_once and made.deliveries(sent, NAME, more, more)):
                    for number, octets in enumerate(more):
                        made.delivered(sent + number, NAME, octets, octets)
            elif what == "done":
                made.completed(RangeSet([tuple(more)]))
            elif what == "carried":
                made.carried_out(RangeSet.of(more))
            elif what == "flow":
                made.grant(NAME, *more)
            elif what == "mode":
                made.set_mode(NAME, more)
            else:
                made.take_back(NAME, id, what == "flush", what == "cancel")
        assert state(books[0]) == state(books[1])
        sent += len(more) if what == "run" else 0


def state(made: Subscriptions) -> object:
    entries = {
        name: (each.book.snapshot(), each.doubt, each.cancel_id, each.uncounted, each.exhausted)
        for name, each in made.entries.items()
    }
    return entries, made.live, made._barriers, made.doubt, made.moved


def test_deliveries_without_a_limit_are_taken_at_once_and_leave_doubt_behind_a_stop() -> None:
    """By the letter their completion gives credit after the stop, and nobody counted them."""
    for mode, doubt in ((None, True), (CREDIT_MODE, False)):
        made = book(INFINITE, mode=mode)
        assert made.deliveries(0, NAME, [10, 10], [10, 10])
        made.take_back(NAME, 7, False, False)
        made.carried_out(RangeSet.of(7))
        assert made.entries[NAME].doubt is doubt


def test_a_flush_without_id_takes_nothing_that_would_come_back() -> None:
    made = book(3)
    made.take_back(NAME, None, True, False)
    assert (made.doubt, made.entries[NAME].book.messages.limit) == (True, 3)
