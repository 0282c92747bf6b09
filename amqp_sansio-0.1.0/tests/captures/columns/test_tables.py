from __future__ import annotations

import datetime

import pytest

from amqp_sansio.captures.columns.tables import table_batch, table_schema
from amqp_sansio.captures.schema import Table
from amqp_sansio.captures.tables import COMMON, TABLES

NS = 1_700_000_000_000_000_000
VIOLATION = (NS, "C", "violation", "rule", "said", ["a", "b"], "text", 501, None, 7, 0, 24)


@pytest.mark.parametrize("table", TABLES.values(), ids=list(TABLES))
def test_a_schema_for_every_table(table: Table) -> None:
    schema = table_schema(table)
    assert tuple(schema.names) == table.names
    assert [field.nullable for field in schema] == [column.nullable for column in table.columns]
    empty = table_batch(table, ("a", "b", 1), [])
    assert empty.schema == schema
    assert empty.num_rows == 0


def test_rows_become_a_batch() -> None:
    batch = table_batch(TABLES["violations"], ("some.pcap", "north", -5), [VIOLATION, VIOLATION])
    row = batch.to_pylist()[1]
    assert [row[column.name] for column in COMMON] == ["some.pcap", "north", datetime.date(2023, 11, 14), -5]
    assert (row["legal"], row["channel"], row["file_offset"]) == (["a", "b"], None, 24)


def test_ranges_and_counts() -> None:
    sessions = TABLES["sessions"]
    row: dict[str, object] = dict.fromkeys(sessions.said[len(COMMON) :])
    row |= {"ts": NS, "ended_at": NS, "in_doubt_by_client": ((1, 3), (7, 7))}
    made = table_batch(sessions, ("a", "b", 1), [tuple(row.values())]).to_pylist()[0]
    assert made["in_doubt_by_client"] == [{"first": 1, "last": 3}, {"first": 7, "last": 7}]
    assert made["in_doubt_by_server"] is None


def test_times_are_cut_to_microseconds_and_stand_beside_in_nanoseconds_where_a_reader_needs_them() -> None:
    dtx = TABLES["dtx"]
    row: dict[str, object] = dict.fromkeys(dtx.said[len(COMMON) :])
    row |= {"ts": NS + 1999, "prepare_at": NS + 999, "prepared_at": NS + 1000}
    made = table_batch(dtx, ("a", "b", 1), [tuple(row.values())]).to_pylist()[0]
    begun = datetime.datetime(2023, 11, 14, 22, 13, 20, tzinfo=datetime.UTC)
    assert made["ts"] == made["prepared_at"] == begun + datetime.timedelta(microseconds=1)
    assert (made["ts_ns"], made["prepare_at"], made["prepare_ns"]) == (NS + 1999, begun, NS + 999)
    assert (made["decided_at"], made["decided_ns"]) == (None, None)
