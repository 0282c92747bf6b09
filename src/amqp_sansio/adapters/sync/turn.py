"""The lock of a connection, and what happens when a thread releases it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Final, TypeVar

Value = TypeVar("Value")
Given = TypeVar("Given")


class TimeIsOver(BaseException):
    """The time of a call is over; what cancellation is in asynchronous code."""


class Turn:
    """The lock that serialises the threads of a connection, used as `with turn:`; nested turns are one turn.

    At the end of a turn its output is written (`ended` is called), unless the owner has already done so (`wanted` is False).

    An interrupt (Ctrl-C) may come after any call of the main thread.  During a wait (`aside`) it leaves the state consistent.
    At any other point it does not: then `torn` is called, because the connection's next output might be wrong.
    """

    __slots__ = ("_inside", "_lock", "ended", "torn", "wanted")

    def __init__(self, lock: threading.RLock) -> None:
        self.wanted = False
        """Whether there is output that has not been written."""
        self.ended: Callable[[], None] = lambda: None
        self.torn: Callable[[], None] = lambda: None
        self._lock: Final = lock
        self._inside: Final = _Inside()

    def want(self) -> None:
        """Notes that there is output to write at the end of the turn.  Call it under the lock."""
        self.wanted = True

    def __enter__(self) -> None:
        inside = self._inside
        if inside.depth:
            inside.depth += 1
            return
        try:
            self._lock.acquire()
            inside.depth = 1
        except BaseException:  # an interrupt, before or after the lock was acquired
            self._let_go()
            raise

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        inside = self._inside
        try:
            if kind is not None and not issubclass(kind, Exception | TimeIsOver) and error is not inside.interrupt:
                inside.interrupt = error
                self.torn()
            if self.wanted and inside.depth == 1:
                self.wanted = False
                self.ended()
        finally:
            inside.depth -= 1
            if not inside.depth:
                inside.interrupt = None
                self._lock.release()

    def aside(self, wait: Callable[[Given], Value], given: Given) -> Value:
        """Releases the lock while `wait` runs, in a turn.  An interrupt leaves the state consistent, and the lock held."""
        try:
            self._lock.release()
            come = wait(given)
            self._lock.acquire()
        except BaseException as error:
            self.interrupted(error)
            raise
        return come

    def interrupted(self, error: BaseException) -> None:
        """Handles `error`, raised while this thread waited in its turn: the lock is held afterwards, whether it was or not."""
        self._let_go()
        self._lock.acquire()
        self._inside.interrupt = error

    def over(self) -> None:
        """Releases the lock, outside of all turns, in case an interrupt came just before this thread would have done so."""
        self._inside.depth = 0
        while self._let_go():
            pass

    def _let_go(self) -> bool:
        """Releases the lock once, if this thread holds it; returns whether it did."""
        with suppress(RuntimeError):
            self._lock.release()
            return True
        return False


class _Inside(threading.local):
    """How many nested `with turn:` this thread is in, and the interrupt that was handled in them.

    The lock is acquired only once, so a wait releases it completely.
    """

    depth = 0
    interrupt: BaseException | None = None
