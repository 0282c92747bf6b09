"""Waiting for what other threads bring about, of which nobody tells."""

from __future__ import annotations

import threading
from collections.abc import Callable

PATIENCE = 60.0
"""Seconds after which what is not so never will be, on however slow a machine."""


def eventually(true: Callable[[], bool]) -> None:
    """Until it is so."""
    never = threading.Event()
    for _ in range(int(PATIENCE / 0.005)):
        if true():
            return
        never.wait(0.005)
    raise AssertionError("it never came about")
