"""`amqp-sansio report`: one page made of the tables."""

from __future__ import annotations

import sys
import time
from typing import Final, TextIO

from amqp_sansio.errors import AmqpError

ON_A_TERMINAL: Final = 0.5
ELSEWHERE: Final = 15.0
"""Seconds between two words about the progress."""
_EXTRA: Final = frozenset(("matplotlib", "numpy", "pyarrow"))


class MissingReport(AmqpError):
    """The libraries of the extra `[report]` are not installed, or not all of them."""


class Reading:
    """Tells how far the reading is, now and then: one line that changes on a terminal, a line each time elsewhere.

    Called for each file; it has no thread of its own, for one file is read quickly.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream: Final = stream or sys.stderr
        self._terminal: Final = self._stream.isatty()
        self._began: Final = time.monotonic()
        self._next = self._began + self._pause
        self._said = False

    @property
    def _pause(self) -> float:
        return ON_A_TERMINAL if self._terminal else ELSEWHERE

    def __call__(self, table: str, done: int, of: int) -> None:
        """The next file of a table."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next, self._said = now + self._pause, True
        passed = int(now - self._began)
        line = f"amqp-sansio: reading {table}: {done} of {of} files, {passed // 60}:{passed % 60:02}"
        self._stream.write(f"\r\033[K{line}" if self._terminal else f"{line}\n")
        self._stream.flush()

    def over(self) -> None:
        """Nothing more is told: the line on a terminal goes."""
        if self._terminal and self._said:
            self._stream.write("\r\033[K")
            self._stream.flush()


def report(folder: str, out: str | None) -> int:
    """Writes the page and prints where it is: 0.  An error of the library when it cannot be made."""
    try:
        from amqp_sansio.report.page import write
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in _EXTRA:
            raise
        raise MissingReport(f"report needs {error.name}: pip install 'amqp-sansio[report]'") from error
    reading: Final = Reading()
    try:
        place: Final = write(folder, out, reading)
    finally:
        reading.over()
    sys.stdout.write(f"{place}\n")
    return 0
