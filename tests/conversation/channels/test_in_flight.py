"""Messages that were published and are not confirmed yet."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.steps import assert_linear

from amqp_sansio.conversation.channels.in_flight import InFlight
from amqp_sansio.errors import ChannelClosed, InDoubt, LimitError, MessageNacked, MessageReturned, TransactionFailed
from amqp_sansio.events import channel as events
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec.methods import basic


def filled(count: int, octets: int = 1) -> InFlight:
    books = InFlight()
    for number in range(1, count + 1):
        books.add(number, "e", "k", b"%d" % (number % 2) * octets, True)
    return books


def returned(number: int | None, body: bytes = b"1", key: str = "k") -> events.MessageReturned:
    return events.MessageReturned(1, number, basic.Return(312, "NO_ROUTE", "e", key), b"", body)


def test_confirms_settle_in_any_order() -> None:
    books = filled(5)
    tickets = books.tickets
    books.confirmed(RangeSet([(2, 3)]))
    books.confirmed(RangeSet([(5, 5)]))
    assert [ticket.done for ticket in tickets] == [False, True, True, False, True]
    books.refused(RangeSet([(1, 1)]), MessageNacked)
    assert isinstance(tickets[0].error, MessageNacked)
    assert len(books) == 1


def test_without_confirms_those_before_the_first_in_doubt_are_taken() -> None:
    books = filled(4)
    tickets = books.tickets
    books.answered(RangeSet([(3, 4)]), rolled_back=False)
    assert [ticket.done for ticket in tickets] == [True, True, False, False]
    books.answered(RangeSet(), rolled_back=True)
    assert isinstance(tickets[3].error, TransactionFailed)


def test_a_return_fails_its_message_which_stays_until_it_is_confirmed() -> None:
    books = filled(3)
    tickets = books.tickets
    books.returned(returned(2))
    assert isinstance(tickets[1].error, MessageReturned)
    assert str(tickets[1].error) == "unroutable: NO_ROUTE: exchange 'e', routing key 'k'"
    assert len(books) == 3
    books.confirmed(RangeSet([(1, 3)]))
    assert isinstance(tickets[1].error, MessageReturned)
    assert not books


def test_a_return_that_the_engine_cannot_name_is_the_first_equal_message() -> None:
    books = filled(4)
    tickets = books.tickets
    books.returned(returned(None))
    books.returned(returned(None))
    books.returned(returned(None, key="other"))
    assert [ticket.done for ticket in tickets] == [True, False, True, False]


def test_a_loss_leaves_all_in_doubt_with_the_cause() -> None:
    books = filled(2)
    tickets = books.tickets
    cause = ChannelClosed(1, "gone")
    books.lost(cause)
    assert all(isinstance(ticket.error, InDoubt) and ticket.error.__cause__ is cause for ticket in tickets)
    assert not books
    assert books.has_room


def test_a_publish_that_the_server_refused_is_not_in_doubt_when_it_is_the_only_one() -> None:
    """Where several are in flight, channel.close does not say which of them it means."""
    cause = ChannelClosed(1, "closed", 404, "no exchange 'e'", "basic.publish")
    one, two = filled(1), filled(2)
    seen = []
    for books in (one, two):
        (first, *_) = books.tickets
        books.lost(cause)
        seen.append(first.error)
    assert seen[0] is cause
    assert isinstance(seen[1], InDoubt)


def test_what_nobody_asked_about_is_raised_once() -> None:
    books = filled(2)
    first, second = books.tickets
    books.refused(RangeSet([(1, 2)]), MessageNacked)
    with pytest.raises(MessageNacked, match="publish 1"):
        first.result()
    with pytest.raises(MessageNacked, match="publish 2"):
        books.unheard()
    books.unheard()
    assert second.done


def test_both_limits_hold() -> None:
    books = filled(2, octets=5)
    books.most = 3
    books.must_have_room(1)
    books.add(3, "e", "k", b"", False)
    with pytest.raises(LimitError, match="most_in_flight is 3"):
        books.must_have_room(1)
    books.most = 4
    books.most_octets = 11
    room = [books.has_room]
    books.must_have_room(100)  # one message may be larger than what is left
    books.add(4, "e", "k", b"1", False)
    books.most = 5
    room.append(books.has_room)
    with pytest.raises(LimitError, match="most_in_flight_octets"):
        books.must_have_room(1)
    books.confirmed(RangeSet([(4, 4)]))
    room.append(books.has_room)
    assert room == [True, False, True]


@pytest.mark.parametrize("body", [b"1", b"of none"])
def test_a_return_costs_the_same_however_many_are_in_flight(body: bytes) -> None:
    def prepared(size: int) -> Callable[[], object]:
        books = filled(size)

        def come_back() -> None:
            for _ in range(size // 2):
                books.returned(returned(None, body))

        return come_back

    assert_linear(prepared, 200)


def test_what_is_confirmed_does_not_come_back() -> None:
    books = filled(5)
    tickets = books.tickets
    books.confirmed(RangeSet.of(1))
    books.returned(returned(3))
    books.returned(returned(None))
    assert [isinstance(ticket.error, MessageReturned) for ticket in tickets] == [False, False, True, False, True]
    books.returned(returned(None))
    books.lost(ChannelClosed(1, "gone"))
    assert [ticket for ticket in tickets if isinstance(ticket.error, InDoubt)] == [tickets[1], tickets[3]]
    assert not books._returnable
