"""Credit as arithmetic.  The named scenarios are those that qpid's own broker tests require."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.engine.credit import CREDIT_MODE, INFINITE, MESSAGE, MOST, OCTET, WINDOW_MODE, Credit, Flow, Grants

values = st.one_of(st.integers(0, 20), st.sampled_from([INFINITE, MOST, MOST - 1, 0x80000000]))


def window(messages: int, octets: int = INFINITE) -> Flow:
    flow = Flow()
    flow.grant(MESSAGE, messages)
    flow.grant(OCTET, octets)
    return flow


def send(flow: Flow, most: int = 100, cost: int = 1) -> int:
    """Transfers as much as credit allows, up to `most` messages."""
    sent = 0
    while sent < most and flow.allows(cost):
        flow.transfer(cost)
        sent += 1
    return sent


def test_initial_credit_is_none_in_window_mode() -> None:
    flow = Flow()
    assert flow.mode == WINDOW_MODE
    assert flow.empty
    assert not flow.allows(0)


def test_both_units_are_needed() -> None:
    flow = Flow()
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
    flow.complete(5, 5)
    assert send(flow) == 0


def test_window_flow_messages() -> None:
    flow = window(5)
    assert send(flow) == 5
    flow.complete(2, 2)
    assert send(flow) == 2


def test_window_flow_bytes() -> None:
    msg_size = 19  # header struct of 11 octets and a body of 8
    flow = window(INFINITE, msg_size * 5)
    assert send(flow, cost=msg_size) == 5
    flow.complete(1, msg_size)
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
    flow.complete(5, 5)
    assert send(flow) == 0
    assert flow.messages.available == 0


def test_credit_window_after_messagestop() -> None:
    flow = window(10)
    assert send(flow, 5) == 5
    flow.stop()
    flow.grant(MESSAGE, 5)
    flow.grant(OCTET, INFINITE)
    assert send(flow) == 0
    flow.complete(5, 5)
    assert send(flow) == 5


def test_window_flush_ack_flow() -> None:
    flow = window(INFINITE)
    assert send(flow, 1) == 1
    flow.begin_flush(7)
    flow.end_flush(7)
    assert send(flow) == 0
    flow.complete(1, 1)
    flow.grant(MESSAGE, INFINITE)
    flow.grant(OCTET, INFINITE)
    assert send(flow, 3) == 3


def test_infinite_stays_until_stop_or_flush() -> None:
    credit = Credit()
    credit.grant(INFINITE)
    credit.grant(5)
    credit.use(1000)
    assert credit.available == INFINITE
    credit.give_back(2000)
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
    flow.complete(2, 20)
    assert (flow.messages.available, flow.octets.available) == (3, 80)


@given(st.lists(st.tuples(st.sampled_from(["grant", "stop", "send", "complete", "flush"]), values)), st.booleans())
def test_credit_is_never_negative_never_wraps_and_a_completion_gives_back_what_was_used(
    steps: list[tuple[str, int]], credit_mode: bool
) -> None:
    flow = Flow(CREDIT_MODE if credit_mode else WINDOW_MODE)
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
            flow.complete(n, n)
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
    assert Flow.restore(*flow.snapshot()).snapshot() == flow.snapshot()


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
