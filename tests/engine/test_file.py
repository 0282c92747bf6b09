"""Deliveries of files and what is said about them."""

from __future__ import annotations

import pytest

from amqp_sansio.engine.file import Deliveries
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec.file import Ack, Deliver, Reject


def delivered(*tags: int, at_once: bool = False) -> Deliveries:
    """Deliveries with the ids 0, 1, 2, of 10 octets each."""
    deliveries = Deliveries(at_once, False)
    for id, tag in enumerate(tags):
        assert deliveries.check_deliver(Deliver("t", tag), True, 10, 99) is None
        deliveries.deliver(tag, True, id, 10)
    return deliveries


def settled(deliveries: Deliveries, *words: Ack | Reject, heard: bool = True) -> list[bool]:
    """Which of these words were right."""
    found = []
    for at, word in enumerate(words):
        found.append(deliveries.check_ack(word) is None)
        if found[-1]:
            deliveries.settle(word, 100 + at, heard)
    return found


def test_up_to_a_tag_is_in_the_order_of_the_deliveries() -> None:
    deliveries = delivered(5, 3, 9, 1)
    assert settled(deliveries, Ack(3, True), Ack(5), Ack(9), Ack(1)) == [True, False, True, True]
    assert len(deliveries._open) == 0


def test_all_is_what_the_client_has_received() -> None:
    deliveries = delivered(1, 2)
    deliveries.completed(RangeSet.of(0))
    assert settled(deliveries, Ack(0, True)) == [True]
    assert len(deliveries._open) == 0
    assert settled(deliveries, Ack(1), Reject(2), Reject(2)) == [False, True, False]


def test_a_client_has_received_what_it_hears() -> None:
    deliveries = delivered(1, 2, at_once=True)
    assert settled(deliveries, Ack(0, True), Ack(1), Ack(2), heard=False) == [True, False, False]


def test_what_a_late_observer_missed_is_perhaps_acknowledged_and_fills_no_window() -> None:
    deliveries = Deliveries(True, False)
    deliveries.open_window(0, 1)
    settled(deliveries, Ack(0, True), heard=False)
    for tag in (1, 2, 3):
        assert deliveries.check_deliver(Deliver("t", tag), True, 10, 99) is None
        deliveries.deliver(tag, True, tag, 10)
    deliveries.carried_out(RangeSet.of(99))
    assert deliveries.check_deliver(Deliver("t", 4), True, 10, 99) is None
    deliveries.carried_out(RangeSet.of(100))
    deliveries.deliver(4, True, 4, 10)
    assert deliveries.check_deliver(Deliver("t", 5), True, 10, 99) is not None
    assert settled(deliveries, Ack(2, True), Ack(1), Ack(3), heard=False) == [True, False, True]


def test_perhaps_ends_with_the_next_all_once_it_was_received() -> None:
    deliveries = delivered(1, 2)
    settled(deliveries, Ack(0, True))
    deliveries.completed(RangeSet.of(1))
    settled(deliveries, Ack(0, True))
    assert settled(deliveries, Ack(2), Ack(1)) == [False, True]


def test_the_window_is_in_messages_and_octets_and_lets_one_message_pass() -> None:
    for window, fits in (((0, 0), 9), ((0, 2), 2), ((25, 0), 2), ((5, 0), 1), ((25, 1), 1)):
        deliveries = Deliveries(False, False)
        deliveries.open_window(*window)
        for tag in range(1, fits + 1):
            assert deliveries.check_deliver(Deliver("t", tag), True, 10, 99) is None
            deliveries.deliver(tag, True, tag, 10)
        if fits < 9:
            assert deliveries.check_deliver(Deliver("t", 99), True, 10, 99) is not None
            assert deliveries.check_deliver(Deliver("t", 99), False, 10, 99) is None
            deliveries.close_window()
            assert deliveries.check_deliver(Deliver("t", 99), True, 10, 99) is None


