"""A way of waiting without any loop: to wait is to let the octets flow."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import pytest

from amqp_sansio.conversation.ticket import Ticket

Value = TypeVar("Value")


class Cancelled(BaseException):
    """As loops raise it where somebody waits."""


class StagedLine:
    """See `conversation.line`: each wait calls `flow`.  `waits` counts; the wait of number `cancel_at` is cancelled."""

    def __init__(self, flow: Callable[[], object]) -> None:
        self._flow = flow
        self.waits = 0
        self.cancel_at = -1
        self.deaf = False
        self.timeouts: list[float] = []
        self.before: Callable[[Ticket[Any], float | None], None] = lambda ticket, timeout: None

    async def wait(self, ticket: Ticket[Value], timeout: float | None = None) -> Value:
        self.waits += 1
        if timeout is not None:
            self.timeouts.append(timeout)
        if self.waits == self.cancel_at:
            raise Cancelled
        self.before(ticket, timeout)
        if not self.deaf:
            self._flow()
        if not ticket.done and timeout is not None:
            raise TimeoutError
        assert ticket.done, "it would wait for ever"
        return ticket.result()

    def free(self, timeout: float | None = None) -> bool:
        return False

    async def writable(self) -> None:
        pass

    async def asked(self, say: Callable[[], Ticket[Value]]) -> Value:
        return await self.wait(say())

    async def within(self, seconds: float, work: Callable[[], Coroutine[Any, Any, Value]]) -> Value:
        self.timeouts.append(seconds)
        return await work()


def run(coroutine: Coroutine[Any, Any, Value]) -> Value:
    """The result of a coroutine that never suspends."""
    with pytest.raises(StopIteration) as stopped:
        coroutine.send(None)
    result: Value = stopped.value.value
    return result
