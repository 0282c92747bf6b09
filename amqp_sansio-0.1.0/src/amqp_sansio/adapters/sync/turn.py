"""Whose turn it is: the one lock of a connection, and what is done when it is given back."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Final


class Turn:
    """The lock that serialises the threads of a connection, to be used as `with turn:`.

    What was said during a turn goes out at its end (`ended` is called) unless whoever had it took care of that (`wanted`).
    """

    __slots__ = ("_lock", "ended", "wanted")

    def __init__(self, lock: threading.RLock) -> None:
        self.wanted = False
        """Something was said that nobody has seen to yet."""
        self.ended: Callable[[], None] = lambda: None
        self._lock: Final = lock

    def want(self) -> None:
        """There is something to send, once the turn is over.  Under the lock."""
        self.wanted = True

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            if self.wanted:
                self.wanted = False
                self.ended()
        finally:
            self._lock.release()
