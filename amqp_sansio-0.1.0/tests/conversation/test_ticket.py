"""Something that will be known."""

from __future__ import annotations

import pytest

from amqp_sansio.conversation.ticket import Ticket


def test_is_settled_once() -> None:
    ticket: Ticket[int] = Ticket()
    called: list[int] = []
    ticket.on_done(lambda: called.append(1))
    assert not ticket.done
    assert repr(ticket) == "<Ticket open>"
    ticket.settle(5)
    ticket.settle(6)
    ticket.fail(ValueError("late"))
    assert ticket.result() == 5
    assert called == [1]
    ticket.on_done(lambda: called.append(2))
    assert called == [1, 2]
    assert repr(ticket) == "<Ticket settled>"


def test_fails_with_an_error() -> None:
    ticket: Ticket[int] = Ticket()
    ticket.fail(ValueError("no"))
    ticket.settle(5)
    with pytest.raises(ValueError, match="no"):
        ticket.result()
    assert repr(ticket) == "<Ticket failed>"


def test_a_callback_that_was_taken_back_is_not_called() -> None:
    ticket: Ticket[None] = Ticket()
    called: list[int] = []

    def call() -> None:
        called.append(1)

    ticket.on_done(call)
    ticket.forget(call)
    ticket.forget(call)
    ticket.settle(None)
    assert called == []
