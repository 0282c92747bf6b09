"""The rows of published files."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs
from tests.captures.finer import TABLES_1, moment

from amqp_sansio.captures.columns.local import run
from amqp_sansio.captures.columns.published import needed, partitions_of, rows_in, shaped, tables_in
from amqp_sansio.captures.columns.tables import table_schema
from amqp_sansio.captures.tables import END_TO_END, TABLES, in_ns, is_time

DATA = Path(__file__).parents[2] / "data" / "captures"

SCHEMA = pa.schema([("capture_date", pa.string()), ("count", pa.int64()), ("name", pa.string())])


def test_folders_say_the_partitions_of_a_table_and_nothing_else() -> None:
    path = "tables/messages/capture_date=2026-11-22/other=1/broker=127.0.0.1%3A5672/part-0.parquet"
    assert partitions_of(path) == {"capture_date": "2026-11-22", "broker": "127.0.0.1:5672"}
    assert partitions_of("capture_date=__HIVE_DEFAULT_PARTITION__/part-0.parquet") == {"capture_date": None}


def test_a_batch_gets_exactly_the_columns_of_the_schema() -> None:
    batch = pa.RecordBatch.from_pydict({"count": pa.array([1, 2], pa.int32()), "more": ["a", "b"]})
    found = shaped(batch, SCHEMA, {"capture_date": "2026-11-22"})
    assert found.schema == SCHEMA
    assert found.to_pylist() == [{"capture_date": "2026-11-22", "count": count, "name": None} for count in (1, 2)]


def test_rows_of_a_file_come_with_what_its_folders_say(tmp_path: Path) -> None:
    folder = tmp_path / "capture_date=2026-11-22"
    folder.mkdir()
    pq.write_table(pa.table({"count": [7], "more": ["x"]}), folder / "part-0.parquet")
    batches = list(rows_in(fs.LocalFileSystem(), str(folder / "part-0.parquet"), SCHEMA))
    assert [row for batch in batches for row in batch.to_pylist()] == [{"capture_date": "2026-11-22", "count": 7, "name": None}]


@pytest.mark.parametrize("name", TABLES)
def test_rows_of_schema_version_1_come_with_the_columns_of_today(name: str) -> None:
    """Times are made of nanoseconds, those beside them stay, and nothing is null that was not."""
    (path,) = (TABLES_1 / name).rglob("*.parquet")
    was = pq.ParquetFile(path).read().to_pylist()
    schema = table_schema(TABLES[name])
    found = [row for batch in rows_in(fs.LocalFileSystem(), str(path), schema) for row in batch.to_pylist()]
    assert [*found[0]] == schema.names
    special = {"ending": "end", "file_offset": "offset", "ended_at": "end_ns"}
    for old, row in zip(was, found, strict=True):
        assert (row["broker"], str(row["capture_date"])) == ("north", "2026-11-21")
        for column, value in row.items():
            if column not in ("broker", "capture_date"):
                before = old[special.get(column, in_ns(column) if is_time(column) else column)]
                assert value == (moment(before) if is_time(column) and before is not None else before), column


def test_only_columns_that_are_needed_are_read() -> None:
    schema = pa.schema([("ts", pa.timestamp("us", "UTC")), ("ts_ns", pa.int64()), ("ending", pa.string()), ("x", pa.int64())])
    assert needed(schema, ["ts_ns", "end", "y"]) == ["ts_ns", "end"]
    assert needed(schema, ["ending", "ts", "ts_ns", "x"]) == ["ts", "ts_ns", "ending", "x"]


def test_the_rows_of_all_tables_that_a_manifest_names(tmp_path: Path) -> None:
    outcome = run([str(DATA / "hello.pcap")], str(tmp_path))
    (tmp_path / "connections" / "other.parquet").write_bytes(b"no part of the tables")
    found: Counter[str] = Counter()
    for table, batch in tables_in(str(tmp_path)):
        found[table] += batch.num_rows
        assert batch.schema == table_schema(TABLES.get(table, END_TO_END))
    assert found == {table: rows for table, rows in outcome.rows.items() if rows}
