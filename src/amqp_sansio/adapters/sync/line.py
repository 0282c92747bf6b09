"""How sessions and channels send and wait in blocking code: the counterpart of `conversation.line`."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final, TypeVar

from amqp_sansio.adapters.sync.driver import Driver
from amqp_sansio.adapters.sync.turns import TimeIsOver, Turn
from amqp_sansio.conversation.line import BasePending
from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.errors.checks import check_timeout

Value = TypeVar("Value")


class Line:
    """See `conversation.line`.  Any thread may use it in its turn, which it gives up while it waits."""

    def __init__(self, driver: Driver, turn: Turn) -> None:
        self.driver: Final = driver
        self.turn: Final = turn
        self.free: Final = driver.free
        """See `conversation.line`."""
        self._scope: Final = _Scope()

    def writable(self) -> None:
        """See `conversation.line`."""
        if not self.driver.wait_writable(self._scope.until):
            raise TimeIsOver("no room")

    def wait(self, ticket: Ticket[Value], /, timeout: float | None = None) -> Value:
        """See `conversation.line`."""
        with self.turn:
            if not ticket.done:
                check_timeout(timeout)
                until = self._scope.until
                own = None if timeout is None else time.monotonic() + timeout
                if own is None or (until is not None and until <= own):
                    if not self.driver.wait(ticket, until):
                        raise TimeIsOver("no answer")
                elif not self.driver.wait(ticket, own):
                    raise TimeoutError(f"no answer within {timeout} seconds")
            return ticket.result()

    def asked(self, say: Callable[[], Ticket[Value]], /) -> Value:
        """See `conversation.line`."""
        ticket = say()  # the caller has the turn
        if not ticket.done and not self.driver.wait(ticket, self._scope.until):
            raise TimeIsOver("no answer")
        return ticket.result()

    def within(self, seconds: float, work: Callable[[], Value], /) -> Value:
        """See `conversation.line`.  When the time is over, every wait in `work` raises an exception that no `except
        TimeoutError` in it catches."""
        check_timeout(seconds)
        if seconds <= 0:
            self.turn.aside(time.sleep, 0)
            raise TimeoutError(f"no answer within {seconds} seconds")
        scope = self._scope
        before, until = scope.until, time.monotonic() + seconds
        if before is not None and before <= until:
            return work()
        scope.until = until
        try:
            return work()
        except TimeIsOver as over:
            raise TimeoutError(f"{over} within {seconds} seconds") from None
        finally:
            scope.until = before


class _Scope(threading.local):
    """When the time of this thread's call is over; None: never."""

    until: float | None = None


class Pending(BasePending[Value, Callable[[Ticket[Value], float | None], Value]]):
    """The answer to a call, perhaps still pending: `result()` waits for its value or error; `done` is True once it is there.

    `result` may be called any number of times, from any thread, or never.
    """

    __slots__ = ()

    def result(self, timeout: float | None = None) -> Value:
        """Waits for the value and returns it.  Raises the call's error, or TimeoutError after `timeout` seconds."""
        return self._wait(self._ticket, timeout)
