"""Generates the page of the capture tables from their definitions."""

from __future__ import annotations

from typing import Final

from amqp_sansio.captures.replay import rows
from amqp_sansio.captures.tables import (
    COMMON,
    END_TO_END,
    END_TO_END_SQL,
    FORMER_VERSION,
    PARTITIONS,
    SCHEMA_VERSION,
    TABLES,
    TableSchema,
)
from amqp_sansio.captures.views import VIEWS

_HEAD: Final = f"""# Tables of captures

Captures become Parquet files (zstd) in `DIR/<table>/`, in folders by {" and ".join([f"`{name}`" for name in PARTITIONS])},
with `DIR/_MANIFEST.json` written last: files that it does not list are not published. Spark writes them; without Spark,
`analyze --engine local` and `amqp_sansio.captures.columns.local.run(captures, folder)` write the same rows in one process
(extra `tables`).

Times are timestamps (UTC, whole microseconds), in `ts` and in columns that end in `_at`. Times that a reader
compares or subtracts are also there in nanoseconds since 1970 UTC, under a name that ends in `_ns`; durations are nanoseconds,
too. This is schema version {SCHEMA_VERSION}; readers also accept folders of version {FORMER_VERSION}
([how each column changed](schema-versions.md)).

A nullable column is null if its value cannot be known: the capture began later, or octets are missing. What depends on them
has the outcome `unknown` and is no violation. Each loss is one row of `violations` with the rule `gap`.

A row is written when no later word can change it. Open rows wait within limits: {rows.OPEN_MESSAGES} messages and
{rows.OPEN_COMMANDS} other commands of each side of a session, beyond which the oldest is written as `unknown`; a published
message waits for an accept, which not every broker sends, until {rows.GRACE_MESSAGES} later ones are complete.

"""


def capture_tables_page() -> str:
    """Returns every table, column by column."""
    parts = [_HEAD]
    for table in TABLES.values():
        asked = "" if table.default else " Only on request."
        parts.append(f"\n## {table.name}\n\nOne row for each {table.row}. {table.text}{asked}\n\n{_columns(table)}")
    about = f"One row for each {END_TO_END.row}. {END_TO_END.text}\nMade by `captures.columns.end_to_end`, or by any engine:"
    parts.append(f"\n## Joined: {END_TO_END.name}\n\n{about}\n\n```sql{END_TO_END_SQL}```\n\n{_columns(END_TO_END)}")
    for view in VIEWS.values():
        parts.append(f"\n## View: {view.name}\n\n{view.text}\n\n```sql{view.sql}```\n")
    return "".join(parts)


def _columns(table: TableSchema) -> str:
    lines = ["| column | type | unit | null | |", "|---|---|---|---|---|"]
    for column in table.columns:
        if column in COMMON and table.name != "connections":
            continue
        kind = column.type.value.replace("<", "&lt;").replace("|", "\\|")
        null = "may be" if column.nullable else "never"
        lines.append(f"| `{column.name}` | {kind} | {column.unit} | {null} | {column.text.replace('|', chr(92) + '|')} |")
    head = "" if table.name == "connections" or table is END_TO_END else _common()
    return head + "\n".join(lines) + "\n"


def _common() -> str:
    return f"{', '.join([f'`{column.name}`' for column in COMMON])} as in `connections`, then:\n\n"
