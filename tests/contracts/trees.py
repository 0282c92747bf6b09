"""The syntax trees of source files, each parsed once in a process."""

from __future__ import annotations

import ast
import functools
import gc
from pathlib import Path


@functools.cache
def tree(path: Path) -> ast.Module:
    made = ast.parse(path.read_text(encoding="utf-8"))
    gc.freeze()  # it stays, and is larger than everything else: no collection of garbage need walk it
    return made
