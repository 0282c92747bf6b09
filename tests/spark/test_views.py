"""The views in a session of Spark: the rows that pandas gives."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from amqp_sansio.captures.columns.views import frame
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.views import VIEWS
from amqp_sansio.spark.analyze import run
from amqp_sansio.spark.views import create_views

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DATA = Path(__file__).parents[1] / "data" / "captures"


def text(value: object) -> str:
    """A value of either kind of frame: pandas has no integers beside nulls, Spark gives times in the zone of this machine."""
    if isinstance(value, datetime) and value == value:
        return value.astimezone(UTC).isoformat()
    return "" if value is None or value != value else str(value).removesuffix(".0")


def plain(rows: list[list[object]]) -> list[list[str]]:
    return sorted([[text(each) for each in row] for row in rows])


def test_the_views_of_spark_are_those_of_pandas(spark: SparkSession, tmp_path: Path) -> None:
    paths = [str(DATA / name) for name in ("dtx.pcap", "tx.pcap", "credit.pcap", "jms/xa.pcap")]
    run(spark, paths, str(tmp_path / "tables"), ReplayOptions())
    assert set(create_views(spark, str(tmp_path / "tables"))) >= {"messages", "end_to_end", *VIEWS}
    for name in VIEWS:
        expected = frame(str(tmp_path / "tables"), name)
        found = spark.sql(f"SELECT * FROM {name}")
        assert found.columns == list(expected.columns)
        assert plain([list(row) for row in found.collect()]) == plain(expected.values.tolist()), name
