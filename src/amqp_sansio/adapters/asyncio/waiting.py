"""Waiting for a ticket in asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import Context
from typing import Any, TypeVar

from amqp_sansio.conversation.ticket import Ticket

Value = TypeVar("Value")


async def wait(ticket: Ticket[Value], timeout: float | None = None) -> Value:
    """The value of a ticket, once it is settled; raises its error, or TimeoutError when it is not within `timeout` seconds.

    Cancelled, it takes nothing back that was sent.
    """
    if not ticket.done:
        if timeout is None:
            await settled(ticket)
        else:
            try:
                async with asyncio.timeout(timeout):
                    await settled(ticket)
            except TimeoutError:
                raise TimeoutError(f"no answer within {timeout} seconds") from None
    return ticket.result()


async def settled(ticket: Ticket[Value]) -> None:
    """Until a ticket that is not settled is."""
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def settle() -> None:
        if not future.done():
            future.set_result(None)

    ticket.on_done(settle)
    try:
        await future
    finally:
        if not ticket.done:
            ticket.forget(settle)


class Waiting(asyncio.Future[None]):
    """A future that one task awaits, which goes on within `go` and not in the next turn of the loop."""

    _then: tuple[Callable[[Any], object], Context | None] | None = None  # Any: of Future, which is what `self` is

    def add_done_callback(self, fn: Callable[[Any], object], /, *, context: Context | None = None) -> None:
        """Called by the awaiting task."""
        self._then = (fn, context)

    def go(self) -> None:
        """Done.  The task goes on at once, up to where it waits next, or its end.  Not to be called while a task runs."""
        self.set_result(None)
        if self._then is not None:
            fn, context = self._then
            if context is None:
                fn(self)
            else:
                context.run(fn, self)

    def go_soon(self) -> None:
        """Done.  The task goes on in the next turn of the loop."""
        if not self.done():
            self.set_result(None)
            self._tell()

    def cancel(self, msg: Any | None = None) -> bool:
        """As of any future."""
        if not super().cancel(msg):
            return False
        self._tell()
        return True

    def _tell(self) -> None:
        if self._then is not None:
            fn, context = self._then
            self.get_loop().call_soon(fn, self, context=context)
