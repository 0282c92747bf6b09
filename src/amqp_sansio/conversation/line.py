"""What an adapter for code that awaits lends its sessions: how to wait, and how something goes out that is waited for."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar

from amqp_sansio.conversation.ticket import Ticket

Value = TypeVar("Value")


class Line(Protocol):
    """The way to the socket of a connection, whichever that is at the moment."""

    def free(self) -> bool:
        """Whether `writable` need not be waited for."""
        raise NotImplementedError

    async def writable(self) -> None:
        """Waits until the socket takes octets, when many wait to be written."""
        raise NotImplementedError

    async def wait(self, ticket: Ticket[Value], /, timeout: float | None = None) -> Value:
        """The value of a ticket, or its error, once it is settled; TimeoutError when it is not within `timeout` seconds."""
        raise NotImplementedError

    async def asked(self, say: Callable[[], Ticket[Value]], /) -> Value:
        """Calls `say`, which says something, and waits for the ticket that it gives.

        When no other call waits for an answer, output goes out at once; else together with that of the others.
        """
        raise NotImplementedError

    async def within(self, seconds: float, work: Callable[[], Coroutine[Any, Any, Value]], /) -> Value:
        """What comes of `work()`; TimeoutError when that is not there within `seconds`: then it is cancelled."""
        raise NotImplementedError
