"""Whose turn it is: the one lock of a connection, and what is done when it is given back."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Final, TypeVar

Value = TypeVar("Value")


class TimeIsOver(BaseException):
    """The time of a call is over: what cancellation is in code that awaits."""


class Turn:
    """The lock that serialises the threads of a connection, to be used as `with turn:`; a turn within a turn is one with it.

    Output of a turn goes out at its end (`ended` is called) unless its owner took care of that (`wanted`).

    An interrupt (Ctrl-C) may come behind any call of the main thread.  One that comes during a wait (`aside`) leaves nothing
    half done.  Any other one does: then `torn` is called, for what the connection would send next might be wrong.
    """

    __slots__ = ("_inside", "_lock", "ended", "torn", "wanted")

    def __init__(self, lock: threading.RLock) -> None:
        self.wanted = False
        """There is output that nobody has seen to yet."""
        self.ended: Callable[[], None] = lambda: None
        self.torn: Callable[[], None] = lambda: None
        self._lock: Final = lock
        self._inside: Final = _Inside()

    def want(self) -> None:
        """There is something to send, once the turn is over.  Under the lock."""
        self.wanted = True

    def __enter__(self) -> None:
        inside = self._inside
        if inside.depth:
            inside.depth += 1
            return
        try:
            self._lock.acquire()
            inside.depth = 1
        except BaseException:  # an interrupt, before the lock was acquired or behind that
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

    def aside(self, wait: Callable[[], Value]) -> Value:
        """Gives up the lock while it waits.  In a turn, which an interrupt leaves whole: the lock is held again then."""
        try:
            self._lock.release()
            come = wait()
            self._lock.acquire()
        except BaseException as error:
            self.interrupted(error)
            raise
        return come

    def interrupted(self, error: BaseException) -> None:
        """`error` was raised while this thread waited in its turn: whether it holds the lock or not, it does so from now on."""
        self._let_go()
        self._lock.acquire()
        self._inside.interrupt = error

    def over(self) -> None:
        """Outside of all turns: gives back the lock where an interrupt came just before this thread would have done that."""
        self._inside.depth = 0
        while self._let_go():
            pass

    def _let_go(self) -> bool:
        """Gives the lock back, once, if this thread holds it."""
        with suppress(RuntimeError):
            self._lock.release()
            return True
        return False


class _Inside(threading.local):
    """How many `with turn:` this thread is in, and the interrupt that was seen to in them.

    The lock is taken once: a wait gives it up once.
    """

    depth = 0
    interrupt: BaseException | None = None
