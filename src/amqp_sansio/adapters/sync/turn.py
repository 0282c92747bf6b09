"""Whose turn it is: the one lock of a connection, and what is done when it is given back."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Final


class Turn:
    """The lock that serialises the threads of a connection, to be used as `with turn:`; a turn within a turn is one with it.

    Output of a turn goes out at its end (`ended` is called) unless its owner took care of that (`wanted`).
    """

    __slots__ = ("_inside", "_lock", "ended", "wanted")

    def __init__(self, lock: threading.RLock) -> None:
        self.wanted = False
        """There is output that nobody has seen to yet."""
        self.ended: Callable[[], None] = lambda: None
        self._lock: Final = lock
        self._inside: Final = _Inside()

    def want(self) -> None:
        """There is something to send, once the turn is over.  Under the lock."""
        self.wanted = True

    def __enter__(self) -> None:
        if not self._inside.depth:
            self._lock.acquire()
        self._inside.depth += 1

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            if self.wanted and self._inside.depth == 1:
                self.wanted = False
                self.ended()
        finally:
            self._inside.depth -= 1
            if not self._inside.depth:
                self._lock.release()


class _Inside(threading.local):
    """How many `with turn:` this thread is in.  The lock is taken once: a wait gives it up once."""

    depth = 0
