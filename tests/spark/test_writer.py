"""What a task writes is on the list that it answers with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.captures import rowwise
from tests.captures.packets import Row, by_connection, gathered, packet_rows, replayed
from tests.spark.rows import violations
from tests.spark.truth import OPTIONS, counted, differing, generated, published, truth

from amqp_sansio.captures.columns.late import LATE, LATE_SCHEMA
from amqp_sansio.captures.columns.place import Written
from amqp_sansio.captures.columns.tables import table_schema
from amqp_sansio.captures.columns.writer import write_empty
from amqp_sansio.captures.tables import END_TO_END, TABLES
from amqp_sansio.spark.analyze import run
from amqp_sansio.spark.envelope import as_batch, seal
from amqp_sansio.spark.writer import merged_in_tasks, shares, write_end_to_end, write_envelopes, write_records

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_task_answers_with_the_list_of_its_files(tmp_path: Path) -> None:
    frame = as_batch([seal("violations", violations(2)), seal("violations", violations(3))])
    (answer,) = write_envelopes(iter([frame, frame]), str(tmp_path), "part")
    (row,) = answer.to_pylist()
    assert (row["table"], row["rows"]) == ("violations", 10)
    assert pq.read_metadata(row["path"]).num_rows == 10


def test_a_task_without_records_writes_nothing(tmp_path: Path) -> None:
    (answer,) = write_envelopes(iter([]), str(tmp_path), "part")
    assert answer.num_rows == 0
    assert list(tmp_path.iterdir()) == []


def test_the_record_of_late_files_is_in_a_file_of_its_own(tmp_path: Path) -> None:
    row = {"capture": "a", "packets": 2, "octets": 3, "first_ns": 4, "last_ns": 5}
    late = seal(LATE, pa.RecordBatch.from_pylist([row], LATE_SCHEMA))
    (answer,) = write_envelopes(iter([as_batch([late, seal("violations", violations(2)), late])]), str(tmp_path), "part")
    found = {row["table"]: row for row in answer.to_pylist()}
    assert {name: row["rows"] for name, row in found.items()} == {"violations": 2, LATE: 2}
    assert pq.read_table(found[LATE]["path"]).to_pylist() == [row, row]


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


def messages(path: Path) -> list[Row]:
    rows = by_connection(packet_rows(str(path)))
    return gathered([record for each in rows.values() for record in replayed(each)])["messages"]


def as_files(path: Path, rows: list[Row]) -> list[Written]:
    """These messages as the pass writes them."""
    made = pa.RecordBatch.from_pylist(rows, schema=table_schema(TABLES["messages"]))
    return [
        Written(*row.values()) for batch in write_records([("messages", made)], str(path), "x") for row in batch.to_pylist()
    ]


@pytest.mark.parametrize("here", [0, 1 << 30])
def test_the_join_is_that_of_the_plain_rows(spark: SparkSession, tmp_path: Path, here: int) -> None:
    """Whether Spark joins, or the driver alone."""
    rows = messages(generated(tmp_path / "whole.pcap", 100_000, 4))
    files = write_end_to_end(spark, as_files(tmp_path, rows), str(tmp_path), str(tmp_path), here)
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
