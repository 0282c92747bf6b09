"""The names that columns had in schema version 1."""

from __future__ import annotations

import sqlite3

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.captures.finer import TABLES_1
from tests.captures.rowwise import end_to_end
from tests.captures.variants import CAPTURE_COLUMNS

from amqp_sansio.captures.tables import (
    COMMON,
    DEFAULT_TABLES,
    END_TO_END,
    END_TO_END_SQL,
    PACKET_NAMES,
    PACKETS,
    PARTITIONS,
    RENAMED,
    TABLES,
    Column,
    TableSchema,
    Type,
    at,
    ddl,
    exactly,
    former_name,
    former_names,
    in_ns,
    is_time,
    picked,
    refusal,
)

TABLE = TableSchema(
    "things",
    "thing",
    "Things.",
    (*exactly("ts", "When.", nullable=False), at("said_at", "When, too."), Column("ranges", Type.RANGES, "Which.")),
)


def test_a_table_in_sparks_words() -> None:
    assert TABLE.ddl == (
        "`ts` timestamp NOT NULL, `ts_ns` bigint NOT NULL, `said_at` timestamp,"
        " `ranges` array<struct<first:bigint,last:bigint>>"
    )


def test_names_and_the_columns_but_for_some() -> None:
    assert TABLE.names == ("ts", "ts_ns", "said_at", "ranges")
    assert [column.name for column in TABLE.without(["ts"])] == ["ts_ns", "said_at", "ranges"]


def test_a_row_says_a_time_once() -> None:
    assert TABLE.said == ("ts", "said_at", "ranges")
    assert [in_ns(name) for name in ("ts", "said_at")] == ["ts_ns", "said_ns"]
    assert [is_time(name) for name in ("ts", "said_at", "ts_ns", "at", "that")] == [True, True, False, False, False]


each_table = pytest.mark.parametrize("table", TABLES.values(), ids=list(TABLES))


@each_table
def test_every_table_begins_with_the_common_columns_and_its_time(table: TableSchema) -> None:
    assert table.columns[: len(COMMON)] == COMMON
    time, exactly = table.columns[len(COMMON) :][:2]
    assert (time.name, time.type, time.nullable) == ("ts", Type.TIME, False)
    assert (exactly.name, exactly.type, exactly.nullable) == ("ts_ns", Type.LONG, False)
    assert len(set(table.names)) == len(table.names)


@each_table
def test_every_column_says_what_it_is(table: TableSchema) -> None:
    for column in table.columns:
        assert column.text.endswith(".")
        if column.name.endswith("_ns"):
            assert column.unit.startswith("ns")
        if "octets" in column.name or column.name in ("file_offset", "stream_offset"):
            assert column.unit == "octets" or column.name.endswith(("_ns", "_at"))


@each_table
def test_times_have_names_of_their_own_and_what_is_beside_them_says_the_same(table: TableSchema) -> None:
    for column in table.columns:
        assert is_time(column.name) == (column.type is Type.TIME)
        assert column.type is not Type.TIME or column.unit == "UTC"
    beside = [name for name in table.names if name not in table.said]
    assert beside[0] == "ts_ns"
    for name in beside:
        (time,) = [each for each in table.names if is_time(each) and in_ns(each) == name]
        assert table.names.index(name) == table.names.index(time) + 1


def test_partitions_and_capture_columns_are_columns() -> None:
    assert set(PARTITIONS) <= {column.name for column in COMMON}
    assert {name for table in TABLES.values() for name in table.names} >= CAPTURE_COLUMNS


def test_frames_are_written_on_request_only() -> None:
    assert set(TABLES) - set(DEFAULT_TABLES) == {"frames"}


OF_MESSAGES = (
    "message_id", "direction", "connection", "stream_offset", "ts_ns", "last_octet_ns", "queue", "redelivered", "ts",
    "last_octet_at",
)  # fmt: skip
MESSAGES = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", None]), st.sampled_from("CS"), st.integers(1, 3), st.integers(0, 99), st.integers(0, 20),
        st.integers(0, 30), st.sampled_from(["q", None]), st.sampled_from([0, 1]), st.integers(0, 9), st.integers(0, 9),
    ),
    unique_by=lambda row: row[1:4], max_size=12,
)  # fmt: skip


