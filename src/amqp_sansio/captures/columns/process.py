"""Tunes this process: how often its garbage collector runs, and what Arrow imports."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Final

import pyarrow as pa

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


_PANDAS: Final = "pandas"


class _Absent:
    """An import finder that reports pandas as not installed."""

    @staticmethod
    def find_spec(fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if fullname == _PANDAS:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
        return None


def without_pandas() -> None:
    """Makes pyarrow believe that pandas is not installed, unless it is imported already; saves a quarter of a small run.

    `to_pandas` and `from_pandas` check again, and work.
    """
    if _PANDAS in sys.modules:
        return
    sys.meta_path.insert(0, _Absent)
    try:
        pa.array([0])
    finally:
        sys.meta_path.remove(_Absent)
