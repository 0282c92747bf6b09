"""Credit as arithmetic.  The named scenarios are those that qpid's own broker tests require."""

from __future__ import annotations

from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.ledger.credit import CREDIT_MODE, INFINITE, MESSAGE, MOST, OCTET, WINDOW_MODE, Credit, CreditBook, Grants

values = st.one_of(st.integers(0, 20), st.sampled_from([INFINITE, MOST, MOST - 1, 0x80000000]))


def window(messages: int, octets: int = INFINITE) -> CreditBook:
    flow = CreditBook()
    flow.grant(MESSAGE, messages)
    flow.grant(OCTET, octets)
    return flow


def send(flow: CreditBook, most: int = 100, cost: int = 1) -> int:
    """Transfers as much as credit allows, up to `most` messages."""
    sent = 0
    while sent < most and flow.allows(cost):
        flow.transfer(cost)
        sent += 1
    return sent


def test_initial_credit_is_none_in_window_mode() -> None:
    flow = CreditBook()
    assert flow.mode == WINDOW_MODE
    assert flow.empty
    assert not flow.allows(0)


def test_both_units_are_needed() -> None:
    flow = CreditBook()
    flow.grant(MESSAGE, 5)
    assert send(flow, cost=1) == 0
    flow.grant(OCTET, 10)
    assert send(flow, cost=4) == 2
    assert flow.octets.available == 2
    assert flow.messages.available == 3


def test_credit_flow_messages() -> None:
    flow = window(5)
    flow.stop()
    flow.set_mode(CREDIT_MODE)
    flow.grant(MESSAGE, 5)
    flow.grant(OCTET, INFINITE)
    assert send(flow) == 5
    flow.give_back(5, 5)
    assert send(flow) == 0


def test_window_flow_messages() -> None:
    flow = window(5)
    assert send(flow) == 5
    flow.give_back(2, 2)
    assert send(flow) == 2


def test_window_flow_bytes() -> None:
    msg_size = 19  # header struct of 11 octets and a body of 8
    flow = window(INFINITE, msg_size * 5)
    assert send(flow, cost=msg_size) == 5
    flow.give_back(1, msg_size)
    assert send(flow, cost=msg_size) == 1


def test_no_credit_wrap() -> None:
    credit = Credit()
    credit.grant(0xFFFFFFFA)
    credit.grant(10)
    assert credit.available == MOST


def test_window_stop() -> None:
    flow = window(10)
    assert send(flow, 5) == 5
    flow.stop()
    assert send(flow) == 0
    flow.give_back(5, 5)
    assert send(flow) == 0
    assert flow.messages.available == 0


def test_credit_window_after_messagestop() -> None:
    flow = window(10)
    assert send(flow, 5) == 5
    flow.stop()
    flow.grant(MESSAGE, 5)
    flow.grant(OCTET, INFINITE)
    assert send(flow) == 0
    flow.give_back(5, 5)
    assert send(flow) == 5


def test_window_flush_ack_flow() -> None:
    flow = window(INFINITE)
    assert send(flow, 1) == 1
    flow.begin_flush(7)
    flow.end_flush(7)
    assert send(flow) == 0
    flow.give_back(1, 1)
    flow.grant(MESSAGE, INFINITE)
    flow.grant(OCTET, INFINITE)
    assert send(flow, 3) == 3


def test_infinite_stays_until_stop_or_flush() -> None:
    book = CreditBook()
    credit = book.messages
    credit.grant(INFINITE)
    credit.grant(5)
    assert credit.available == INFINITE
    credit.used = 1000
    assert credit.available == INFINITE
    book.give_back(2000, 0)
    assert credit.used == 0
    credit.spend(10)
    assert credit.available == INFINITE
    credit.stop()
    assert credit.available == 0


def test_credit_granted_after_a_flush_survives_it() -> None:
    flow = window(5)
    flow.begin_flush(1)
    flow.grant(MESSAGE, 3)
    flow.grant(OCTET, INFINITE)
    assert flow.messages.available == 8
    flow.end_flush(1)
    assert flow.messages.available == 3
    assert flow.octets.available == INFINITE
    flow.end_flush(1)
    assert flow.messages.available == 3


def test_stop_ends_the_credit_of_flushes_under_way() -> None:
    flow = window(5)
    flow.begin_flush(1)
    flow.grant(MESSAGE, 3)
    flow.stop()
    flow.grant(MESSAGE, 1)
    flow.end_flush(1)
    assert flow.messages.available == 1


def test_set_mode_keeps_what_is_available() -> None:
    flow = window(5, 100)
    send(flow, 2, 10)
    flow.set_mode(CREDIT_MODE)
    assert (flow.messages.available, flow.octets.available) == (3, 80)
    flow.give_back(2, 20)
    assert (flow.messages.available, flow.octets.available) == (3, 80)


@given(st.lists(st.tuples(st.sampled_from(["grant", "stop", "send", "complete", "flush"]), values)), st.booleans())
def test_credit_is_never_negative_never_wraps_and_a_completion_gives_back_what_was_used(
    steps: list[tuple[str, int]], credit_mode: bool
) -> None:
    flow = CreditBook()
    flow.set_mode(CREDIT_MODE if credit_mode else WINDOW_MODE)
    granted = in_flight = sent = 0
    infinite = False
    for verb, value in steps:
        if verb == "grant":
            flow.grant(MESSAGE, value)
            flow.grant(OCTET, value)
            infinite = infinite or value == INFINITE
            granted += value
        elif verb == "stop":
            flow.stop()
            infinite = False
            granted = sent if credit_mode else 0
        elif verb == "send":
            n = send(flow, min(value, 30))
            sent += n
            in_flight += n
        elif verb == "complete":
            n = min(value, in_flight)
            flow.give_back(n, n)
            in_flight -= n
        else:
            flow.begin_flush(value)
            flow.end_flush(value)
            infinite = False
            granted = sent if credit_mode else 0
        for credit in (flow.messages, flow.octets):
            assert 0 <= credit.available <= INFINITE
            assert (credit.available == INFINITE) == infinite
            assert credit.limit <= INFINITE
            if not credit_mode:
                assert credit.used == in_flight
            if not infinite and credit_mode:
                assert credit.available <= max(0, granted - sent)
            if not infinite and not credit_mode:
                assert credit.available <= max(0, granted - in_flight)
    assert CreditBook.restore(flow.granted()).granted() == flow.granted()


