from __future__ import annotations

from amqp_sansio.captures.schema import Column, Table, Type

TABLE = Table(
    "things",
    "thing",
    "Things.",
    (Column("ts_ns", Type.LONG, "When.", "ns", nullable=False), Column("ranges", Type.RANGES, "Which.")),
)


def test_a_table_in_sparks_words() -> None:
    assert TABLE.ddl == "ts_ns bigint NOT NULL, ranges array<struct<first:bigint,last:bigint>>"


def test_names_and_the_columns_but_for_some() -> None:
    assert TABLE.names == ("ts_ns", "ranges")
    assert [column.name for column in TABLE.without(["ts_ns"])] == ["ranges"]
