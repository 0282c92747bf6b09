"""Files of all tables at once: the right rows in the right folders, in bounded memory, under names of their own."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.spark.rows import violations

from amqp_sansio.captures.columns import writer
from amqp_sansio.captures.columns.place import Written
from amqp_sansio.captures.columns.writer import Writer, write_empty


def test_rows_go_to_the_folder_of_their_day_and_broker(tmp_path: Path) -> None:
    mixed = pa.concat_batches([violations(2), violations(3, broker="a/b"), violations(4, day=1), violations(5)])
    out = Writer(str(tmp_path), "part")
    files = [*out.add("violations", mixed), *out.rest()]
    assert sorted((file.folder, file.rows) for file in files) == [
        ("capture_date=2023-11-14/broker=a%2Fb", 3),
        ("capture_date=2023-11-14/broker=north", 7),
        ("capture_date=2023-11-15/broker=north", 4),
    ]
    for file in files:
        assert pq.read_metadata(file.path).num_rows == file.rows
        assert Path(file.path).stat().st_size == file.octets
        assert Path(file.path).is_relative_to(tmp_path / "violations" / file.folder)
    whole = pq.read_table(tmp_path / "violations", partitioning="hive")
    assert sorted(whole.column("broker").to_pylist()) == ["a/b"] * 3 + ["north"] * 11
    assert pq.ParquetFile(files[0].path).metadata.row_group(0).column(0).compression == "ZSTD"


def test_two_attempts_never_write_the_same_file(tmp_path: Path) -> None:
    paths = set()
    for _ in range(2):
        out = Writer(str(tmp_path), "part")
        paths |= {file.path for file in [*out.add("violations", violations(1)), *out.rest()]}
    assert len(paths) == 2


def test_no_more_files_are_open_and_no_more_octets_wait_than_the_limits_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "OPEN_FILES", 3)
    monkeypatch.setattr(writer, "BUFFERED_OCTETS", 4000)
    out = Writer(str(tmp_path), "part")
    files: list[Written] = []
    for turn in range(30):
        files += out.add("violations", violations(10, broker=f"b{turn % 5}", text="x" * 50))
        assert len(out._files) <= 3
        assert out._waiting <= 4000
        assert out._waiting == sum(file.waiting_octets for file in out._files.values())
    files += out.rest()
    assert sum(file.rows for file in files) == 300
    assert out._waiting == 0


def test_a_table_without_rows_still_tells_its_columns(tmp_path: Path) -> None:
    file = write_empty(str(tmp_path), "violations")
    assert (file.rows, file.folder) == (0, "")
    assert "stream_offset" in pq.read_table(tmp_path / "violations").schema.names


def test_a_place_may_be_a_uri(tmp_path: Path) -> None:
    out = Writer(tmp_path.as_uri(), "part")
    (file,) = [*out.add("violations", violations(1)), *out.rest()]
    assert Path(file.path).is_file()
