"""The table of packets in Arrow."""

from __future__ import annotations

from amqp_sansio.captures.columns.schema import PACKETS_ARROW, arrow_schema
from amqp_sansio.captures.packets_schema import NAMES, PACKETS, picked


def test_arrow_holds_the_same_columns_of_the_same_types() -> None:
    assert tuple(PACKETS_ARROW.names) == NAMES
    assert [str(field.type) for field in PACKETS_ARROW] == [column.arrow for column in PACKETS]
    assert [field.nullable for field in PACKETS_ARROW] == [column.null for column in PACKETS]
    assert arrow_schema(picked("seq")).names == ["seq"]
