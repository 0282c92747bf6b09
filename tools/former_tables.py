"""Converts rows of today's tables back to schema version 1, to compare values from before with those of now.

python -m tools.former_tables          lists the times that lose precision below a microsecond, by table

Every other value is converted without loss.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pyarrow as pa

from amqp_sansio.captures.columns.tables import TIME, nanoseconds, table_schema
from amqp_sansio.captures.tables import END_TO_END, TABLES, TableSchema, former_name, former_names

EVERY: Final[dict[str, TableSchema]] = {**TABLES, END_TO_END.name: END_TO_END}
"""The tables of both versions, by name."""


def source(table: TableSchema, before: str) -> str:
    """Returns today's column for a column of version 1: the one in nanoseconds where there is one."""
    return before if before in table.names else next(name for name in table.names if former_name(name) == before)


def cut(table: TableSchema) -> tuple[str, ...]:
    """Returns the columns of version 1 whose times lose what is below a microsecond."""
    kinds = table_schema(table)
    return tuple([name for name in former_names(table) if kinds.field(source(table, name)).type == TIME])


def former(table: TableSchema, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Converts a batch of today to version 1."""
    names = former_names(table)
    columns = [batch.column(source(table, name)) for name in names]
    return pa.RecordBatch.from_arrays([nanoseconds(each) if each.type == TIME else each for each in columns], names=list(names))


def differences() -> Iterator[str]:
    """Yields one line for each table with truncated times."""
    for table in EVERY.values():
        if found := cut(table):
            yield f"{table.name}: {', '.join(found)}"


if __name__ == "__main__":
    print(*differences(), sep="\n")
