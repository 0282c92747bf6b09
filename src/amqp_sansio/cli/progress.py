"""Shows the progress of long work on stderr."""

from __future__ import annotations

import sys
import time
from typing import Final, TextIO

from amqp_sansio.errors.core import many

ON_A_TERMINAL: Final = 0.5
ELSEWHERE: Final = 15.0
"""Seconds between two reports, and before the first."""


class Progress:
    """Shows the progress now and then: an updated line on a terminal, a new line each time elsewhere.

    It has no thread of its own: the work calls it often.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream: Final = stream or sys.stderr
        self._terminal: Final = self._stream.isatty()
        self._began: Final = time.monotonic()
        self._next = self._began + self._pause
        self._stands = False

    @property
    def _pause(self) -> float:
        return ON_A_TERMINAL if self._terminal else ELSEWHERE

    def files(self, table: str, done: int, of: int) -> None:
        """Reports the next file of a table."""
        self._tell(f"reading {table}: {done} of {many(of, 'file')}")

    def octets(self, file: str, octets: int) -> None:
        """Reports that `octets` (decompressed) octets of a capture file were read."""
        self._tell(f"reading {file}: {octets / 1_000_000:.0f} MB")

    def rounds(self, done: int, of: int, what: str) -> None:
        """Reports that `done` of `of` seeds or conversations (`what`) are over."""
        self._tell(f"{done} of {of} {what}")

    def _tell(self, how_far: str) -> None:
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + self._pause
        passed = int(now - self._began)
        line = f"amqp-sansio: {how_far}, {passed // 60}:{passed % 60:02}"
        self._stream.write(f"\r\033[K{line}" if self._terminal else f"{line}\n")
        self._stream.flush()
        self._stands = self._terminal

    def clear(self) -> None:
        """Removes the line from a terminal, before other output or at the end."""
        if self._stands:
            self._stands = False
            self._stream.write("\r\033[K")
            self._stream.flush()
