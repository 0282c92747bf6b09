"""Latencies from columns are those from rows."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.captures import joins
from amqp_sansio.captures.columns.joined import COLUMNS, end_to_end
from amqp_sansio.captures.columns.tables import table_schema
from amqp_sansio.captures.tables import TABLES

SCHEMA = pa.schema([field for field in table_schema(TABLES["messages"]) if field.name in COLUMNS])
MESSAGES = st.lists(
    st.fixed_dictionaries(
        {
            "message_id": st.sampled_from(["a", "b", "c", None]),
            "direction": st.sampled_from("CS"),
            "connection": st.integers(1, 3),
            "stream_offset": st.integers(0, 99),
            "queue": st.sampled_from(["q", None]),
            "redelivered": st.booleans(),
            "ts_ns": st.integers(0, 20),
            "last_octet_ns": st.integers(0, 30),
        }
    ),
    unique_by=lambda row: (row["direction"], row["connection"], row["stream_offset"]),
    max_size=14,
)


@given(MESSAGES, st.integers(1, 15))
def test_columns_and_rows_say_the_same(rows: list[dict[str, object]], chunk: int) -> None:
    """Whatever was published and delivered, in chunks of any size."""
    chunks = [rows[at : at + chunk] for at in range(0, len(rows), chunk)]
    table = pa.Table.from_batches([pa.RecordBatch.from_pylist(each, schema=SCHEMA) for each in chunks], SCHEMA)
    made = end_to_end(table)
    assert made.schema == table_schema(joins.END_TO_END)
    assert sorted(made.to_pylist(), key=repr) == sorted(joins.end_to_end(rows), key=repr)


def test_times_of_today_do_not_overflow() -> None:
    """Nanoseconds since 1970 times the number of ids would: they are ranked first."""
    now = 1_750_000_000_000_000_000
    row = {"queue": "q", "redelivered": False, "connection": 1, "stream_offset": 0}
    rows = [
        {**row, "message_id": str(n), "direction": way, "ts_ns": now + n, "last_octet_ns": now + n + 5}
        for n in range(1000)
        for way in "CS"
    ]
    made = end_to_end(pa.Table.from_pylist(rows, schema=SCHEMA))
    assert made.num_rows == 1000
    assert set(made["latency_ns"].to_pylist()) == {5}


def test_a_delivery_whose_end_was_not_seen_has_no_row() -> None:
    row = {"queue": "q", "redelivered": False, "connection": 1, "stream_offset": 0, "message_id": "a", "ts_ns": 1}
    rows = [{**row, "direction": "C", "last_octet_ns": 2}, {**row, "direction": "S", "last_octet_ns": None}]
    assert end_to_end(pa.Table.from_pylist(rows, schema=SCHEMA)).num_rows == 0
