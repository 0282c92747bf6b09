"""Rewriting of asserts, which every process of a run in several would do for all files by itself: each does its share.

In a fresh checkout that is two thirds of what it costs to collect the tests.  pytest keeps what it has rewritten beside the
sources, and takes it from there whoever put it there.  What is used for it is pytest's own and not public: a pytest that has it
no more rewrites as it always does.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from _pytest.assertion import rewrite


def files_of(arguments: Iterable[str]) -> list[Path]:
    """The files of tests below what pytest was given."""
    found: set[Path] = set()
    for place in (Path(each.partition("::")[0]).resolve() for each in arguments):
        found.update(place.rglob("test_*.py") if place.is_dir() else [place])
    return sorted(found)


def rewrite_share(paths: Iterable[Path], config: pytest.Config) -> None:
    """Does it for files for which nobody has done it."""
    tools: Any = rewrite
    with suppress(AttributeError, TypeError, OSError, SyntaxError):
        for path in paths:
            kept = tools.get_cache_dir(path) / (path.name.removesuffix(".py") + tools.PYC_TAIL)
            if tools._read_pyc(path, kept) is None and tools.try_makedirs(kept.parent):
                known, code = tools._rewrite_test(path, config)
                tools._write_pyc(config.stash[tools.assertstate_key], code, known, kept)
