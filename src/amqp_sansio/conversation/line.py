"""How sessions send and wait in asynchronous code, which an adapter supplies, and the results for which they wait."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from typing import Any, Final, Generic, Protocol, TypeVar

from amqp_sansio.conversation.ticket import Ticket

Value = TypeVar("Value")
Wait = TypeVar("Wait")


class Line(Protocol):
    """The way to the socket of the present connection."""

    def free(self, timeout: float | None = None) -> bool:
        """Whether `writable` can be skipped by a call with this timeout."""

    async def writable(self) -> None:
        """Waits until the socket takes octets, when many wait to be written."""

    async def wait(self, ticket: Ticket[Value], /, timeout: float | None = None) -> Value:
        """Waits for a ticket and returns its value.  Raises its error, or TimeoutError after `timeout` seconds."""

    async def asked(self, say: Callable[[], Ticket[Value]], /) -> Value:
        """Calls `say`, which sends something, and waits for the ticket that it returns.

        When no other call waits for an answer, output is written at once; else together with that of the others.
        """

    async def within(self, seconds: float, work: Callable[[], Coroutine[Any, Any, Value]], /) -> Value:
        """Returns the result of `work()`.  Cancels it and raises TimeoutError when it takes longer than `seconds`.

        With 0 seconds or less it does not begin, so that nothing is sent: others get a turn, then it raises.
        """


class BasePending(Generic[Value, Wait]):
    """The answer to a call, which may still be pending.  A base class."""

    __slots__ = ("_ticket", "_wait")

    def __init__(self, ticket: Ticket[Value], wait: Wait) -> None:
        self._ticket: Final = ticket
        self._wait: Final = wait

    @property
    def done(self) -> bool:
        """Whether the answer is there: to ask for it would return without waiting."""
        return self._ticket.done

    def __repr__(self) -> str:
        return f"<Pending {'done' if self.done else 'open'}>"


class Pending(BasePending[Value, Callable[[Ticket[Value]], Coroutine[Any, Any, Value]]]):
    """The answer to a call, which may still be pending: `await` it for its value or its error; `done` is True once it is there.

    It may be awaited any number of times, or never.
    """

    __slots__ = ()

    def __await__(self) -> Generator[Any, Any, Value]:
        return self._wait(self._ticket).__await__()
