"""Schemas, times and batches: what goes in comes out, in the columns of its table."""

from __future__ import annotations

import datetime
from uuid import UUID

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.captures.replay.made import message

from amqp_sansio.captures.columns.tables import (
    NANOSECONDS,
    PACKETS_ARROW,
    TIME,
    Shared,
    arrow_schema,
    message_batch,
    moments,
    nanoseconds,
    schema_of,
    table_batch,
    table_schema,
    transfer_batch,
    uuids,
)
from amqp_sansio.captures.replay.rows import COMPLETE, Rows
from amqp_sansio.captures.tables import COMMANDS, COMMON, MESSAGES, PACKET_NAMES, PACKETS, TABLES, TableSchema, picked

SPARK = {"string": "string", "binary": "binary", "int16": "smallint", "int32": "int", "int64": "bigint"}
SOME = st.none() | st.integers(-(10**18), 4 * 10**18)


@given(st.lists(SOME), st.integers(0, 5), st.integers(0, 9))
def test_what_is_below_a_microsecond_is_cut_off_and_nothing_else(ns: list[int | None], start: int, count: int) -> None:
    """Whatever part of a column it is: nulls stay, and a time is never later than it was, nor by a microsecond earlier."""
    part = pa.array(ns, pa.int64()).slice(start, count)
    made = moments(part)
    assert made.type == TIME
    assert made.cast(pa.int64()).to_pylist() == [None if each is None else each // NANOSECONDS for each in part.to_pylist()]
    back = nanoseconds(made)
    assert back.type == pa.int64()
    assert back.null_count == part.null_count
    assert moments(back).equals(made)
    assert nanoseconds(made.slice(1)).equals(back.slice(1))


@given(st.lists(st.integers(0, 4 * 10**18), min_size=2))
def test_no_two_change_their_order(ns: list[int]) -> None:
    """Times that were not later are not later when they are cut."""
    assert moments(pa.array(sorted(ns), pa.int64())).cast(pa.int64()).to_pylist() == sorted(each // 1000 for each in ns)


def test_a_column_of_nothing() -> None:
    assert moments(pa.nulls(3, pa.int64())).to_pylist() == [None] * 3
    assert moments(pa.array([], pa.int64())).equals(pa.array([], TIME))


def test_arrow_holds_the_same_columns_of_the_same_types() -> None:
    assert tuple(PACKETS_ARROW.names) == PACKET_NAMES
    assert [SPARK[str(field.type)] for field in PACKETS_ARROW] == [column.type.value for column in PACKETS]
    assert [field.nullable for field in PACKETS_ARROW] == [column.nullable for column in PACKETS]
    assert arrow_schema(picked("seq")).names == ["seq"]


def test_a_schema_is_read_as_spark_writes_it() -> None:
    found = schema_of("name string NOT NULL, number int, many bigint NOT NULL, flag boolean, data binary")
    assert [str(field.type) for field in found] == ["string", "int32", "int64", "bool", "binary"]
    assert [field.nullable for field in found] == [False, True, False, True, True]


NS = 1_700_000_000_000_000_000
VIOLATION = (NS, "C", "violation", "rule", "said", ["a", "b"], "text", 501, None, 7, 0, 24)


@pytest.mark.parametrize("table", TABLES.values(), ids=list(TABLES))
def test_a_schema_for_every_table(table: TableSchema) -> None:
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


CONNECTION = "file", "broker", 7


@given(st.lists(st.none() | st.binary(min_size=16, max_size=16), max_size=20))
def test_ids_are_written_as_the_library_writes_them(ids: list[bytes | None]) -> None:
    assert uuids(ids).to_pylist() == [None if each is None else str(UUID(bytes=each)) for each in ids]


@given(st.lists(st.integers(0, 5), min_size=1))
def test_a_column_of_shared_things_has_a_value_for_every_row(numbers: list[int]) -> None:
    things = [(f"thing {number}",) for number in range(6)]
    shared = Shared([things[number] for number in numbers])
    assert shared.column(lambda thing: thing[0], table_schema(MESSAGES).field("session").type).to_pylist() == [
        f"thing {number}" for number in numbers
    ]


def test_batches_have_the_schemas_of_their_tables_and_fates_where_there_are_any() -> None:
    one, other = message(1), message(2)
    other.fated().rejected = 13_999
    other.fated().code = 5
    other.settle("rejected", 90)
    for each in (one, other):
        each.completed = 120
        each.conclude(Rows(), COMPLETE)
    found = message_batch(CONNECTION, [one, other])
    assert found.schema == table_schema(MESSAGES)
    assert transfer_batch(CONNECTION, [one, other]).schema == table_schema(COMMANDS)
    assert found.column("rejected_at").cast(pa.int64()).to_pylist() == [None, 13]
    assert found.column("reject_code").to_pylist() == [None, 5]
    assert found.column("settle_latency_ns").to_pylist() == [None, None], "it was settled before it was seen: no latency"
    assert message_batch(CONNECTION, [one]).column("rejected_at").null_count == 1