@pytest.mark.parametrize(("count", "fits"), [(2, True), (3, True), (4, False)])
def test_limit_of_deliveries_perhaps_or_not(count: int, fits: bool) -> None:
    deliveries = delivered(*range(1, count))
    settled(deliveries, Ack(0, True))
    objection = deliveries.check_deliver(Deliver("t", 99), True, 10, 3)
    assert (objection is None) == fits
    assert objection is None or objection.rule == "limits.incomplete_commands"


def test_a_late_observer_lets_any_tag_pass_but_zero() -> None:
    deliveries = Deliveries(False, True)
    assert settled(deliveries, Ack(7), Ack(7), Reject(7), Ack(0), Ack(9, True)) == [True, True, True, False, True]
    deliveries.open_window(0, 1)
    for tag in (1, 2, 3):
        assert deliveries.check_deliver(Deliver("t", tag), True, 10, 99) is None
        deliveries.deliver(tag, True, tag, 10)


def test_a_tag_used_anew() -> None:
    deliveries = delivered(1)
    settled(deliveries, Ack(0, True))
    deliveries.deliver(1, True, 8, 10)
    deliveries.completed(RangeSet.of(0))
    assert settled(deliveries, Ack(1), Ack(1)) == [True, False]


def test_a_snapshot() -> None:
    deliveries = delivered(1, 2, 3)
    deliveries.completed(RangeSet.of(0))
    settled(deliveries, Ack(0, True))
    deliveries.deliver(4, True, 9, 10)
    settled(deliveries, Ack(0, True), heard=False)
    deliveries.deliver(5, True, 10, 10)
    again = Deliveries(False, False)
    again.restore(deliveries.snapshot())
    assert again.snapshot() == deliveries.snapshot()
    for each in (deliveries, again):
        each.completed(RangeSet([(0, 10)]))
        assert settled(each, Ack(2), Ack(4), Ack(5), Ack(1)) == [True, True, True, False]
    for key in deliveries.snapshot():
        with pytest.raises((KeyError, ValueError, TypeError)):
            Deliveries(False, False).restore({**deliveries.snapshot(), key: "x"})


def test_what_was_perhaps_not_received_keeps_its_place_behind_a_snapshot() -> None:
    """An acknowledgement of all passes over it, so that one up to its tag finds it before what was delivered later."""
    deliveries = delivered(1, 2)
    settled(deliveries, Ack(0, True), heard=False)
    deliveries.deliver(3, True, 7, 10)
    again = Deliveries(False, False)
    again.restore(deliveries.snapshot())
    for each in (deliveries, again):
        each.deliver(4, True, 8, 10)
        assert settled(each, Ack(0, True), Ack(3, True), Ack(3), Ack(4), heard=False) == [True, True, False, True]


def test_a_window_in_octets_goes_on_behind_a_snapshot() -> None:
    """What was under way when the snapshot was taken fills the window of octets as before, and is given back once."""
    deliveries = delivered(1, 2)
    deliveries.open_window(30, 0)
    again = Deliveries(False, False)
    again.restore(deliveries.snapshot())
    for each in (deliveries, again):
        assert each.check_deliver(Deliver("t", 3), True, 10, 99) is None
        assert each.check_deliver(Deliver("t", 3), True, 11, 99) is not None
        assert settled(each, Ack(1)) == [True]
        assert each.check_deliver(Deliver("t", 3), True, 20, 99) is None
        assert each.check_deliver(Deliver("t", 3), True, 21, 99) is not None


def test_what_is_acknowledged_as_one_of_all_waits_for_that_command_alone() -> None:
    deliveries = Deliveries(False, False)
    deliveries.open_window(0, 1)
    settled(deliveries, Ack(0, True), heard=False)
    deliveries.carried_out(RangeSet.of(99))
    deliveries.deliver(1, True, 1, 10)
    assert deliveries.check_deliver(Deliver("t", 2), True, 10, 99) is None
    deliveries.carried_out(RangeSet.of(100))
    deliveries.deliver(2, True, 2, 10)
    assert deliveries.check_deliver(Deliver("t", 3), True, 10, 99) is not None
