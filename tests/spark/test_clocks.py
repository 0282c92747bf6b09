"""Captures of clocks that are wrong, through Spark in batch and as a stream: the rows of the plain replay."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.captures.clocks import CLOCKS, clocked, dealt
from tests.spark.truth import OPTIONS, Rows, differing, generated, published, truth

from amqp_sansio.spark.analyze import run
from amqp_sansio.spark.watch import Watch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CUT = {"split": "40000", "closed": "all"}
"""The file in several splits: the clock steps back in another split than the one that it comes back to."""


def some(*names: str) -> list[object]:
    """All clocks; others than these only in `make soak`: Spark takes its seconds.  test_follower and test_runner have all."""
    return [each if each in names else pytest.param(each, marks=pytest.mark.soak) for each in CLOCKS]


@pytest.fixture(scope="module")
def wrong(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Rows]:
    """A capture of such a clock, and its rows."""
    folder = tmp_path_factory.mktemp("clock")
    path = clocked(generated(folder / "good.pcap"), folder / "wrong.pcap", CLOCKS[request.param])
    (folder / "in").mkdir()
    moved = Path(path).rename(folder / "in" / "wrong.pcap")
    return moved, truth([moved])


def without_latency(rows: Rows) -> int:
    """Deliveries that by their times ended before their publication began."""
    return sum([number for row, number in rows["end_to_end"].items() if '"latency_ns": null' in row])


@pytest.mark.parametrize("resync", ["false", pytest.param("true", marks=pytest.mark.soak)])
@pytest.mark.parametrize("wrong", some("a step of 5 s back", "jitter of 0.3 ms"), indirect=True)
def test_in_batch(spark: SparkSession, wrong: tuple[Path, Rows], tmp_path: Path, resync: str) -> None:
    path, rows = wrong
    outcome = run(spark, [str(path)], str(tmp_path), OPTIONS, tasks=2, options={"split": "40000", "resync": resync})
    assert differing(rows, published(tmp_path)) == {}
    assert outcome.early == without_latency(rows)


@pytest.mark.parametrize("wrong", some(), indirect=True)
def test_as_a_stream(spark: SparkSession, wrong: tuple[Path, Rows], tmp_path: Path) -> None:
    path, rows = wrong
    watch = Watch(spark, str(path.parent), str(tmp_path / "out"), str(tmp_path / "checkpoint"), OPTIONS, options=CUT)
    assert watch.run(once=True).early == without_latency(rows)
    assert differing(rows, published(tmp_path / "out")) == {}


def test_files_that_overlap_are_merged_by_the_latest_time_in_each(spark: SparkSession, tmp_path: Path) -> None:
    """The clock of the first one jumps forward, for packets of some connections only, and back in another split."""
    (tmp_path / "in").mkdir()
    good = generated(tmp_path / "good.pcap")
    first, second = [Path(each) for each in dealt(good, tmp_path / "in", 2)]
    clocked(first, first, lambda number, time: time + 30_000_000 * (100 < number < 104))
    rows = truth([first, second])
    run(spark, [str(first), str(second)], str(tmp_path / "batch"), OPTIONS, tasks=2, options={"split": "40000"})
    assert differing(rows, published(tmp_path / "batch")) == {}
    watch = Watch(spark, str(tmp_path / "in"), str(tmp_path / "out"), str(tmp_path / "checkpoint"), OPTIONS, options=CUT)
    watch.run(once=True)
    assert differing(rows, published(tmp_path / "out")) == {}
