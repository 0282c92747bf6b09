"""Which task replays a connection, and whether a file still grows."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from amqp_sansio.captures.errors import CaptureError
from amqp_sansio.spark.sources import TASK, Newest, with_task


def test_the_newest_file_grows_or_not(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="cannot be read"):
        Newest(str(tmp_path / "nothing"))
    newest = Newest(str(tmp_path))
    assert newest.growing() is None
    (tmp_path / "a.pcap").write_bytes(b"1")
    assert newest.growing() == "a.pcap"
    newest = Newest(str(tmp_path))
    assert newest.growing() is None
    with open(tmp_path / "a.pcap", "ab") as stream:
        stream.write(b"2")
    assert newest.growing() == "a.pcap"


def test_a_connection_goes_to_the_task_that_was_chosen_or_to_that_of_its_number() -> None:
    bundles = pa.RecordBatch.from_pydict({"connection": [5, -7, 1 << 62, 5], "packets": [b"a", b"b", b"c", b"d"]})
    found = with_task(bundles, {5: 3}, 4)
    assert found.column(TASK).to_pylist() == [3, 1, 0, 3]
    assert found.drop_columns([TASK]).equals(bundles)
