"""Schema version 1 of the tables: what each column of today was called in it, for folders that were written with it.

In version 1 times were numbers (int64), nanoseconds since 1970 UTC, in columns that ended in `_ns`.  Those of them that are
still there are what they were; a timestamp is made of the one that had its name.
"""

from __future__ import annotations

from typing import Final

from amqp_sansio.captures.schema import Table, in_ns, is_time
from amqp_sansio.captures.tables import SCHEMA_VERSION

FORMER_VERSION: Final = 1
"""The version that is read besides `captures.tables.SCHEMA_VERSION`."""
RENAMED: Final = {"ending": "end", "file_offset": "offset", "ended_at": "end_ns"}
"""What a column was called, where that does not follow from `in_ns`."""


def refusal(version: object) -> str | None:
    """Why tables of this schema version cannot be read; None where they can."""
    if version in (FORMER_VERSION, SCHEMA_VERSION):
        return None
    return f"tables of schema {str(version)[:20]}, and this version knows {FORMER_VERSION} and {SCHEMA_VERSION}"


def former_name(name: str) -> str:
    """What the column `name` was called in version 1."""
    return RENAMED.get(name) or (in_ns(name) if is_time(name) else name)


def former_names(table: Table) -> tuple[str, ...]:
    """The columns that a table had in version 1, in their order."""
    return tuple(dict.fromkeys([former_name(name) for name in table.names]))
