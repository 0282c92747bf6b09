"""Waiting for a ticket on asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import Context
from typing import Any, TypeVar

from amqp_sansio.conversation.ticket import Ticket

Value = TypeVar("Value")


async def wait(ticket: Ticket[Value], timeout: float | None = None) -> Value:
    """Waits for a ticket and returns its value.  Raises its error, or TimeoutError after `timeout` seconds.

    Cancelling the wait does not undo what was sent.
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
    """Waits until a pending ticket is settled."""
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
    """A future for one awaiting task, which continues inside `go` instead of in the next turn of the event loop."""

    _then: tuple[Callable[[Any], object], Context | None] | None = None  # Any: the Future itself

    def add_done_callback(self, fn: Callable[[Any], object], /, *, context: Context | None = None) -> None:
        """Stores the callback of the awaiting task."""
        self._then = (fn, context)

    def go(self) -> None:
        """Completes the future and runs the awaiting task at once, up to its next wait.  Must not be called from a task."""
        self.set_result(None)
        if self._then is not None:
            fn, context = self._then
            if context is None:
                fn(self)
            else:
                context.run(fn, self)

    def go_soon(self) -> None:
        """Completes the future; the awaiting task continues in the next turn of the event loop."""
        if not self.done():
            self.set_result(None)
            self._tell()

    def cancel(self, msg: Any | None = None) -> bool:
        """Cancels the future, as for any future."""
        if not super().cancel(msg):
            return False
        self._tell()
        return True

    def _tell(self) -> None:
        if self._then is not None:
            fn, context = self._then
            self.get_loop().call_soon(fn, self, context=context)
