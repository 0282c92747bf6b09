"""Latency from publisher to consumer: whoever joins says what the plain rows say."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.captures import rowwise
from tests.captures.packets import Row, by_connection, gathered, packet_rows, replayed
from tests.spark.truth import counted, generated

from amqp_sansio.captures.columns.place import Written
from amqp_sansio.captures.columns.tables import table_schema
from amqp_sansio.captures.columns.writer import write_empty
from amqp_sansio.captures.joins import END_TO_END
from amqp_sansio.captures.tables import TABLES
from amqp_sansio.spark.joined import shares, write_end_to_end
from amqp_sansio.spark.writer import write_records

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def messages(path: Path) -> list[Row]:
    rows = by_connection(packet_rows(str(path)))
    return gathered([record for each in rows.values() for record in replayed(each)])["messages"]


def published(path: Path, rows: list[Row]) -> list[Written]:
    """These messages as the pass writes them."""
    made = pa.RecordBatch.from_pylist(rows, schema=table_schema(TABLES["messages"]))
    return [
        Written(*row.values()) for batch in write_records([("messages", made)], str(path), "x") for row in batch.to_pylist()
    ]


@pytest.mark.parametrize("here", [0, 1 << 30])
def test_the_join_is_that_of_the_plain_rows(spark: SparkSession, tmp_path: Path, here: int) -> None:
    """Whether Spark joins, or the driver alone."""
    rows = messages(generated(tmp_path / "whole.pcap", 100_000, 4))
    files = write_end_to_end(spark, published(tmp_path, rows), str(tmp_path), str(tmp_path), here)
    found = [row for file in files for row in pq.read_table(file.path).to_pylist()]
    assert found
    assert counted(found) == counted(rowwise.end_to_end(rows))
    assert sum(file.rows for file in files) == len(found)


def test_without_messages_there_is_an_empty_file(spark: SparkSession, tmp_path: Path) -> None:
    (file,) = write_end_to_end(spark, [write_empty(str(tmp_path), "messages")], str(tmp_path), str(tmp_path))
    assert (file.table, file.folder, file.rows) == (END_TO_END.name, "", 0)
    assert pq.read_schema(file.path) == table_schema(END_TO_END)
    (other,) = write_end_to_end(spark, [write_empty(str(tmp_path), "messages")], str(tmp_path), str(tmp_path), -1)
    assert pq.read_table(other.path).num_rows == 0


def test_files_are_shared_out_evenly() -> None:
    files = [Written("messages", "", f"{rows}.parquet", rows, 1) for rows in (50, 10, 40, 30, 20, 60)]
    assert shares(files, 3) == [["60.parquet", "10.parquet"], ["50.parquet", "20.parquet"], ["40.parquet", "30.parquet"]]
    assert shares(files[:1], 3) == [["50.parquet"]]
