"""Makes the garbage collector run rarely while rows are made."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

THRESHOLD: Final = 50_000
"""Net allocations before the collector runs: rows wait by the ten thousand and form no cycles."""


@contextmanager
def rarely() -> Iterator[None]:
    """Makes the collector run rarely within the block, for the whole process; then restores it.

    A collector that is disabled, or runs even more rarely, stays as it is.
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
    """Does the same in a Spark worker, a process of our own, and permanently exempts existing objects from collection.

    Spark's workers collect everything after each task, imported modules included.  That and the regular collections were a
    tenth of a worker's time.
    """
    gc.freeze()
    with rarely():
        yield
