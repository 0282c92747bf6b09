"""Findings in files of `violations` are counted by level, and damage is named."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from amqp_sansio.captures.columns.end_to_end import write_joined
from amqp_sansio.captures.columns.findings import Damage, Findings, findings_in
from amqp_sansio.captures.columns.place import Written
from amqp_sansio.captures.columns.tables import table_batch, table_schema
from amqp_sansio.captures.columns.writer import write_empty
from amqp_sansio.captures.joins import END_TO_END
from amqp_sansio.captures.tables import TABLES
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
    assert findings_in(files, str(tmp_path)) == Findings(early=3)


def test_without_rows_there_is_nothing(tmp_path: Path) -> None:
    assert findings_in([write_empty(str(tmp_path), "violations")], str(tmp_path)) == Findings()
    assert findings_in([], str(tmp_path)) == Findings()
