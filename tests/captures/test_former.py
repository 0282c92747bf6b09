"""The names that columns had in schema version 1."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest
from tests.captures.finer import TABLES_1

from amqp_sansio.captures.former import RENAMED, former_name, former_names, refusal
from amqp_sansio.captures.joins import END_TO_END
from amqp_sansio.captures.schema import Table
from amqp_sansio.captures.tables import PARTITIONS, TABLES


@pytest.mark.parametrize("table", [*TABLES.values(), END_TO_END], ids=lambda table: table.name)
def test_every_column_of_then_has_one_of_today(table: Table) -> None:
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
