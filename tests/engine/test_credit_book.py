"""The book of one subscription's credit: what the subscriber has granted, and what the deliverer may believe it has."""

from __future__ import annotations

from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.engine.credit import CREDIT_MODE, INFINITE, MESSAGE, OCTET, WINDOW_MODE, Flow
from amqp_sansio.engine.credit_book import CreditBook


def book(messages: int = 3, octets: int = 30) -> CreditBook:
    made = CreditBook()
    made.grant(MESSAGE, messages)
    made.grant(OCTET, octets)
    return made


def spend(made: CreditBook, count: int, octets: int = 1) -> list[int | None]:
    return [made.spend(octets, octets) for _ in range(count)]


@pytest.mark.parametrize(("count", "unit"), [(2, None), (3, None), (4, MESSAGE)])
def test_a_message_more_than_granted_is_told(count: int, unit: int | None) -> None:
    assert spend(book(), count)[-1] == unit


@pytest.mark.parametrize(("octets", "unit"), [(29, None), (30, None), (31, OCTET)])
def test_an_octet_more_than_granted_is_told(octets: int, unit: int | None) -> None:
    assert book().spend(octets, octets) == unit


def test_without_limit_there_is_nothing_to_count_until_it_is_taken_back() -> None:
    made = book(INFINITE, INFINITE)
    assert [made.limited] == [False]
    made.take_back(7)
    assert made.limited
    assert spend(made, 9) == [None] * 9
    made.carried_out(7)
    assert spend(made, 1) == [MESSAGE]


def test_what_is_taken_back_counts_until_the_last_of_it_is_complete() -> None:
    made = book()
    made.take_back(1)
    made.grant(MESSAGE, 2)
    made.take_back(2, flush=True)
    made.grant(MESSAGE, 1)
    made.grant(OCTET, 9)
    assert (made.messages, made.octets) == (6, 39)
    made.carried_out(1)
    assert (made.messages, made.octets) == (6, 39)
    made.carried_out(2)
    assert (made.messages, made.octets) == (1, 9)


def test_a_window_moves_when_the_completion_is_reported() -> None:
    made = book()
    spend(made, 3)
    made.complete(2, 2, 2)
    assert made.owes_report
    assert made.messages == 0
    made.reported()
    assert (made.messages, made.octets) == (2, 29)
    made.set_mode(CREDIT_MODE)
    made.complete(1, 1, 1)
    made.reported()
    assert made.messages == 2


def test_what_is_completed_behind_a_stop_gives_credit_by_the_letter() -> None:
    made = book()
    spend(made, 3)
    made.complete(1, 1, 1)
    made.reported()
    made.take_back(5)
    made.complete(1, 1, 1)
    made.reported()
    made.carried_out(5)
    assert (made.messages, made.octets) == (1, 1)
    assert made.flow.messages.available == 0  # as deployed servers count


def test_a_destination_that_is_used_anew_may_get_what_its_old_subscription_had_until_the_cancel_is_complete() -> None:
    old = book()
    old.take_back(4)
    new = CreditBook.behind(old)
    new.grant(MESSAGE, 1)
    new.grant(OCTET, 30)
    assert spend(new, 3) == [None] * 3
    new.carried_out(4)
    assert spend(new, 2) == [None, MESSAGE]


def test_a_run_is_taken_whole_or_not_at_all() -> None:
    made, other = book(), book()
    assert not made.spend_run(4, 4)
    assert not made.spend_run(1, 31)
    assert made.snapshot() == other.snapshot()
    assert made.spend_run(3, 30)
    assert spend(other, 3, 10) == [None] * 3
    assert made.snapshot() == other.snapshot()


class Letter:
    """A deliverer that keeps its balances by the letter of message.flow and message.set-flow-mode."""

    def __init__(self) -> None:
        self.left: list[int | None] = [0, 0]
        self.mode = WINDOW_MODE

    def allows(self, octets: int) -> bool:
        return all(left is None or left >= cost for left, cost in zip(self.left, (1, octets), strict=True))

    def transfer(self, octets: int) -> None:
        for unit, cost in enumerate((1, octets)):
            self.add(unit, -cost)

    def complete(self, messages: int, octets: int) -> None:
        if self.mode == WINDOW_MODE:
            self.add(MESSAGE, messages)
            self.add(OCTET, octets)

    def add(self, unit: int, value: int) -> None:
        left = self.left[unit]
        self.left[unit] = None if left is None else left + value

    def grant(self, unit: int, value: int) -> None:
        if value == INFINITE:
            self.left[unit] = None
        else:
            self.add(unit, value)

    def stop(self) -> None:
        self.left = [0, 0]

    def set_mode(self, mode: int) -> None:
        self.mode = mode


DELIVERERS: dict[str, type[Flow] | type[Letter]] = {"as deployed": Flow, "by the letter": Letter}
WORDS = st.one_of(
    st.tuples(st.just("grant"), st.sampled_from([0, 1]), st.sampled_from([1, 2, 5, INFINITE])),
    st.tuples(st.sampled_from(["stop", "flush", "mode", "report", "server", "client"]), st.just(0), st.just(0)),
    st.tuples(st.sampled_from(["send", "complete"]), st.integers(0, 4), st.just(0)),
)


@pytest.mark.parametrize("kind", DELIVERERS)
@given(said=st.lists(WORDS, max_size=60))
def test_who_holds_to_its_credit_is_never_accused(kind: str, said: list[tuple[str, int, int]]) -> None:
    """Whatever is granted, taken back, completed and reported, and however long it takes to arrive either way."""
    ours, theirs = CreditBook(), DELIVERERS[kind]()
    up: deque[tuple[str, int, int]] = deque()
    down: deque[tuple[str, int]] = deque()
    here: list[int] = []
    done = [0, 0]
    stopped = True  # as far as we know
    for id, (word, one, two) in enumerate(said):
        if word == "grant":
            ours.grant(one, two)
            up.append(("grant", one, two))
            stopped = False
        elif word in ("stop", "flush"):
            ours.take_back(id, word == "flush")
            up.append((word, id, 0))
            stopped = True
        elif word == "mode" and stopped:
            mode = CREDIT_MODE if ours.flow.mode == WINDOW_MODE else WINDOW_MODE
            ours.set_mode(mode)
            up.append(("mode", mode, 0))
        elif word == "complete" and here:
            octets = here.pop()
            ours.complete(1, octets, octets)
            done = [done[0] + 1, done[1] + octets]
        elif word == "report":
            ours.reported()
            up.append(("report", done[0], done[1]))
            done = [0, 0]
        elif word == "server" and up:
            what, first, second = up.popleft()
            if what == "grant":
                theirs.grant(first, second)
            elif what == "report":
                theirs.complete(first, second)
            elif what == "mode":
                theirs.set_mode(first)
            else:
                theirs.stop()
                down.append(("done", first))
        elif word == "send" and theirs.allows(one):
            theirs.transfer(one)
            down.append(("message", one))
        elif word == "client" and down:
            what, value = down.popleft()
            if what == "done":
                ours.carried_out(value)
            else:
                assert ours.spend(value, value) is None
                here.append(value)
        assert CreditBook.restore(*ours.snapshot()).snapshot() == ours.snapshot()
