"""The collector of reference cycles in a Python worker: it looks at what the work makes, not at what was imported."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

THRESHOLD: Final = 50_000
"""Objects made and not let go before the collector looks at them: rows wait by the ten thousand and are in no cycle."""


@contextmanager
def seldom() -> Iterator[None]:
    """While it is entered the collector runs seldom; what is there already it leaves alone for good.

    Spark's workers collect everything after each task, imported modules too.  That and the collector's own rounds were a tenth
    of what a worker did.
    """
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(THRESHOLD, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
