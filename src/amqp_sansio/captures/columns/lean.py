"""Imports Arrow without pandas: pyarrow imports pandas with its first array, which is not needed here."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Final

import pyarrow as pa

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
