"""Shows the progress of a long job on stderr: an updated line on a terminal, an occasional line elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Final, TextIO

from amqp_sansio.spark.session import is_connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ON_A_TERMINAL: Final = 0.5
ELSEWHERE: Final = 15.0
"""Seconds between two reports."""


class Progress:
    """Reports, within its block, every few seconds how many tasks are done.

    `say`, which may be changed, names the work.  `count` returns (tasks done, tasks known); by default those of the session's
    jobs.
    """

    def __init__(
        self, spark: SparkSession, say: str, stream: TextIO | None = None, count: Callable[[], tuple[int, int]] | None = None
    ) -> None:
        self.say = say
        self._stream: Final = stream or sys.stderr
        self._terminal: Final = self._stream.isatty()
        self._count: Final = count or ((lambda: (0, 0)) if is_connect(spark) else _Jobs(spark))
        self._over: Final = threading.Event()
        self._thread: Final = threading.Thread(target=self._run, daemon=True)
        self._began = time.monotonic()

    def line(self) -> str:
        """Returns the present text."""
        done, known = self._count()
        passed = int(time.monotonic() - self._began)
        tasks = f"{done} of {known} tasks, " if known else ""
        return f"{self.say}: {tasks}{passed // 60}:{passed % 60:02}"

    def _run(self) -> None:
        while not self._over.wait(ON_A_TERMINAL if self._terminal else ELSEWHERE):
            try:
                self._tell(self.line())
            except Exception:  # the session is ending: not worth a report
                return

    def _tell(self, line: str) -> None:
        self._stream.write(f"\r\033[K{line}" if self._terminal else f"{line}\n")
        self._stream.flush()

    def __enter__(self) -> Progress:
        self._began = time.monotonic()
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._over.set()
        self._thread.join()
        if self._terminal:
            self._stream.write("\r\033[K")
            self._stream.flush()


class _Jobs:
    """Counts the tasks of the stages of all running jobs."""

    def __init__(self, spark: SparkSession) -> None:
        self._tracker: Final = spark.sparkContext.statusTracker()

    def __call__(self) -> tuple[int, int]:
        done = known = 0
        for job in self._tracker.getActiveJobsIds():
            about = self._tracker.getJobInfo(job)
            for stage in about.stageIds if about else ():
                info = self._tracker.getStageInfo(stage)
                if info:
                    done += info.numCompletedTasks
                    known += info.numTasks
        return done, known
