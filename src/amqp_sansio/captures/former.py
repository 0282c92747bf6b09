"""Schema version 1 of the tables: the former names of today's columns, for folders written with it.

In version 1 times were numbers (int64), nanoseconds since 1970 UTC, in columns ending in `_ns`.  Those that still exist are
unchanged; a timestamp is derived from the one with its former name.
"""

from __future__ import annotations

from typing import Final

from amqp_sansio.captures.schema import Table, in_ns, is_time
from amqp_sansio.captures.tables import SCHEMA_VERSION

FORMER_VERSION: Final = 1
"""The version that can be read besides `captures.tables.SCHEMA_VERSION`."""
RENAMED: Final = {"ending": "end", "file_offset": "offset", "ended_at": "end_ns"}
"""Former names that `in_ns` does not give."""


def refusal(version: object) -> str | None:
    """Returns why tables of this schema version cannot be read; None when they can."""
    if version in (FORMER_VERSION, SCHEMA_VERSION):
        return None
    return f"tables of schema {str(version)[:20]}, and this version knows {FORMER_VERSION} and {SCHEMA_VERSION}"


def former_name(name: str) -> str:
    """Returns the name of column `name` in version 1."""
    return RENAMED.get(name) or (in_ns(name) if is_time(name) else name)


def former_names(table: Table) -> tuple[str, ...]:
    """Returns the columns that a table had in version 1, in order."""
    return tuple(dict.fromkeys([former_name(name) for name in table.names]))
