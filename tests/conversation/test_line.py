"""What adapters lend their sessions has one form."""

from __future__ import annotations

import pytest

from amqp_sansio.adapters.asyncio.wire import Line as OnAsyncio
from amqp_sansio.adapters.trio.wire import Line as OnTrio
from amqp_sansio.conversation.line import Line, Pending
from amqp_sansio.conversation.ticket import Ticket


def test_both_adapters_have_it() -> None:
    lines: list[Line] = [OnAsyncio(), OnTrio()]  # for the type checker, mostly
    names = {name for name in vars(Line) if not name.startswith("_")}
    assert names == {"free", "writable", "wait", "asked", "within"}
    for line in lines:
        assert all(callable(getattr(line, name)) for name in names)


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
