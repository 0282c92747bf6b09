"""How sessions send and wait on trio."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

import trio

from amqp_sansio.adapters.trio.waiting import settled, wait
from amqp_sansio.adapters.trio.wire import Wire
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
        self._waiting = 0

    def wake(self) -> None:
        """Notes that there is something to send."""
        if self.wire is not None:
            self.wire.wake()

    def free(self, timeout: float | None = None) -> bool:
        """Returns False, so that every publish passes a checkpoint in `writable`, where it can be cancelled; True only for a
        publish with a timeout of 0, which has no time for it, and only while few octets wait to be written."""
        return timeout is not None and timeout <= 0 and (self.wire is None or self.wire.waiting < MANY)

    async def writable(self) -> None:
        """See `conversation.line`."""
        wire = self.wire
        if wire is not None and wire.waiting >= MANY:
            wire.hold()
        if wire is not None and not wire.taking:
            await wire.writable.wait()
        else:
            await trio.lowlevel.checkpoint_if_cancelled()

    async def wait(self, ticket: Ticket[Value], /, timeout: float | None = None) -> Value:
        """See `conversation.line`."""
        self._waiting += 1
        try:
            self._listen()
            return await wait(ticket, timeout)
        finally:
            self._waiting -= 1

    async def asked(self, say: Callable[[], Ticket[Value]], /) -> Value:
        """See `conversation.line`."""
        wire = self.wire
        ticket = say() if wire is None or self._asking else wire.say(say)
        self._asking += 1
        try:
            if wire is None or self._asking > 1 or self._waiting or not await wire.answer(ticket):
                self._listen()
                await settled(ticket)
        finally:
            self._asking -= 1
            if self._asking or self._waiting:
                self._listen()
        return ticket.result()

    async def within(self, seconds: float, work: Callable[[], Coroutine[Any, Any, Value]], /) -> Value:
        """See `conversation.line`."""
        check_timeout(seconds)
        if seconds <= 0:
            await trio.lowlevel.checkpoint()
        else:
            with trio.move_on_after(seconds):
                return await work()
        raise TimeoutError(f"no answer within {seconds} seconds")

    def _listen(self) -> None:
        if self.wire is not None:
            self.wire.listen()
