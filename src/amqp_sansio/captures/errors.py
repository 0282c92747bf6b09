"""Errors of captures, locations, folders of tables and runs; each is one line of text.

`told` turns what can end a run (captures, the folder of the tables, memory, disks) into one of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EDQUOT, ENOSPC
from os import strerror
from typing import Final

from amqp_sansio.errors import AmqpError

CHANGED: Final = "the file was changed while it was being analyzed"
"""The error for a file that was replaced or changed after it was read."""


class CaptureError(AmqpError):
    """A capture file that cannot be read, or not to its end.  Every packet before `packet` has been returned.

    `file` is its name; `packet` is the number of the packet at fault, counted from 1 (0: before the first one); `octet` is the
    offset of the fault in the file (0: its start, or all of it); `rule` says what should be there and what is.
    """

    def __init__(self, file: str, packet: int, octet: int, rule: str) -> None:
        where = f"packet {packet}, octet {octet}: " if packet else f"octet {octet}: " if octet else ""
        super().__init__(f"{file}: {where}{rule}", made=(file, packet, octet, rule))
        self.file: Final = file
        self.packet: Final = packet
        self.octet: Final = octet
        self.rule: Final = rule


class LocationError(AmqpError):
    """A path or URI that cannot be opened: `place` is the URI without a password, `rule` the reason."""

    def __init__(self, place: str, rule: str) -> None:
        super().__init__(f"{place}: {rule}", made=(place, rule))
        self.place: Final = place
        self.rule: Final = rule


class PlaceError(AmqpError):
    """A folder of tables that cannot be written, or that another run is writing.  The text is one sentence for a person."""


class PipelineError(AmqpError):
    """The pipeline cannot run, or could not finish; nothing was published.  The text is one sentence for a person."""


class OutOfDisk(PipelineError):
    """A disk is full: that of the tables, or one for temporary files (`$TMPDIR`, `spark.local.dir`).  Nothing was published."""


class OutOfMemory(PipelineError):
    """This process, the JVM or a Python worker had too little memory.  Nothing was published."""


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
    except (OSError, MemoryError) as failure:  # a name of its own, whose type the compiler tells from that above
        raise kind_of(failure)(f"{doing}: {_reason(failure)}") from failure


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
