from __future__ import annotations

import json
from pathlib import Path

import pyarrow.dataset as ds
import pytest

from amqp_sansio.captures.columns.parquet import file_schema
from amqp_sansio.captures.columns.place import MANIFEST, Place, Written
from amqp_sansio.captures.columns.store import Store, manifest_of
from amqp_sansio.captures.columns.tables import table_batch
from amqp_sansio.captures.errors import PlaceError
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.tables import SCHEMA_VERSION, TABLES

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
    assert sorted(each.name for each in tmp_path.iterdir()) == [MANIFEST, "dtx", "violations"]


def test_what_was_there_stays_until_the_new_is_published(tmp_path: Path) -> None:
    filled(tmp_path, "north").publish(["x.pcap"])
    before = (tmp_path / MANIFEST).read_text()
    filled(tmp_path, "south", "east").discard()
    assert (tmp_path / MANIFEST).read_text() == before
    filled(tmp_path, "south", "east").publish(["y.pcap"], ["y.pcap: cut off"])
    assert json.loads((tmp_path / MANIFEST).read_text())["problems"] == ["y.pcap: cut off"]
    assert ds.dataset(tmp_path / "violations", partitioning="hive").count_rows() == 4


def test_a_folder_that_cannot_be_written_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(PlaceError, match="cannot be written"):
        Store(str(tmp_path / "file"), OPTIONS)


def test_the_manifest(tmp_path: Path) -> None:
    place = Place(str(tmp_path))
    files = [
        Written("dtx", "day", f"{place.work}/dtx/day/{name}.parquet", rows, 10 * rows) for name, rows in (("b", 2), ("a", 1))
    ]
    options = ReplayOptions(ports=(5672,), broker="north", tables=("credit", "dtx"), body_head=4)
    made = manifest_of(place, files, ["one.pcap"], options)
    assert made == manifest_of(place, files[::-1], ["one.pcap"], options)
    assert json.loads(made) == {
        "kind": "amqp-sansio tables",
        "schema": SCHEMA_VERSION,
        "captures": ["one.pcap"],
        "problems": [],
        "ports": [5672],
        "payload": 4,
        "broker": "north",
        "brokers": {},
        "strict": False,
        "tables": {
            "credit": {"rows": 0, "files": []},
            "dtx": {
                "rows": 3,
                "files": [
                    {"path": "dtx/day/a.parquet", "rows": 1, "octets": 10},
                    {"path": "dtx/day/b.parquet", "rows": 2, "octets": 20},
                ],
            },
        },
    }