def test_credit_that_adds_up_never_becomes_infinite() -> None:
    """However much is granted, only a grant without limit is without limit: else the next transfer still costs something."""
    credit = Credit()
    for value in (0xFFFFFFFE, 1, 0xFFFFFFFE):
        credit.grant(value)
        assert credit.available == 0xFFFFFFFE
    credit.spend(1)
    assert credit.available == 0xFFFFFFFD


amounts = st.sampled_from([0, 1, 7, MOST, INFINITE])
grants = st.lists(st.tuples(st.sampled_from(["grant", "stop", "mark"]), amounts), max_size=30)


@given(grants, st.lists(amounts, max_size=3))
def test_grants_are_what_one_credit_for_each_moment_would_be(script: list[tuple[str, int]], before: list[int]) -> None:
    """What was granted since each moment is the credit that would have begun there, whatever was granted or stopped since."""
    counted, marks = Grants(), list[tuple[Credit, tuple[int, int]]]()
    for granted in sorted(before, reverse=True):
        marks.append((Credit(granted), counted.mark(granted)))
    for verb, value in script:
        if verb == "mark":
            marks.append((Credit(), counted.mark()))
        elif verb == "stop":
            counted.stop()
            for credit, _ in marks:
                credit.stop()
        else:
            counted.grant(value)
            for credit, _ in marks:
                credit.grant(value)
    assert [counted.since(mark) for _, mark in marks] == [credit.limit for credit, _ in marks]


# What the deliverer may believe that it has.


def book(messages: int = 3, octets: int = 30) -> CreditBook:
    made = CreditBook()
    made.grant(MESSAGE, messages)
    made.grant(OCTET, octets)
    return made


def spend(made: CreditBook, count: int, octets: int = 1) -> list[int | None]:
    return [made.spend(octets, octets) for _ in range(count)]


@pytest.mark.parametrize(("count", "unit"), [(2, None), (3, None), (4, MESSAGE)])
def test_a_message_more_than_granted_is_reported(count: int, unit: int | None) -> None:
    assert spend(book(), count)[-1] == unit


@pytest.mark.parametrize(("octets", "unit"), [(29, None), (30, None), (31, OCTET)])
def test_an_octet_more_than_granted_is_reported(octets: int, unit: int | None) -> None:
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
    assert (made.most_messages, made.most_octets) == (6, 39)
    made.carried_out(1)
    assert (made.most_messages, made.most_octets) == (6, 39)
    made.carried_out(2)
    assert (made.most_messages, made.most_octets) == (1, 9)


def test_a_window_moves_when_the_completion_is_reported() -> None:
    made = book()
    spend(made, 3)
    made.complete(2, 2, 2)
    assert made.owes_report
    assert made.most_messages == 0
    made.reported()
    assert (made.most_messages, made.most_octets) == (2, 29)
    made.set_mode(CREDIT_MODE)
    made.complete(1, 1, 1)
    made.reported()
    assert made.most_messages == 2


def test_what_is_completed_behind_a_stop_gives_credit_by_the_letter() -> None:
    made = book()
    spend(made, 3)
    made.complete(1, 1, 1)
    made.reported()
    made.take_back(5)
    made.complete(1, 1, 1)
    made.reported()
    made.carried_out(5)
    assert (made.most_messages, made.most_octets) == (1, 1)
    assert made.messages.available == 0  # as deployed servers count


def test_a_reused_destination_keeps_the_credit_of_its_old_subscription_until_the_cancel_is_complete() -> None:
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
    assert not made.spend_run(4, 4, 4)
    assert not made.spend_run(1, 31, 31)
    assert made.snapshot() == other.snapshot()
    assert made.spend_run(3, 30, 30)
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

    def give_back(self, messages: int, octets: int) -> None:
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


DELIVERERS: dict[str, type[CreditBook] | type[Letter]] = {"as deployed": CreditBook, "by the letter": Letter}
WORDS = st.one_of(
    st.tuples(st.just("grant"), st.sampled_from([0, 1]), st.sampled_from([1, 2, 5, INFINITE])),
    st.tuples(st.sampled_from(["stop", "flush", "mode", "report", "server", "client"]), st.just(0), st.just(0)),
    st.tuples(st.sampled_from(["send", "complete"]), st.integers(0, 4), st.just(0)),
)


@pytest.mark.parametrize("kind", DELIVERERS)
@given(said=st.lists(WORDS, max_size=60))
def test_a_deliverer_that_holds_to_its_credit_is_never_accused(kind: str, said: list[tuple[str, int, int]]) -> None:
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
            mode = CREDIT_MODE if ours.mode == WINDOW_MODE else WINDOW_MODE
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
                theirs.give_back(first, second)
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


def test_what_has_no_limit_has_none_when_it_is_restored() -> None:
    book = CreditBook()
    for unit in (MESSAGE, OCTET):
        book.grant(unit, INFINITE)
    assert not CreditBook.restore(*book.snapshot()).limited
