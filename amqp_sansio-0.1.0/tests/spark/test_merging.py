"""Files that tasks have written become fewer before they are published; the rows are the same."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.spark.truth import OPTIONS, differing, generated, published, truth

from amqp_sansio.spark.analyze import run
from amqp_sansio.spark.merging import merged_in_tasks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_many_tasks_leave_one_file_for_each_day_and_broker(spark: SparkSession, tmp_path: Path) -> None:
    path = generated(tmp_path / "x.pcap")
    outcome = run(spark, [str(path)], str(tmp_path / "out"), OPTIONS, tasks=6)
    assert differing(truth([path]), published(tmp_path / "out")) == {}
    folders = {file.parent for file in (tmp_path / "out").rglob("*.parquet")}
    assert outcome.files < len(folders) + 4 * len(OPTIONS.tables)
    assert max(sum(1 for _ in folder.glob("*.parquet")) for folder in folders) < 4
    assert not list((tmp_path / "out").glob(".work*"))


def test_nothing_to_merge_costs_no_job(monkeypatch: pytest.MonkeyPatch) -> None:
    assert merged_in_tasks(None, [], "") == []  # type: ignore[arg-type]
