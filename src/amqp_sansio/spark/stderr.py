"""What a person sees on stderr while Spark works: how much is done, and nothing of what the JVM and workers write there.

They inherit our stderr and write there regardless of the log level: a warning about a module, lines of workers that start and
end.  Within `quiet`, stderr goes through a pipe that drops such lines.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from amqp_sansio.spark.session import end, is_connect, open_session

if TYPE_CHECKING:
    from pyspark import StatusTracker
    from pyspark.sql import SparkSession


LOOK_SECONDS: Final = 0.5
"""Seconds between two counts of tasks."""
NOISE: Final = re.compile(
    rb"WARNING: Using incubator modules|Setting default log level|To adjust logging level|Setting Spark log level"
    rb"|Streaming TransformWithState|Starting Streaming|WARNING: sun\\.|WARNING: A terminally deprecated"
    rb"|WARNING: Please consider|Picked up |Using Spark's default log4j"
    rb'|^Exception in thread "stream execution thread'  # the query reports what has failed in it
)
_GOES_ON: Final = re.compile(rb"\s*$|\s+at |\s+\.\.\. \d+ (?:more|common frames)|(?:Caused by|\s+Suppressed): ")
"""Empty lines, and the lines of a trace."""


@contextmanager
def quiet() -> Iterator[None]:
    """Drops such lines from stderr, of this process and of those it starts, within the block."""
    log, unheard = logging.getLogger(), logging.NullHandler()
    log.addHandler(unheard)  # else py4j sets up logging to stderr for the trace of a JVM that was killed
    sys.stderr.flush()
    kept = os.dup(2)
    reading, writing = os.pipe()
    os.dup2(writing, 2)
    os.close(writing)
    filtering = threading.Thread(target=_filter, args=(reading, kept), daemon=True)
    filtering.start()
    try:
        yield
    finally:
        log.removeHandler(unheard)
        sys.stderr.flush()
        os.dup2(kept, 2)
        # A JVM that outlives the block keeps its end of the pipe open, and with it the thread.
        filtering.join(timeout=0.5)


def _filter(reading: int, target: int) -> None:
    """Copies what it reads, without whole lines that are noise, and those after them that belong to them."""
    rest = b""
    noisy = False
    while chunk := os.read(reading, 65536):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if NOISE.search(line) or (noisy and _GOES_ON.match(line)):
                noisy = True
                continue
            noisy = False
            os.write(target, line + b"\n")
        if rest.startswith(b"\r"):  # a progress line, which does not end in a newline
            os.write(target, rest)
            rest = b""
    if rest and not NOISE.search(rest):
        os.write(target, rest)


@contextmanager
def counted(tell: Callable[[int, int], None], spark: SparkSession) -> Iterator[None]:
    """Within the block, calls `tell` now and then, in a thread, with how many tasks of the running jobs are done, of how many.

    Both are 0 where that is unknown: with Spark Connect.
    """
    tracker = None if is_connect(spark) else spark.sparkContext.statusTracker()
    over = threading.Event()

    def count() -> None:
        while not over.wait(LOOK_SECONDS):
            try:
                tell(*(0, 0) if tracker is None else tasks_in(tracker))
            except Exception:  # the session is ending: not worth a report
                return

    thread = threading.Thread(target=count, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def tasks_in(tracker: StatusTracker) -> tuple[int, int]:
    """Counts the tasks of the stages of all running jobs: those done, and all."""
    done = known = 0
    for job in tracker.getActiveJobsIds():
        about = tracker.getJobInfo(job)
        for stage in about.stageIds if about else ():
            info = tracker.getStageInfo(stage)
            if info:
                done += info.numCompletedTasks
                known += info.numTasks
    return done, known


@contextmanager
def quiet_session(master: str, settings: Mapping[str, str], tell: Callable[[int, int], None]) -> Iterator[SparkSession]:
    """Opens a session for the block; `tell` is called with its tasks, see `counted`."""
    with quiet():
        spark = open_session(master, settings=settings)
        try:
            with counted(tell, spark):
                yield spark
        finally:
            end(spark)
