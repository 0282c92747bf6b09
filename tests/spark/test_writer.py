"""What a task writes is on the list that it answers with."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
from tests.spark.rows import violations

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
