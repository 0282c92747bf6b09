"""What comes of something that a caller did not wait for, in blocking code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Generic, TypeVar

from amqp_sansio.conversation.ticket import Ticket

Value = TypeVar("Value")


class Pending(Generic[Value]):
    """An answer that is not there yet: `result()` waits for its value, or its error; `done` tells whether it is there.

    Ask as often as you like, from any thread, or never.
    """

    __slots__ = ("_ticket", "_wait")

    def __init__(self, ticket: Ticket[Value], wait: Callable[[Ticket[Value], float | None], Value]) -> None:
        self._ticket: Final = ticket
        self._wait: Final = wait

    @property
    def done(self) -> bool:
        """Whether `result` would not wait."""
        return self._ticket.done

    def result(self, timeout: float | None = None) -> Value:
        """The value; raises the error when it failed, and TimeoutError when it is not there within `timeout` seconds."""
        return self._wait(self._ticket, timeout)

    def __repr__(self) -> str:
        return f"<Pending {'done' if self.done else 'open'}>"