@given(MESSAGES)
def test_the_function_and_the_sql_say_the_same(rows: list[tuple[object, ...]]) -> None:
    """Whatever was published and delivered, the rows in Python are those of the query."""
    base = sqlite3.connect(":memory:")
    base.execute(f"CREATE TABLE messages ({', '.join(OF_MESSAGES)})")
    base.executemany(f"INSERT INTO messages VALUES ({', '.join('?' * len(OF_MESSAGES))})", rows)
    found = sorted(base.execute(END_TO_END_SQL).fetchall(), key=repr)
    base.close()
    made = list(end_to_end([dict(zip(OF_MESSAGES, row, strict=True)) for row in rows]))
    assert sorted([tuple(row.values()) for row in made], key=repr) == found
    assert all(tuple(row) == END_TO_END.names for row in made)


def test_a_delivery_before_its_publication_has_no_latency() -> None:
    rows = [("a", "C", 1, 0, at, 99, None, 0, "sent", "away") for at in (60, 50)]
    rows.append(("a", "S", 2, 5, 30, 31, None, 0, "come", "there"))
    (row,) = end_to_end([dict(zip(OF_MESSAGES, each, strict=True)) for each in rows])
    assert (row["published_ns"], row["delivered_ns"], row["latency_ns"]) == (50, 31, None)


def test_a_message_published_and_delivered() -> None:
    rows = [
        ("a", "C", 1, 0, 10, 11, None, 0, "sent", "away"),
        ("a", "S", 2, 5, 30, 31, "q", 0, "come", "there"),
        ("b", "S", 2, 9, 40, 41, "q", 1, "-", "-"),
    ]
    (row,) = end_to_end([dict(zip(OF_MESSAGES, each, strict=True)) for each in rows])
    assert (row["published_on"], row["delivered_on"], row["latency_ns"]) == (1, 2, 21)
    assert (row["published_at"], row["published_ns"], row["delivered_at"], row["delivered_ns"]) == ("sent", 10, "there", 31)


@pytest.mark.parametrize("table", [*TABLES.values(), END_TO_END], ids=lambda table: table.name)
def test_every_column_of_then_has_one_of_today(table: TableSchema) -> None:
    """The columns in files that version 1 wrote, in their order."""
    (path,) = (TABLES_1 / table.name).rglob("*.parquet")
    folders = PARTITIONS if table is not END_TO_END else ()
    assert pq.read_schema(path).names == [name for name in former_names(table) if name not in folders]


def test_names_follow_from_those_of_today() -> None:
    assert [former_name(name) for name in ("ts", "ts_ns", "said_at", "said", "ending")] == [
        "ts_ns",
        "ts_ns",
        "said_ns",
        "said",
        "end",
    ]
    assert set(RENAMED) <= {name for table in TABLES.values() for name in table.names}


def test_only_two_versions_are_read() -> None:
    assert [refusal(version) for version in (1, 2)] == [None, None]
    assert refusal(3) == "tables of schema 3, and this version knows 1 and 2"
    assert refusal("x" * 99) == f"tables of schema {'x' * 20}, and this version knows 1 and 2"


def test_the_columns_stand_in_their_order_once_each() -> None:
    assert len(set(PACKET_NAMES)) == len(PACKET_NAMES) == len(PACKETS)
    assert PACKET_NAMES[:4] == ("capture", "file_id", "offset", "ts_ns")


def test_picked_columns_stand_in_the_order_of_the_table() -> None:
    assert [column.name for column in picked("payload, ts_ns")] == ["ts_ns", "payload"]
    assert picked(None) == picked(PACKET_NAMES) == PACKETS


@pytest.mark.parametrize("words", ["nothing", "", "ts_ns,,payload", ()])
def test_a_column_that_is_none_is_refused(words: str | tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="there are capture, file_id"):
        picked(words)


def test_spark_gets_what_may_be_null() -> None:
    assert ddl(picked("ts_ns,note")) == "`ts_ns` bigint NOT NULL, `note` string"
