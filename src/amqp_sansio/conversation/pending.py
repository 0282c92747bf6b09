"""The pending result of a call that does not wait, in asynchronous code."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from typing import Any, Final, Generic, TypeVar

from amqp_sansio.conversation.ticket import Ticket

Value = TypeVar("Value")


class Pending(Generic[Value]):
    """The answer to a call, which may still be pending: `await` it for its value or its error; `done` is True once it is there.

    It may be awaited any number of times, or never.
    """

    __slots__ = ("_ticket", "_wait")

    def __init__(self, ticket: Ticket[Value], wait: Callable[[Ticket[Value]], Coroutine[Any, Any, Value]]) -> None:
        self._ticket: Final = ticket
        self._wait: Final = wait

    @property
    def done(self) -> bool:
        """Whether awaiting it would return without waiting."""
        return self._ticket.done

    def __await__(self) -> Generator[Any, Any, Value]:
        return self._wait(self._ticket).__await__()

    def __repr__(self) -> str:
        return f"<Pending {'done' if self.done else 'open'}>"
