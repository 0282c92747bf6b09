"""A long job tells how far it is.  What the JVM and workers write to nobody is dropped, everything else goes through."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from amqp_sansio.spark import stderr
from amqp_sansio.spark.stderr import counted, tasks_in

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Counted:
    """Notes what it is told, and that it was told twice."""

    def __init__(self) -> None:
        self.told: list[tuple[int, int]] = []
        self.twice = threading.Event()

    def __call__(self, done: int, known: int) -> None:
        self.told.append((done, known))
        if len(self.told) > 1:
            self.twice.set()


def test_a_long_job_tells_its_tasks(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stderr, "LOOK_SECONDS", 0.001)
    monkeypatch.setattr(stderr, "tasks_in", lambda tracker: (3, 8))
    tell = Counted()
    with counted(tell, spark):
        assert tell.twice.wait(10)
    assert set(tell.told) == {(3, 8)}


def test_a_count_that_fails_ends_the_counting_and_not_the_job(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stderr, "LOOK_SECONDS", 0.001)

    def fail(done: int, known: int) -> None:
        tell(done, known)
        raise OSError

    tell = Counted()
    with counted(fail, spark):
        assert not tell.twice.wait(0.1)
    assert tell.told == [(0, 0)]


def test_the_session_tells_its_tasks(spark: SparkSession) -> None:
    assert tasks_in(spark.sparkContext.statusTracker()) == (0, 0)


SCRIPT = """
import logging, os, subprocess, sys
from amqp_sansio.spark.stderr import quiet
print("before", file=sys.stderr)
with quiet():
    print("ours", file=sys.stderr)
    subprocess.run(["sh", "-c", "echo 'WARNING: Using incubator modules: x' >&2; echo >&2; echo 'theirs' >&2; echo >&2"])
    os.write(2, b"Streaming TransformWithStateInPandas Python worker Completed\\n\\n")
    os.write(2, b'Exception in thread "stream execution thread for x" y: z\\n\\tat a.b(C.scala:1)\\n')
    os.write(2, b"Caused by: d\\n\\t... 9 more\\n")
    logging.error("of py4j")
    os.write(2, b"more\\n\\tat theirs\\n")
    os.write(2, b"\\rhalf a line")
print("\\nafter", file=sys.stderr)
"""


def test_noise_is_left_out_and_the_rest_is_kept() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == b"before\nours\ntheirs\n\nmore\n\tat theirs\n\rhalf a line\nafter\n"
