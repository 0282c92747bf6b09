"""SIGINT, at a moment at which nothing is broken off in the middle."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Final

INTERRUPTED: Final = 130
"""Exit status of a command that an interrupt has ended."""
LOOK: Final = 0.2
"""Seconds after which a wait looks for an interrupt."""


class Interrupts:
    """While this lasts the first SIGINT is only remembered, so that a client that speaks is not torn out of what it does.

    A second one ends the program at once.  In a thread that gets no signals it does nothing.
    """

    def __init__(self) -> None:
        self._came = False
        self._before: signal._HANDLER = None
        self._here: Final = threading.current_thread() is threading.main_thread()

    def __enter__(self) -> Interrupts:
        if self._here:
            self._before = signal.signal(signal.SIGINT, self._hear)
        return self

    def _hear(self, number: int, frame: FrameType | None) -> None:
        if self._came:
            raise KeyboardInterrupt
        self._came = True

    def look(self) -> None:
        """KeyboardInterrupt when one came."""
        if self._came:
            raise KeyboardInterrupt

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._here:
            signal.signal(signal.SIGINT, self._before)
