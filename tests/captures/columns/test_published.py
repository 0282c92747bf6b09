"""The rows of published files."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from amqp_sansio.captures.columns.published import partitions_of, rows_in, shaped

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
