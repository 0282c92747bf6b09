"""What is published, and what a run says of it: files, counts, findings and damage."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from amqp_sansio.captures.columns.end_to_end import write_joined
from amqp_sansio.captures.columns.place import MANIFEST, STREAM, Place, Written
from amqp_sansio.captures.columns.store import Damage, FindingCounts, findings_in, manifest_of, opened, outcome, publish
from amqp_sansio.captures.columns.tables import table_batch, table_schema
from amqp_sansio.captures.columns.writer import Writer, write_empty
from amqp_sansio.captures.errors import OutOfDisk, PipelineError, PlaceError
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.tables import END_TO_END, SCHEMA_VERSION, TABLES
from amqp_sansio.spark.writer import write_records


def row(level: str, offset: int, text: str = "torn") -> tuple[object, ...]:
    return (1, None, level, "capture", text, [], text, None, None, None, 0, offset)


def written(folder: Path, capture: str, *rows: tuple[object, ...]) -> list[Written]:
    batch: pa.RecordBatch = table_batch(TABLES["violations"], (capture, "unknown", 0), rows)
    made = write_records([("violations", batch)], str(folder), "x")
    return [Written(*each.values()) for batch in made for each in batch.to_pylist()]


def test_levels_are_counted_and_damage_is_named_in_order(tmp_path: Path) -> None:
    files = written(tmp_path, "/b", row("damage", 9), row("note", 1), row("violation", 2), row("damage", 3, "cut off"))
    files += written(tmp_path, "/a", row("note", 5), row("damage", 7))
    found = findings_in(files, str(tmp_path))
    assert found.levels == {"damage": 3, "note": 2, "violation": 1}
    assert found.damage == (Damage("/a", 7, "torn"), Damage("/b", 3, "cut off"), Damage("/b", 9, "torn"))
    assert findings_in(files, str(tmp_path), named=2).damage == found.damage[:2]


def test_deliveries_without_a_latency_are_counted(tmp_path: Path) -> None:
    """In all row groups of all files."""
    schema = table_schema(END_TO_END)
    blank = {"message_id": "a", "published_on": 1, "delivered_on": 2, "published_ns": 0, "delivered_ns": 0}
    times = {"published_at": 0, "delivered_at": 0}
    files = []
    for latencies in ([None, 5, None], [7], [None]):
        rows = [{**blank, **times, "latency_ns": each} for each in latencies]
        files += write_joined([pa.RecordBatch.from_pylist(rows, schema=schema)], str(tmp_path))
    assert findings_in(files, str(tmp_path)) == FindingCounts(early=3)


def test_without_rows_there_is_nothing(tmp_path: Path) -> None:
    assert findings_in([write_empty(str(tmp_path), "violations")], str(tmp_path)) == FindingCounts()
    assert findings_in([], str(tmp_path)) == FindingCounts()


def test_rows_and_octets_of_all_files() -> None:
    files = [Written("messages", "", "a", 3, 10), Written("messages", "", "b", 4, 20), Written("end_to_end", "", "c", 2, 5)]
    damage = (Damage("x", 1, "torn"),)
    plan = ReplayOptions(tables=("messages", "dtx"))
    found = outcome("out", plan, files, FindingCounts({"damage": 1}, damage), time.monotonic() - 5)
    assert found.rows == {"messages": 7, "dtx": 0, "end_to_end": 2}
    assert (found.out, found.files, found.octets, found.findings, found.damage) == ("out", 3, 35, {"damage": 1}, damage)
    assert 5 <= found.seconds < 3600


def test_without_messages_nothing_is_joined() -> None:
    assert outcome("out", ReplayOptions(tables=("dtx",)), [], FindingCounts(), 0).rows == {"dtx": 0}


DAY = 86_400_000_000_000
OPTIONS = ReplayOptions(tables=("violations", "dtx"))


def damage_at(ts: int) -> tuple[object, ...]:
    return (ts, None, "damage", "gap", "said", [], "cut off", None, None, 7, 0, 24)


def filled(folder: Path, *brokers: str) -> tuple[Place, list[Written]]:
    place = opened(str(folder))
    writer = Writer(place.work, "part")
    files: list[Written] = []
    for broker in brokers:
        files += writer.add(
            "violations", table_batch(TABLES["violations"], ("x.pcap", broker, 5), [damage_at(DAY - 1), damage_at(DAY)])
        )
    return place, [*files, *writer.rest()]


def nothing(files: Sequence[Written]) -> list[Written]:
    raise AssertionError("there are no messages to join")


def test_rows_stand_in_folders_by_day_and_broker(tmp_path: Path) -> None:
    place, written = filled(tmp_path, "10.0.0.1:5672", "north")
    files, findings = publish(place, written, ["x.pcap"], OPTIONS, "local", nothing)
    place.discard()
    assert findings.levels == {"damage": 4}
    found = ds.dataset(tmp_path / "violations", partitioning="hive").to_table()
    assert found.num_rows == 4
    assert set(found.column("broker").to_pylist()) == {"10.0.0.1:5672", "north"}
    assert {str(day) for day in found.column("capture_date").to_pylist()} == {"1970-01-01", "1970-01-02"}
    assert ds.dataset(tmp_path / "dtx").to_table().schema.equals(table_schema(TABLES["dtx"]))
    manifest = json.loads((tmp_path / MANIFEST).read_text())
    assert manifest["tables"]["violations"]["rows"] == 4
    assert manifest["problems"] == [str(Damage("x.pcap", 24, "cut off"))] * 4
    named = [file["path"] for table in manifest["tables"].values() for file in table["files"]]
    assert len(named) == len(files)
    assert all((tmp_path / path).is_file() for path in named)
    assert sorted(each.name for each in tmp_path.iterdir()) == [MANIFEST, "dtx", "violations"]


def test_what_is_joined_is_published_with_the_rest(tmp_path: Path) -> None:
    place = opened(str(tmp_path))
    plan = ReplayOptions(tables=("messages",))
    seen: list[str] = []

    def join(files: Sequence[Written]) -> list[Written]:
        seen.extend(file.table for file in files)
        return write_joined([], place.work, empty=True)

    publish(place, [], [], plan, "local", join)
    place.discard()
    assert seen == ["messages"]  # the empty file, for the join to find
    assert [file.table for file in place.published()] == ["messages", END_TO_END.name]


def test_what_was_there_stays_when_nothing_can_be_published(tmp_path: Path) -> None:
    place, written = filled(tmp_path, "north")
    publish(place, written, ["x.pcap"], OPTIONS, "local", nothing)
    place.discard()
    before = (tmp_path / MANIFEST).read_text()
    plan = ReplayOptions(tables=("messages", "violations"))

    def fail(files: Sequence[Written]) -> list[Written]:
        raise OSError(28, "No space left on device")

    place, written = filled(tmp_path, "south", "east")
    with pytest.raises(OutOfDisk, match="the latencies cannot be joined, nothing was published: No space left on device"):
        publish(place, written, ["y.pcap"], plan, "local", fail)
    with pytest.raises(PipelineError, match=r"^nothing was published: .*\.gone"):
        publish(place, [file._replace(path=f"{file.path}.gone") for file in written], ["y.pcap"], OPTIONS, "local", nothing)
    place.discard()
    assert (tmp_path / MANIFEST).read_text() == before
    assert ds.dataset(tmp_path / "violations", partitioning="hive").count_rows() == 2


def test_a_folder_that_cannot_be_written_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(PlaceError, match="cannot be written"):
        opened(str(tmp_path / "file"))


def test_the_folder_of_a_stream_is_refused_and_given_back(tmp_path: Path) -> None:
    (tmp_path / STREAM).write_text("{}")
    for _ in range(2):
        with pytest.raises(PlaceError, match="holds what `watch` writes"):
            opened(str(tmp_path))
    assert [each.name for each in tmp_path.iterdir()] == [STREAM]


def test_the_manifest(tmp_path: Path) -> None:
    place = Place(str(tmp_path))
    files = [
        Written("dtx", "day", f"{place.work}/dtx/day/{name}.parquet", rows, 10 * rows) for name, rows in (("b", 2), ("a", 1))
    ]
    options = ReplayOptions(ports=(5672,), broker="north", tables=("credit", "dtx"), body_head=4)
    made = manifest_of(place, files, ["one.pcap"], options, "spark")
    assert made == manifest_of(place, files[::-1], ["one.pcap"], options, "spark")
    assert json.loads(made) == {
        "kind": "amqp-sansio tables",
        "schema": SCHEMA_VERSION,
        "engine": "spark",
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
