"""Errors that stop the pipeline, or a live source or sink, each with a text of one sentence; and Spark's own, so reduced."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from subprocess import TimeoutExpired
from typing import Final

from amqp_sansio.captures import errors
from amqp_sansio.captures.errors import CHANGED, OutOfDisk, OutOfMemory, PipelineError
from amqp_sansio.captures.splits import INDEX
from amqp_sansio.errors import BranchFailed, SessionFailed

__all__ = ["MissingExtra", "MissingJava", "OutOfDisk", "OutOfMemory", "PipelineError"]


class MissingJava(PipelineError):
    """There is no Java 17 or later on this machine, and the extra has installed none."""


class MissingExtra(PipelineError):
    """Libraries of an extra are not installed."""


_RAISED: Final = re.compile(r"^(?:[A-Za-z_][\w.]*\.)?([A-Z]\w*(?:Error|Exception|Damage|Interrupt)): (.+)$", re.MULTILINE)
_OURS: Final = ("CaptureError", "LocationError", "PlaceError", "PipelineError", "LiveError", "LiveSetupError", "LiveLossError")
_LOST: Final = re.compile(
    r"ExecutorLostFailure|Python worker exited unexpectedly|executor (?:lost|exited|disconnected)", re.IGNORECASE
)
_CALLED: Final = re.compile(r"^An error occurred while calling .*\n: (?:[\w.$]+: )?(.+)$", re.MULTILINE)
_REMOTE: Final = re.compile(r'^\s*details = "(.+)"$', re.MULTILINE)
_STOPPED: Final = "Cannot call methods on a stopped SparkContext"
_TIMES: Final = re.compile(r"failed (\d+) times")
_KILLED: Final = "the JVM was killed: out of memory?"
_ENDING_SECONDS: Final = 2.0


def remedied(error: BaseException, options: Mapping[str, str] | None) -> dict[str, str] | None:
    """Returns options of the data source with which the failed work will succeed; None when the options were not the cause.

    They are an exact index where resynchronisation was misled at a split, and payloads in the row where a file with payloads
    was changed, unless the options say where payloads are to be.
    """
    given = dict(options or {})
    if INDEX in str(error):
        return {**given, "resync": "false"}
    if CHANGED in str(error) and "octets" not in given:
        return {**given, "octets": "row"}
    return None


def reason_of(error: BaseException) -> str:
    """Returns the reason for a failed job: that of our code in a worker if there is one, else the first line."""
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
    """Does as `captures.errors.told`, and also turns Spark's errors into PipelineError."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    try:
        with errors.told(doing):
            try:
                yield
            except (ConnectionError, Py4JError) as error:
                if _jvm_is_gone():
                    raise PipelineError(f"{doing}: {_KILLED}") from error
                raise
    except (PySparkException, Py4JError) as error:
        raise errors.kind_of(error)(f"{doing}: {reason_of(error)}") from error


def _jvm_is_gone() -> bool:
    """Whether the JVM that this process has started has ended: its sockets do a moment earlier."""
    from pyspark import SparkContext

    process = getattr(SparkContext._gateway, "proc", None)
    with suppress(TimeoutExpired):
        return process is not None and process.wait(_ENDING_SECONDS) is not None
    return False


LASTING: Final = frozenset([403, 404, 530, 531, 540, 541, 542])
"""Codes of refusals that would be repeated: no permission, not found, not implemented, invalid argument."""


class LiveError(PipelineError):
    """The broker or the disk fails at the moment; nothing is lost, and trying again may help."""


class LiveSetupError(LiveError, ValueError):
    """The request is impossible: a wrong option, a missing queue, no distributed transactions.  Trying again does not help."""


class LiveLossError(LiveError):
    """The broker heuristically undid what it had promised to keep: a person must look."""


def refused(where: str, error: SessionFailed | BranchFailed, hint: str = "") -> LiveError:
    """Returns the error for a refusal of the broker."""
    lasting = isinstance(error, SessionFailed) and error.code in LASTING
    return (LiveSetupError if lasting else LiveError)(f"{where}: {error}{hint}")
