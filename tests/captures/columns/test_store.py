from __future__ import annotations

import json
from pathlib import Path

import pyarrow.dataset as ds
import pytest

from amqp_sansio.captures.columns import store as module
from amqp_sansio.captures.columns.parquet import file_schema
from amqp_sansio.captures.columns.store import MANIFEST, Store, StoreError
from amqp_sansio.captures.columns.tables import table_batch
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.tables import TABLES

DAY = 86_400_000_000_000
OPTIONS = ReplayOptions(tables=("violations", "dtx"))


def row(ts: int) -> tuple[object, ...]:
    return (ts, "C", "note", "gap", "said", [], "text", None, None, 7, 0, 24)


def filled(folder: Path, *brokers: str) -> Store:
    store = Store(str(folder), OPTIONS)
    for broker in brokers:
        store.add("violations", table_batch(TABLES["violations"], ("x.pcap", broker, 5), [row(DAY - 1), row(DAY)]))
    return store


def test_rows_stand_in_folders_by_day_and_broker(tmp_path: Path) -> None:
    filled(tmp_path, "10.0.0.1:5672", "north").publish(["x.pcap"])
    found = ds.dataset(tmp_path / "violations", partitioning="hive").to_table()
    assert found.num_rows == 4
    assert set(found.column("broker").to_pylist()) == {"10.0.0.1:5672", "north"}
    assert {str(day) for day in found.column("capture_date").to_pylist()} == {"1970-01-01", "1970-01-02"}
    assert ds.dataset(tmp_path / "dtx").to_table().schema.names == file_schema("dtx").names
    manifest = json.loads((tmp_path / MANIFEST).read_text())
    assert manifest["tables"]["violations"]["rows"] == 4
    assert all((tmp_path / file["path"]).is_file() for table in manifest["tables"].values() for file in table["files"])
    assert not (tmp_path / ".work").exists()


def test_what_was_there_stays_until_the_new_is_published(tmp_path: Path) -> None:
    filled(tmp_path, "north").publish(["x.pcap"])
    before = (tmp_path / MANIFEST).read_text()
    filled(tmp_path, "south", "east").discard()
    assert (tmp_path / MANIFEST).read_text() == before
    filled(tmp_path, "south", "east").publish(["y.pcap"], ["y.pcap: cut off"])
    assert json.loads((tmp_path / MANIFEST).read_text())["problems"] == ["y.pcap: cut off"]
    assert ds.dataset(tmp_path / "violations", partitioning="hive").count_rows() == 4


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_open_files_are_bounded(tmp_path: Path, more: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "OPEN_FILES", 4)
    store = filled(tmp_path, *[f"b{number % 3}" for number in range(4 + more)], "b0")
    assert len(store._files) <= 4
    store.publish([])
    assert ds.dataset(tmp_path / "violations", partitioning="hive").count_rows() == 2 * (5 + more)


def test_a_folder_that_cannot_be_written_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="cannot be written"):
        Store(str(tmp_path / "file"), OPTIONS)
