"""The columns of packets as an Arrow schema."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from amqp_sansio.captures.packets_schema import PACKETS, Column


def arrow_schema(columns: tuple[Column, ...] = PACKETS) -> pa.Schema:
    """Returns the Arrow schema of these columns."""
    kinds = {"string": pa.string(), "binary": pa.binary(), "int16": pa.int16(), "int32": pa.int32(), "int64": pa.int64()}
    return pa.schema([pa.field(column.name, kinds[column.arrow], nullable=column.null) for column in columns])


_KINDS: Final = {
    "string": pa.string(), "int": pa.int32(), "bigint": pa.int64(), "boolean": pa.bool_(), "binary": pa.binary(),
}  # fmt: skip


def schema_of(ddl: str) -> pa.Schema:
    """Returns the Arrow schema of columns in Spark's DDL: `name type`, or `name type NOT NULL`, comma-separated."""
    columns = [column.split(maxsplit=2) for column in ddl.split(",")]
    return pa.schema([pa.field(name, _KINDS[kind], not never_null) for name, kind, *never_null in columns])


PACKETS_ARROW: Final = arrow_schema()
"""The schema of all columns."""
