"""What a table is: columns with type, unit and text; their form in Spark's words.  `captures.tables` holds them all.

Nothing is imported for it: `captures.columns` makes Arrow schemas of the same definitions, `spark/` the schemas of data frames,
the docs a page.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Final, NamedTuple


class Type(Enum):
    """The type of a column; the value is Spark's name for it."""

    STRING = "string"
    INT = "int"
    LONG = "bigint"
    BOOL = "boolean"
    BINARY = "binary"
    DATE = "date"
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
    """A table: one row for each `row`.  Tables that are not in `default` are written when asked for."""

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
    def ddl(self) -> str:
        """The columns in Spark's DDL, as `DataFrame` readers and `applyInArrow` take it."""
        return ", ".join([column.ddl for column in self.columns])

    def without(self, names: Iterable[str]) -> tuple[Column, ...]:
        """The columns but for some."""
        left_out: Final = frozenset(names)
        return tuple([column for column in self.columns if column.name not in left_out])
