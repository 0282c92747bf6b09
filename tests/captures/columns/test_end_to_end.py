"""Latencies from columns are those from rows."""

from __future__ import annotations

import tempfile
from pathlib import Path
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.captures import rowwise
from tests.captures.finer import timed
from tests.captures.packets import Row, gathered

from amqp_sansio.captures.columns import end_to_end as module
from amqp_sansio.captures.columns.end_to_end import (
    COLUMNS,
    bucket_of,
    dealt,
    end_to_end,
    joined_of,
    latencies,
    with_messages,
    write_end_to_end,
)
from amqp_sansio.captures.columns.place import Written
from amqp_sansio.captures.columns.runner import records_of
from amqp_sansio.captures.columns.tables import table_schema
from amqp_sansio.captures.columns.writer import Writer, write_empty
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.tables import END_TO_END, TABLES
from bench.traffic import make

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
            "ts_ns": st.integers(0, 20).map((500).__mul__),
            "last_octet_ns": st.integers(0, 30).map((500).__mul__),
        }
    ).map(lambda row: timed(row)),
    unique_by=lambda row: (row["direction"], row["connection"], row["stream_offset"]),
    max_size=14,
)


@given(MESSAGES, st.integers(1, 15))
def test_columns_and_rows_say_the_same(rows: list[dict[str, object]], chunk: int) -> None:
    """Whatever was published and delivered, in chunks of any size."""
    chunks = [rows[at : at + chunk] for at in range(0, len(rows), chunk)]
    table = pa.Table.from_batches([pa.RecordBatch.from_pylist(each, schema=SCHEMA) for each in chunks], SCHEMA)
    made = end_to_end(table)
    assert made.schema == table_schema(END_TO_END)
    assert sorted(made.to_pylist(), key=repr) == sorted(rowwise.end_to_end(rows), key=repr)


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


def test_a_delivery_before_every_publication_of_its_id_has_no_latency() -> None:
    """The nearest of them counts: of two that began at once the one of the greater connection, as ever."""
    row = {"queue": "q", "redelivered": False, "message_id": "b", "stream_offset": 0}
    rows = [
        *({**row, "direction": "C", "connection": n, "ts_ns": at} for n, at in ((1, 50), (2, 30), (3, 30), (4, 40))),
        {**row, "direction": "C", "connection": 9, "ts_ns": 5, "message_id": "a"},
        {**row, "direction": "C", "connection": 9, "ts_ns": 5, "message_id": "c"},
        *({**row, "direction": "S", "connection": 7, "ts_ns": 1, "last_octet_ns": end} for end in (29, 30, 45)),
    ]
    made = end_to_end(pa.Table.from_pylist(rows, schema=SCHEMA)).sort_by("delivered_ns").to_pylist()
    found = [(row["published_on"], row["published_ns"], row["latency_ns"]) for row in made]
    assert found == [(3, 30, None), (3, 30, 0), (4, 40, 5)]


def bucket(parts: list[tuple[int, bool, pa.RecordBatch]], number: int) -> list[tuple[bool, pa.RecordBatch]]:
    """What was dealt into a bucket, publications first."""
    return sorted([(late, batch) for place, late, batch in parts if place == number], key=lambda part: part[0])


@given(MESSAGES, st.integers(1, 15), st.integers(1, 4))
def test_buckets_say_together_what_the_whole_says(rows: list[dict[str, object]], chunk: int, buckets: int) -> None:
    """However many messages are dealt at a time, into however many buckets."""
    chunks = [rows[at : at + chunk] for at in range(0, len(rows), chunk)]
    parts = [part for each in chunks for part in dealt(pa.Table.from_pylist(each, schema=SCHEMA), buckets)]
    assert all(0 <= place < buckets and batch.num_rows for place, _, batch in parts)
    found = [row for number in range(buckets) for made in latencies(bucket(parts, number)) for row in made.to_pylist()]
    assert sorted(found, key=repr) == sorted(rowwise.end_to_end(rows), key=repr)


