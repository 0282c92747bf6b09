"""The table of packets in Arrow."""

from __future__ import annotations

from amqp_sansio.captures.columns.schema import PACKETS_ARROW, arrow_schema, schema_of
from amqp_sansio.captures.packets_schema import NAMES, PACKETS, picked


def test_arrow_holds_the_same_columns_of_the_same_types() -> None:
    assert tuple(PACKETS_ARROW.names) == NAMES
    assert [str(field.type) for field in PACKETS_ARROW] == [column.arrow for column in PACKETS]
    assert [field.nullable for field in PACKETS_ARROW] == [column.null for column in PACKETS]
    assert arrow_schema(picked("seq")).names == ["seq"]


def test_a_schema_is_read_as_spark_writes_it() -> None:
    found = schema_of("name string NOT NULL, number int, many bigint NOT NULL, flag boolean, data binary")
    assert [str(field.type) for field in found] == ["string", "int32", "int64", "bool", "binary"]
    assert [field.nullable for field in found] == [False, True, False, True, True]
