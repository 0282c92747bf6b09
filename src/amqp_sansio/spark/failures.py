"""What Spark says when something fails, in one sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from errno import EDQUOT, ENOSPC
from typing import Final

from amqp_sansio.captures.errors import CHANGED, CaptureError, LocationError, PlaceError
from amqp_sansio.captures.splits import INDEX
from amqp_sansio.spark.errors import OutOfDisk, OutOfMemory, PipelineError

_RAISED: Final = re.compile(r"^(?:[A-Za-z_][\w.]*\.)?([A-Z]\w*(?:Error|Exception|Damage|Interrupt)): (.+)$", re.MULTILINE)
_OURS: Final = ("CaptureError", "LocationError", "PlaceError", "PipelineError", "LiveError", "LiveSetupError", "LiveLossError")
_LOST: Final = re.compile(
    r"ExecutorLostFailure|Python worker exited unexpectedly|executor (?:lost|exited|disconnected)", re.IGNORECASE
)
_CALLED: Final = re.compile(r"^An error occurred while calling .*\n: (?:[\w.$]+: )?(.+)$", re.MULTILINE)
_REMOTE: Final = re.compile(r'^\s*details = "(.+)"$', re.MULTILINE)
_STOPPED: Final = "Cannot call methods on a stopped SparkContext"
_MEMORY: Final = re.compile(
    r"OutOfMemoryError|SparkOutOfMemory|UNABLE_TO_ACQUIRE_MEMORY|ArrowMemoryError|\bMemoryError\b|realloc of size \d+ failed"
)
_DISK: Final = re.compile(r"No space left on device|Disk quota exceeded")
_TIMES: Final = re.compile(r"failed (\d+) times")


def remedied(error: BaseException, options: Mapping[str, str] | None) -> dict[str, str] | None:
    """The options of the data source with which the work will do that failed with these; None when they were not the reason.

    An exact index where resynchronisation was misled at a split.  Payloads in the row where a file was changed that they were
    left in, unless the options say where they are to be.
    """
    given = dict(options or {})
    if INDEX in str(error):
        return {**given, "resync": "false"}
    if CHANGED in str(error) and "octets" not in given:
        return {**given, "octets": "row"}
    return None


def kind_of(error: BaseException) -> type[PipelineError]:
    """The class of a failure: whether memory or a disk ran out, or neither."""
    text = str(error)
    if isinstance(error, MemoryError) or _MEMORY.search(text):
        return OutOfMemory
    if (isinstance(error, OSError) and error.errno in (ENOSPC, EDQUOT)) or _DISK.search(text):
        return OutOfDisk
    return PipelineError


def reason_of(error: BaseException) -> str:
    """The reason in what Spark says of a failed job: that of our code in a worker if it is in there, else the first line."""
    text = str(error)
    raised = [(kind, said.strip()) for kind, said in _RAISED.findall(text) if kind not in ("PythonException", "SparkException")]
    for kind, said in raised:
        if kind in _OURS:
            return str(said)
    if _LOST.search(text):
        times = _TIMES.search(text)
        return f"an executor or its Python worker was killed{f', {times.group(1)} times' if times else ''}: out of memory?"
    if raised:
        kind, said = raised[-1]
        return f"{kind}: {said}"
    if remote := _REMOTE.search(text):
        return str(remote.group(1))
    if called := _CALLED.search(text):
        said = str(called.group(1)).strip()
        return "Spark gave up: no master answers there, or it wants no session" if _STOPPED in said else said
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


@contextmanager
def told(doing: str) -> Iterator[None]:
    """Whatever Spark raises inside becomes a PipelineError: `doing`, and the reason, in one sentence."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    try:
        yield
    except (CaptureError, LocationError, PlaceError) as error:
        raise kind_of(error)(str(error)) from error
    except (PySparkException, Py4JError, OSError, MemoryError) as error:
        raise kind_of(error)(f"{doing}: {reason_of(error)}") from error
