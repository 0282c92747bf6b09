"""Folders of tables made of rows: what a row does not tell is a harmless value of its type, or null where null may stand."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from amqp_sansio.captures.columns.tables import table_schema
from amqp_sansio.captures.tables import SCHEMA_VERSION, TABLES, is_time

Rows = list[dict[str, Any]]
START = 1_700_000_000_000_000_000
SECOND = 1_000_000_000
BESIDE = ("last_octet_ns", "prepare_ns", "decide_ns", "decided_ns")
"""Times that stand in the tables both ways."""


def _blank(kind: pa.DataType) -> Any:
    if pa.types.is_string(kind):
        return ""
    if pa.types.is_boolean(kind):
        return False
    if pa.types.is_date(kind):
        return date(2023, 11, 14)
    if pa.types.is_nested(kind):
        return []
    return 0


def write_table(folder: Path, table: str, rows: Rows, group: int = 100_000) -> None:
    """One file of one table; times are given in ns since 1970."""
    schema = table_schema(TABLES[table])
    blank = {field.name: None if field.nullable else _blank(field.type) for field in schema}
    place = folder / table / "part-0.parquet"
    place.parent.mkdir(parents=True, exist_ok=True)
    made = pa.Table.from_pylist([{"ts_ns": START, **blank, **_cut(row)} for row in rows], schema=schema)
    pq.write_table(made, str(place), row_group_size=group)


def _cut(row: dict[str, Any]) -> dict[str, Any]:
    """The row with its times in whole microseconds; those that it tells in ns alone are there, too."""
    told = {f"{name.removesuffix('_ns')}_at": row[name] for name in BESIDE if name in row}
    row = {"ts": row.get("ts_ns", START), **told, **row}
    return {name: value // 1000 if is_time(name) and value is not None else value for name, value in row.items()}


def write_manifest(folder: Path, captures: list[str], problems: list[str] | None = None) -> None:
    """The manifest of what is there."""
    tables = {
        name: {"files": [{"path": path.relative_to(folder).as_posix()} for path in sorted((folder / name).glob("*.parquet"))]}
        for name in TABLES
        if (folder / name).is_dir()
    }
    said = {"schema": SCHEMA_VERSION, "captures": captures, "problems": problems or [], "tables": tables}
    (folder / "_MANIFEST.json").write_text(json.dumps(said))


def story() -> dict[str, Rows]:
    """A connection on which the client breaks a rule, one message goes through, credit stalls, and a branch stays in doubt."""
    at = {"connection": 7, "ts_ns": START}
    said = {**at, "session": "s", "channel": 1, "whole": True}
    return {
        "connections": [
            {**at, "name": "c>s#1", "client": "c:1", "server": "s:2", "protocol": "p", "ending": "eof",
             "ended_at": START + 9 * SECOND,
             "octets_by_client": 100, "octets_by_server": 200, "violations": 1, "capture": "x.pcap", "opened_at": START + 1}
        ],
        "sessions": [
            {**at, "session": "s", "channel": 1, "ending": "connection", "ended_at": START + 9 * SECOND, "in_doubt": 2,
             "in_doubt_by_client": [{"first": 3, "last": 4}], "in_doubt_by_server": []}
        ],
        "commands": [
            {**said, "ts_ns": START + n * SECOND, "direction": "C", "verb": verb, "command_id": n, "stream_offset": 100 * n,
             "outcome": "open" if n > 2 else "completed", "complete_latency_ns": None if n > 2 else 1000 * (n + 1),
             "last_octet_at": START}
            for n, verb in enumerate(["queue.declare", "message.transfer", "message.subscribe", "tx.commit", "execution.sync"])
        ],
        "messages": [
            {**said, "direction": "C", "message_id": "m", "exchange": "e", "routing_key": "k", "outcome": "completed",
             "last_octet_ns": START, "settled_at": START + SECOND, "settle_latency_ns": SECOND, "body_octets": 5},
            {**said, "direction": "S", "message_id": "m", "destination": "d", "queue": "q", "outcome": "open", "body_octets": 5,
             "last_octet_ns": START + 2 * SECOND, "ts_ns": START + 2 * SECOND},
        ],
        "credit": [
            {**said, "direction": "C", "destination": "d", "queue": "q", "event": "flow", "message_credit": 3},
            {**said, "direction": "C", "destination": "d", "event": "exhausted", "message_credit": 0,
             "ts_ns": START + 2 * SECOND},
            {**said, "direction": "C", "destination": "d", "event": "flow", "message_credit": 5, "ts_ns": START + 4 * SECOND,
             "stalled_ns": 2 * SECOND},
        ],
        "transactions": [{**at, "session": "s", "transaction": 1, "ended_at": START, "outcome": "in-doubt"}],
        "dtx": [{**at, "xid": "1:aa:bb", "outcome": "prepared", "in_doubt": True, "prepare_ns": START}],
        "violations": [
            {**at, "ts_ns": START + 3 * SECOND, "direction": "C", "level": "violation", "rule": "tx.commit.select-required",
             "said": "tx.commit", "legal": ["tx.select"], "text": "no transaction", "channel": 1, "stream_offset": 300},
            {**at, "ts_ns": START + 9 * SECOND, "direction": "C", "level": "note", "rule": "connection.eof", "said": "it ends"},
        ],
    }  # fmt: skip


def write_story(folder: Path) -> Path:
    """The story as a folder with its manifest."""
    for table, rows in story().items():
        write_table(folder, table, rows)
    write_manifest(folder, ["x.pcap"])
    return folder
