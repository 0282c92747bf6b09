"""The files of tables: in the right folder, of the right columns, in row groups of a size."""

from __future__ import annotations

import errno
import gc
import io
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.spark.rows import violations

from amqp_sansio.captures.columns import writer
from amqp_sansio.captures.columns import writer as module
from amqp_sansio.captures.columns.place import Written
from amqp_sansio.captures.columns.writer import Growing, Writer, file_schema, folder_of, parquet, parted, write_empty


def test_a_folder_is_named_as_hive_does_it() -> None:
    assert folder_of(["2024-05-01", "[::1]:5672"]) == "capture_date=2024-05-01/broker=%5B%3A%3A1%5D%3A5672"


def test_a_batch_is_parted_by_day_and_broker_in_the_order_of_its_rows() -> None:
    """Every row comes in one part, the parts in the order of their first rows; a batch of one folder as it is, none of none."""
    one = violations(3)
    mixed = pa.concat_batches([violations(2), violations(3, broker="a/b"), violations(4, day=1), violations(5)])
    found = [(folder, part.num_rows) for folder, part in parted(mixed)]
    assert found == [
        ("capture_date=2023-11-14/broker=north", 7),
        ("capture_date=2023-11-14/broker=a%2Fb", 3),
        ("capture_date=2023-11-15/broker=north", 4),
    ]
    ((folder, part),) = parted(one)
    assert (folder, part.schema) == ("capture_date=2023-11-14/broker=north", file_schema("violations"))
    assert part.equals(one.drop_columns(["capture_date", "broker"]))
    assert list(parted(one.slice(0, 0))) == []


def test_closing_an_abandoned_file_on_a_full_disk_raises_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The failed run is reported by its own error; what is left of the file is not written any more."""
    rows = violations(3).drop_columns(["capture_date", "broker"])
    left = io.BytesIO()

    def write(octets: bytes) -> int:
        if full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return left.write(octets)

    full: list[bool] = []
    stream = SimpleNamespace(closed=False, write=write, flush=lambda: None, tell=left.tell, close=lambda: None)
    file = Growing(pa.PythonFile(stream, mode="w"), rows.schema)
    said: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", said.append)
    file.add(rows)
    file.flush()
    full.append(True)
    del file
    gc.collect()
    assert said == []


def test_a_row_group_is_written_when_it_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = violations(100).drop_columns(["capture_date", "broker"])
    monkeypatch.setattr(module, "ROW_GROUP_OCTETS", 3 * rows.nbytes)
    file = Growing(str(tmp_path / "x.parquet"), rows.schema)
    waiting = []
    for _ in range(7):
        file.add(rows)
        waiting.append(file.waiting_octets // rows.nbytes)
    file.close()
    assert waiting == [1, 2, 0, 1, 2, 0, 1]
    assert (file.rows, file.waiting_octets) == (700, 0)
    groups = pq.read_metadata(tmp_path / "x.parquet")
    assert [groups.row_group(number).num_rows for number in range(groups.num_row_groups)] == [300, 300, 100]


def test_memory_goes_back_behind_each_row_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrow's pool would keep it: the process would have twice what it uses."""
    rows = violations(100).drop_columns(["capture_date", "broker"])
    waiting: list[int] = []
    file = Growing(str(tmp_path / "x.parquet"), rows.schema)
    pool = SimpleNamespace(release_unused=lambda: waiting.append(file.waiting_octets))
    monkeypatch.setattr(pa, "default_memory_pool", lambda: pool)
    for _ in range(3):
        file.add(rows)
        file.flush()
    file.close()
    assert waiting == [0, 0, 0]  # no group, nothing to give back


def test_texts_that_repeat_have_dictionaries_and_nothing_else(tmp_path: Path) -> None:
    schema = file_schema("messages")
    with parquet(tmp_path / "x.parquet", schema) as writer:
        empty = {pa.string(): "", pa.bool_(): False}
        row = {field.name: None if field.nullable else empty.get(field.type, 0) for field in schema}
        writer.write_table(pa.Table.from_pylist([row | {"message_id": "x", "queue": "y"}] * 3, schema=schema))
    group = pq.read_metadata(tmp_path / "x.parquet").row_group(0)
    columns = [group.column(at) for at in range(group.num_columns)]
    found = {each.path_in_schema for each in columns if "RLE_DICTIONARY" in each.encodings}
    assert {"queue", "exchange", "session", "outcome"} <= found
    assert not {"message_id", "transfer_id", "first_octet_at", "body_octets"} & found


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
