from __future__ import annotations

import pytest
from tests.captures.variants import CAPTURE_COLUMNS

from amqp_sansio.captures.schema import Table, Type, in_ns, is_time
from amqp_sansio.captures.tables import COMMON, DEFAULT_TABLES, PARTITIONS, TABLES

each_table = pytest.mark.parametrize("table", TABLES.values(), ids=list(TABLES))


@each_table
def test_every_table_begins_with_the_common_columns_and_its_time(table: Table) -> None:
    assert table.columns[: len(COMMON)] == COMMON
    time, exactly = table.columns[len(COMMON) :][:2]
    assert (time.name, time.type, time.nullable) == ("ts", Type.TIME, False)
    assert (exactly.name, exactly.type, exactly.nullable) == ("ts_ns", Type.LONG, False)
    assert len(set(table.names)) == len(table.names)


@each_table
def test_every_column_says_what_it_is(table: Table) -> None:
    for column in table.columns:
        assert column.text.endswith(".")
        if column.name.endswith("_ns"):
            assert column.unit.startswith("ns")
        if "octets" in column.name or column.name in ("file_offset", "stream_offset"):
            assert column.unit == "octets" or column.name.endswith(("_ns", "_at"))


@each_table
def test_times_have_names_of_their_own_and_what_is_beside_them_says_the_same(table: Table) -> None:
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
