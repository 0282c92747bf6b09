from __future__ import annotations

import pytest

from amqp_sansio.captures.schema import Table
from amqp_sansio.captures.tables import CAPTURE_COLUMNS, COMMON, DEFAULT_TABLES, PARTITIONS, TABLES

each_table = pytest.mark.parametrize("table", TABLES.values(), ids=list(TABLES))


@each_table
def test_every_table_begins_with_the_common_columns_and_its_time(table: Table) -> None:
    assert table.columns[: len(COMMON)] == COMMON
    time = table.columns[len(COMMON)]
    assert (time.name, time.nullable) == ("ts_ns", False)
    assert len(set(table.names)) == len(table.names)


@each_table
def test_every_column_says_what_it_is(table: Table) -> None:
    for column in table.columns:
        assert column.text.endswith(".")
        if column.name.endswith("_ns"):
            assert column.unit.startswith("ns")
        if "octets" in column.name or column.name in ("offset", "stream_offset"):
            assert column.unit == "octets" or column.name.endswith("_ns")


def test_partitions_and_capture_columns_are_columns() -> None:
    assert set(PARTITIONS) <= {column.name for column in COMMON}
    assert {name for table in TABLES.values() for name in table.names} >= CAPTURE_COLUMNS


def test_frames_are_written_on_request_only() -> None:
    assert set(TABLES) - set(DEFAULT_TABLES) == {"frames"}