def test_deliveries_are_looked_up_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOKED_UP", 2)
    row = {"queue": "q", "redelivered": False, "connection": 1, "message_id": "a", "ts_ns": 1, "last_octet_ns": 2}
    rows = [{**row, "direction": "C", "stream_offset": 0}, *({**row, "direction": "S", "stream_offset": n} for n in range(5))]
    parts = [part for each in rows for part in dealt(pa.Table.from_pylist([each], schema=SCHEMA), 1)]
    assert [made.num_rows for made in latencies(bucket(parts, 0))] == [2, 2, 1]
    assert not list(latencies(bucket(parts[:1], 0)))


@given(st.lists(st.text("abé", max_size=20), min_size=1))
def test_an_id_has_one_bucket_whatever_stands_beside_it(ids: list[str]) -> None:
    together = bucket_of(pa.chunked_array([ids]), 7).tolist()
    assert together == [bucket_of(pa.chunked_array([[each]]), 7)[0] for each in ids]


@pytest.mark.parametrize("low", [0, 64, 120])
def test_ids_that_count_up_are_spread(low: int) -> None:
    """Whichever octets of the UUIDs are those that count."""
    ids = [str(UUID(int=number << low & (1 << 128) - 1)) for number in range(1, (1 << min(8, 128 - low)) * 64)]
    ids = list(dict.fromkeys(ids))
    counts = np.bincount(bucket_of(pa.chunked_array([ids]), 8), minlength=8)
    assert counts.max() < 2.5 * len(ids) / 8


NEVER = 1 << 40


@pytest.fixture(scope="module")
def messages(tmp_path_factory: pytest.TempPathFactory) -> list[Row]:
    path = tmp_path_factory.mktemp("traffic") / "x.pcap"
    make(path, 200_000, connections=4)
    return gathered(records_of([str(path)], ReplayOptions()))["messages"]


def written(folder: Path, rows: list[Row]) -> list[Written]:
    """These messages in two files."""
    files: list[Written] = []
    for part in (rows[::2], rows[1::2]):
        writer = Writer(str(folder), "x")
        files += writer.add("messages", pa.RecordBatch.from_pylist(part, schema=table_schema(TABLES["messages"])))
        files += writer.rest()
    return files


@pytest.mark.parametrize("here", [0, NEVER])
@pytest.mark.parametrize("buckets", [1, 7])
def test_the_join_is_that_of_the_plain_rows(
    messages: list[Row], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, here: int, buckets: int
) -> None:
    (tmp_path / "work").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "work"))
    monkeypatch.setattr(module, "ROWS_READ", 50)
    monkeypatch.setattr(module, "ROWS_OF_A_BUCKET", 10)
    monkeypatch.setattr(module, "BUCKETS", buckets)
    (file,) = write_end_to_end(written(tmp_path, messages), str(tmp_path), str(tmp_path), here)
    found = pq.read_table(file.path).to_pylist()
    assert found
    assert sorted(map(repr, found)) == sorted(map(repr, rowwise.end_to_end(messages)))
    assert file.rows == len(found)
    assert not list((tmp_path / "work").iterdir())


@pytest.mark.parametrize("here", [-1, NEVER])
def test_without_messages_there_is_an_empty_file(tmp_path: Path, here: int) -> None:
    (file,) = write_end_to_end([write_empty(str(tmp_path), "messages")], str(tmp_path), str(tmp_path), here)
    assert (file.table, file.folder, file.rows) == (END_TO_END.name, "", 0)
    assert pq.read_schema(file.path) == table_schema(END_TO_END)


def test_only_messages_are_joined() -> None:
    files = [Written(table, "", "x", rows, 1) for table, rows in (("messages", 1), ("messages", 0), ("dtx", 3))]
    assert with_messages(files) == files[:1]
    assert joined_of(ReplayOptions(tables=("messages",))) == [END_TO_END.name]
    assert joined_of(ReplayOptions(tables=("dtx",))) == []
