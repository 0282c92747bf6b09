"""The views in a session of Spark: the rows that pandas gives."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.captures.finer import TABLES_1
from tests.docs.questions import asked, told

from amqp_sansio.captures.columns.views import frame
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.tables import END_TO_END, TABLES
from amqp_sansio.captures.views import VIEWS
from amqp_sansio.spark.analyze import run
from amqp_sansio.spark.errors import PipelineError
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


def test_no_column_is_called_by_a_reserved_word_of_spark(spark: SparkSession) -> None:
    """Whoever asks need not quote, even where Spark holds to the standard: tables, what is joined, what is inside a column."""
    standard = ("spark.sql.ansi.enabled", "spark.sql.ansi.enforceReservedKeywords")
    before = [spark.conf.get(name) for name in standard]
    for name in standard:
        spark.conf.set(name, "true")
    try:
        reserved = {row[0].lower() for row in spark.sql("SELECT keyword FROM sql_keywords() WHERE reserved").collect()}
    finally:
        for name, value in zip(standard, before, strict=True):
            spark.conf.set(name, str(value))
    assert {"end", "offset", "left"} <= reserved
    named = {name for table in (*TABLES.values(), END_TO_END) for name in (table.name, *table.names)}
    views = {name for view in VIEWS for name in (view, *frame(str(TABLES_1), view).columns)}
    assert not (named | views | {"first", "last"}) & reserved


def test_tables_of_schema_version_1_are_read_with_the_columns_of_today(spark: SparkSession) -> None:
    create_views(spark, str(TABLES_1))
    for name in VIEWS:
        found = spark.sql(f"SELECT * FROM {name}")
        assert plain([list(row) for row in found.collect()]) == plain(frame(str(TABLES_1), name).values.tolist()), name
    joined = spark.table("end_to_end")
    assert joined.schema["delivered_at"].dataType.simpleString() == "timestamp"
    assert joined.where("delivered_ns - published_ns = latency_ns and delivered_at > timestamp'2026-11-01'").count() == 32


def test_tables_of_another_schema_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "_MANIFEST.json").write_text('{"schema": 3, "tables": {}}')
    with pytest.raises(PipelineError, match="tables of schema 3, and this version knows 1 and 2"):
        create_views(spark, str(tmp_path))


def test_spark_answers_the_questions_of_the_manual_as_pandas_does(spark: SparkSession) -> None:
    """Every question of the page, over the recordings that the page reads: both give its rows, and there are some."""
    with asked() as page:
        create_views(spark, page.folder)
        assert len(page.questions) == 5
        for each in page.questions:
            found = spark.sql(each.sql)
            assert found.columns == list(each.answer.columns), each.sql
            assert told(map(tuple, found.collect())) == each.rows != [], each.sql


def test_the_views_of_spark_are_those_of_pandas(spark: SparkSession, tmp_path: Path) -> None:
    paths = [str(DATA / name) for name in ("dtx.pcap", "tx.pcap", "credit.pcap", "jms/xa.pcap")]
    run(spark, paths, str(tmp_path / "tables"), ReplayOptions())
    assert set(create_views(spark, str(tmp_path / "tables"))) >= {"messages", "end_to_end", *VIEWS}
    for name in VIEWS:
        expected = frame(str(tmp_path / "tables"), name)
        found = spark.sql(f"SELECT * FROM {name}")
        assert found.columns == list(expected.columns)
        assert plain([list(row) for row in found.collect()]) == plain(expected.values.tolist()), name
