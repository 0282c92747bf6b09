"""How sessions send and wait on asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

from amqp_sansio.adapters.asyncio.waiting import settled, wait
from amqp_sansio.adapters.asyncio.wire import Wire
from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.errors.checks import check_timeout

Value = TypeVar("Value")

MANY: Final = 256 * 1024
"""Octets waiting to be written; from this many on, a publisher waits until they are written."""


class Line:
    """See `conversation.line`.  `wire` is the socket of the present connection, None while there is none."""

    def __init__(self) -> None:
        self.wire: Wire | None = None
        self._asking = 0

    def wake(self) -> None:
        """Notes that there is something to send."""
        if self.wire is not None:
            self.wire.wake()

    def free(self, timeout: float | None = None) -> bool:
        """See `conversation.line`."""
        wire = self.wire
        return wire is None or (wire.taking and wire.waiting < MANY)

    async def writable(self) -> None:
        """See `conversation.line`."""
        wire = self.wire
        if wire is None:
            return
        if wire.waiting >= MANY:
            wire.transmit()
        if not wire.taking:
            await wire.writable.wait()

    async def wait(self, ticket: Ticket[Value], /, timeout: float | None = None) -> Value:
        """See `conversation.line`."""
        return await wait(ticket, timeout)

    async def asked(self, say: Callable[[], Ticket[Value]], /) -> Value:
        """See `conversation.line`."""
        wire = self.wire
        alone = wire is not None and not self._asking
        ticket = wire.say(say) if wire is not None and alone else say()
        if not ticket.done:
            self._asking += 1
            try:
                await (wire.answer(ticket) if wire is not None and alone else settled(ticket))
            finally:
                self._asking -= 1
        return ticket.result()

    async def within(self, seconds: float, work: Callable[[], Coroutine[Any, Any, Value]], /) -> Value:
        """See `conversation.line`."""
        check_timeout(seconds)
        if seconds <= 0:
            await asyncio.sleep(0)
            raise TimeoutError(f"no answer within {seconds} seconds")
        try:
            async with asyncio.timeout(seconds):
                return await work()
        except TimeoutError:
            raise TimeoutError(f"no answer within {seconds} seconds") from None
