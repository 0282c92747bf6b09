"""Definitions of tables: columns with type, unit and text, and their DDL for Spark.  `captures.tables` has all tables.

This module imports nothing: `captures.columns` derives Arrow schemas from the definitions, `spark/` data frame schemas, the
docs a page.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Final, NamedTuple


class Type(Enum):
    """The type of a column; the value is Spark's name of it."""

    STRING = "string"
    INT = "int"
    LONG = "bigint"
    BOOL = "boolean"
    BINARY = "binary"
    DATE = "date"
    TIME = "timestamp"
    """A moment, UTC, truncated to microseconds, so that times keep their order."""
    STRINGS = "array<string>"
    RANGES = "array<struct<first:bigint,last:bigint>>"
    """Ranges of command ids, ends included."""
    COUNTS = "map<string,bigint>"


class Column(NamedTuple):
    """A column.  `unit` is "" where there is none ("ns since 1970 UTC", "octets"); `text` is one sentence."""

    name: str
    type: Type
    text: str
    unit: str = ""
    nullable: bool = True

    @property
    def ddl(self) -> str:
        """The column in Spark's DDL."""
        return f"{self.name} {self.type.value}{'' if self.nullable else ' NOT NULL'}"


class Table(NamedTuple):
    """A table with one row for each `row`.  Tables that are not `default` are written only on request."""

    name: str
    row: str
    text: str
    columns: tuple[Column, ...]
    default: bool = True

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple([column.name for column in self.columns])

    @property
    def said(self) -> tuple[str, ...]:
        """The columns that a row has a value for: all but those that repeat a timestamp in nanoseconds.

        A row holds times as whole ns since 1970 UTC.
        """
        left_out: Final = {in_ns(column.name) for column in self.columns if column.type is Type.TIME}
        return tuple([name for name in self.names if name not in left_out])

    @property
    def ddl(self) -> str:
        """The columns in Spark's DDL, for `DataFrame` readers and `applyInArrow`."""
        return ", ".join([column.ddl for column in self.columns])

    def without(self, names: Iterable[str]) -> tuple[Column, ...]:
        """Returns the columns except those named."""
        left_out: Final = frozenset(names)
        return tuple([column for column in self.columns if column.name not in left_out])


def at(name: str, text: str, nullable: bool = True) -> Column:
    """Returns a column of times."""
    return Column(name, Type.TIME, text, "UTC", nullable)


def exactly(name: str, text: str, nullable: bool = True) -> tuple[Column, Column]:
    """Returns a column of times and a second one with the same in nanoseconds, for comparing and subtracting."""
    beside = Column(in_ns(name), Type.LONG, f"`{name}` to the nanosecond.", "ns since 1970 UTC", nullable)
    return at(name, text, nullable), beside


def is_time(name: str) -> bool:
    """Whether that is the name of a column of times: `ts`, or one that ends in `_at`."""
    return name == "ts" or name.endswith("_at")


def in_ns(name: str) -> str:
    """Returns the name of the nanoseconds column for column `name`: `ts_ns` of `ts`, `said_ns` of `said_at`."""
    return f"{name.removesuffix('_at')}_ns"
