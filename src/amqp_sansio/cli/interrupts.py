"""Defers SIGINT to a moment when no operation is in progress."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Final

INTERRUPTED: Final = 130
"""Exit status of a command that an interrupt has ended."""
LOOK: Final = 0.2
"""Seconds after which a wait checks for an interrupt."""


class Interrupts:
    """Within this block the first SIGINT is only recorded, so that it does not break off a client's operation.

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
        """Raises KeyboardInterrupt when one was recorded."""
        if self._came:
            raise KeyboardInterrupt

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._here:
            signal.signal(signal.SIGINT, self._before)
