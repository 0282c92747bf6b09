"""Turns what can end a run (captures, the folder of the tables, memory, disks) into one of our errors with one sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EDQUOT, ENOSPC
from os import strerror
from typing import Final

from amqp_sansio.captures.errors import CaptureError, LocationError, OutOfDisk, OutOfMemory, PipelineError, PlaceError

_MEMORY: Final = re.compile(
    r"OutOfMemoryError|SparkOutOfMemory|UNABLE_TO_ACQUIRE_MEMORY|ArrowMemoryError|\bMemoryError\b|realloc of size \d+ failed"
)
_DISK: Final = re.compile(r"No space left on device|Disk quota exceeded")


def kind_of(error: BaseException) -> type[PipelineError]:
    """Returns the error class for a failure: memory exhausted, disk full, or another."""
    text = str(error)
    if isinstance(error, MemoryError) or _MEMORY.search(text):
        return OutOfMemory
    if (isinstance(error, OSError) and error.errno in (ENOSPC, EDQUOT)) or _DISK.search(text):
        return OutOfDisk
    return PipelineError


@contextmanager
def told(doing: str) -> Iterator[None]:
    """Turns a failure inside the block into a PipelineError: `doing`, and the reason, in one sentence."""
    try:
        yield
    except (CaptureError, LocationError, PlaceError) as error:
        raise kind_of(error)(str(error)) from error
    except (OSError, MemoryError) as error:
        raise kind_of(error)(f"{doing}: {_reason(error)}") from error


def _reason(error: OSError | MemoryError) -> str:
    text = next(iter(str(error).splitlines()), "")
    if isinstance(error, OSError) and error.errno:
        plain, whole = strerror(error.errno), error.strerror or ""
        if error.filename:
            return f"{plain}: {error.filename}"
        return whole if plain in whole else plain  # Arrow's own errors have a whole sentence there
    if isinstance(error, MemoryError):
        return f"out of memory ({text})" if text else "out of memory"
    return text or "no reason given"
