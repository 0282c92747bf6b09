"""What a task writes is on the list that it answers with."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from tests.spark.rows import violations

from amqp_sansio.captures.columns.late import LATE, LATE_SCHEMA
from amqp_sansio.spark.envelope import as_batch, seal
from amqp_sansio.spark.writer import write_envelopes


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
