"""Waiting for what other processes do: the only place of the tests that looks again and again."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")

PERIOD: Final = 0.02
"""Seconds between two looks."""
LONGEST: Final = 600.0
"""Seconds after which nothing is expected any more."""


def awaited(look: Callable[[], T], over: Callable[[], bool] = lambda: False, seconds: float = LONGEST) -> T:
    """What `look` finds, as soon as it is something; what it finds last when `over` says that nothing will come any more.

    For things that tell nobody: files of another process, processes.  AssertionError after so many seconds.
    """
    end = time.monotonic() + seconds
    while True:
        ended = over()
        found = look()
        if found or ended:
            return found
        assert time.monotonic() < end, f"nothing came in {seconds} s"
        time.sleep(PERIOD)
