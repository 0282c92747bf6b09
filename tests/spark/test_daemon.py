"""Workers are forked with their imports done."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from socket import socket, socketpair
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyspark.daemon import worker as pyspark_worker

from amqp_sansio.spark import daemon
from amqp_sansio.spark.daemon import IMPORTED
from amqp_sansio.spark.session import OF_A_WORKER
from bench.pipeline.usage import Peak

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parents[2]


def test_workers_find_all_imported(spark: SparkSession) -> None:
    names = IMPORTED

    def answer(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import sys

        for _ in batches:
            yield pa.RecordBatch.from_pydict({"missing": [" ".join(set(names) - sys.modules.keys())]})

    assert spark.range(1).mapInArrow(answer, "missing string").collect()[0][0] == ""


def test_the_bench_sees_the_memory_of_workers(spark: SparkSession) -> None:
    def pass_on(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches

    with Peak() as peak:
        for _ in range(20):  # a look may fall between two workers
            if peak.octets:
                break
            spark.range(1).mapInArrow(pass_on, "id long").collect()
    assert peak.octets > 1_000_000


def test_a_worker_whose_job_has_failed_ends_in_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(sock: socket, authenticated: bool) -> int:
        raise ConnectionResetError

    one, other = socketpair()

    assert daemon._worker is pyspark_worker
    monkeypatch.setattr(daemon, "_worker", fails)
    with one, other:
        assert daemon.worker(one, True) == 1
        monkeypatch.setattr(daemon, "_worker", lambda sock, authenticated: 0)
        assert daemon.worker(one, True) == 0


def test_the_imports_start_no_thread_that_a_fork_could_lose() -> None:
    """But for that of jemalloc in pyarrow, which looks after forks itself."""
    program = (
        "import os; from amqp_sansio.spark.daemon import prepare; prepare();"
        "print({open(f'/proc/self/task/{each}/comm').read().strip() for each in os.listdir('/proc/self/task')"
        " if int(each) != os.getpid()} - {'jemalloc_bg_thd'})"
    )
    environment = {**os.environ, **OF_A_WORKER, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
