"""The collector of reference cycles while rows are made: it looks at what the work makes, and seldom."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

THRESHOLD: Final = 50_000
"""Objects made and not let go before the collector looks at them: rows wait by the ten thousand and are in no cycle."""


@contextmanager
def rarely() -> Iterator[None]:
    """While it is entered the collector runs seldom, as everything else in this process finds, too; then as before.

    A collector that is switched off, or runs more seldom yet, is left alone.
    """
    before = gc.get_threshold()
    if 0 < before[0] < THRESHOLD:
        gc.set_threshold(THRESHOLD, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


@contextmanager
def seldom() -> Iterator[None]:
    """The same in a worker of Spark's, a process of our own: what is there already the collector leaves alone for good.

    Spark's workers collect everything after each task, imported modules too.  That and the collector's own rounds were a tenth
    of what a worker did.
    """
    gc.freeze()
    with rarely():
        yield
