"""What is not waited for is awaited, once or often."""

from __future__ import annotations

import pytest

from amqp_sansio.conversation.pending import Pending
from amqp_sansio.conversation.ticket import Ticket


async def wait(ticket: Ticket[int]) -> int:
    return ticket.result()


def awaited(pending: Pending[int]) -> int:
    with pytest.raises(StopIteration) as stopped:
        next(pending.__await__())
    return int(stopped.value.value)


def test_it_is_awaited_as_often_as_one_likes() -> None:
    ticket: Ticket[int] = Ticket()
    pending = Pending(ticket, wait)
    assert (pending.done, repr(pending)) == (False, "<Pending open>")
    ticket.settle(7)
    assert (pending.done, repr(pending)) == (True, "<Pending done>")
    assert (awaited(pending), awaited(pending)) == (7, 7)


def test_it_raises_what_became_of_it() -> None:
    ticket: Ticket[int] = Ticket()
    ticket.fail(ValueError("no"))
    with pytest.raises(ValueError, match="no"):
        next(Pending(ticket, wait).__await__())
