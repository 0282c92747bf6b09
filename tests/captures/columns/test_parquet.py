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

from amqp_sansio.captures.columns import parquet as module
from amqp_sansio.captures.columns.parquet import Growing, file_schema, folder_of, parquet, parted


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
