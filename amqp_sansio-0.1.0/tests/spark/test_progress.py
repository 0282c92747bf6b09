"""How far a long job is: a line now and then, one that changes on a terminal."""

from __future__ import annotations

import io
import threading
from typing import Any

import pytest

from amqp_sansio.spark import progress
from amqp_sansio.spark.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Counted:
    """Counts tasks, and tells when it was asked twice."""

    def __init__(self) -> None:
        self.asked = 0
        self.twice = threading.Event()

    def __call__(self) -> tuple[int, int]:
        self.asked += 1
        if self.asked > 2:
            self.twice.set()
        return 3, 8


@pytest.mark.parametrize(
    ("stream", "words"), [(Terminal(), "\r\033[Kwork: 3 of 8 tasks, 0:00"), (io.StringIO(), "work: 3 of 8 tasks, 0:00\n")]
)
def test_a_long_job_shows_progress(stream: io.StringIO, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "ON_A_TERMINAL", 0.001)
    monkeypatch.setattr(progress, "ELSEWHERE", 0.001)
    count = Counted()
    spark: Any = None
    with Progress(spark, "work", stream, count):
        assert count.twice.wait(10)
    said = stream.getvalue()
    assert said.startswith(words)
    assert said.endswith("\r\033[K" if stream.isatty() else "\n")


def test_without_tasks_only_the_time_is_shown() -> None:
    spark: Any = None
    assert Progress(spark, "work", io.StringIO(), lambda: (0, 0)).line() == "work: 0:00"


def test_the_session_tells_its_tasks(spark: Any) -> None:
    assert Progress(spark, "work", io.StringIO()).line() == "work: 0:00"
