from __future__ import annotations

import sqlite3

from hypothesis import given
from hypothesis import strategies as st
from tests.captures.rowwise import end_to_end

from amqp_sansio.captures.joins import END_TO_END, END_TO_END_SQL

NAMES = (
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
    base.execute(f"CREATE TABLE messages ({', '.join(NAMES)})")
    base.executemany(f"INSERT INTO messages VALUES ({', '.join('?' * len(NAMES))})", rows)
    found = sorted(base.execute(END_TO_END_SQL).fetchall(), key=repr)
    base.close()
    made = list(end_to_end([dict(zip(NAMES, row, strict=True)) for row in rows]))
    assert sorted([tuple(row.values()) for row in made], key=repr) == found
    assert all(tuple(row) == END_TO_END.names for row in made)


def test_a_delivery_before_its_publication_has_no_latency() -> None:
    rows = [("a", "C", 1, 0, at, 99, None, 0, "sent", "away") for at in (60, 50)]
    rows.append(("a", "S", 2, 5, 30, 31, None, 0, "come", "there"))
    (row,) = end_to_end([dict(zip(NAMES, each, strict=True)) for each in rows])
    assert (row["published_ns"], row["delivered_ns"], row["latency_ns"]) == (50, 31, None)


def test_a_message_published_and_delivered() -> None:
    rows = [
        ("a", "C", 1, 0, 10, 11, None, 0, "sent", "away"),
        ("a", "S", 2, 5, 30, 31, "q", 0, "come", "there"),
        ("b", "S", 2, 9, 40, 41, "q", 1, "-", "-"),
    ]
    (row,) = end_to_end([dict(zip(NAMES, each, strict=True)) for each in rows])
    assert (row["published_on"], row["delivered_on"], row["latency_ns"]) == (1, 2, 21)
    assert (row["published_at"], row["published_ns"], row["delivered_at"], row["delivered_ns"]) == ("sent", 10, "there", 31)
