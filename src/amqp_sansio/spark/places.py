"""Folders for files that this package makes once for Spark: a launcher, a home."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path


def places() -> Iterator[Path]:
    """Yields such folders, the best first: inside the virtual environment if there is one, in the user's cache, anywhere."""
    if sys.prefix != sys.base_prefix:
        yield Path(sys.prefix) / "share" / "amqp-sansio"
    cache = os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
    yield Path(cache) / "amqp-sansio"
    whose = f"-{os.getuid()}" if hasattr(os, "getuid") else ""  # on Windows the folder is the user's own
    yield Path(tempfile.gettempdir()) / f"amqp-sansio{whose}"
