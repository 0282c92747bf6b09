from __future__ import annotations

from amqp_sansio.captures.schema import Column, Table, Type, at, exactly, in_ns, is_time

TABLE = Table(
    "things",
    "thing",
    "Things.",
    (*exactly("ts", "When.", nullable=False), at("said_at", "When, too."), Column("ranges", Type.RANGES, "Which.")),
)


def test_a_table_in_sparks_words() -> None:
    assert TABLE.ddl == (
        "ts timestamp NOT NULL, ts_ns bigint NOT NULL, said_at timestamp, ranges array<struct<first:bigint,last:bigint>>"
    )


def test_names_and_the_columns_but_for_some() -> None:
    assert TABLE.names == ("ts", "ts_ns", "said_at", "ranges")
    assert [column.name for column in TABLE.without(["ts"])] == ["ts_ns", "said_at", "ranges"]


def test_a_row_says_a_time_once() -> None:
    assert TABLE.said == ("ts", "said_at", "ranges")
    assert [in_ns(name) for name in ("ts", "said_at")] == ["ts_ns", "said_ns"]
    assert [is_time(name) for name in ("ts", "said_at", "ts_ns", "at", "that")] == [True, True, False, False, False]
