"""The pending result of a call that does not wait, in blocking code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Generic, TypeVar

from amqp_sansio.conversation.ticket import Ticket

Value = TypeVar("Value")


class Pending(Generic[Value]):
    """The answer to a call, perhaps still pending: `result()` waits for its value or error; `done` is True once it is there.

    `result` may be called any number of times, from any thread, or never.
    """

    __slots__ = ("_ticket", "_wait")

    def __init__(self, ticket: Ticket[Value], wait: Callable[[Ticket[Value], float | None], Value]) -> None:
        self._ticket: Final = ticket
        self._wait: Final = wait

    @property
    def done(self) -> bool:
        """Whether `result` would return without waiting."""
        return self._ticket.done

    def result(self, timeout: float | None = None) -> Value:
        """Waits for the value and returns it.  Raises the call's error, or TimeoutError after `timeout` seconds."""
        return self._wait(self._ticket, timeout)

    def __repr__(self) -> str:
        return f"<Pending {'done' if self.done else 'open'}>"
