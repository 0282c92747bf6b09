"""Messages and rows made by hand."""

from __future__ import annotations

from amqp_sansio.captures.replay.message import LAST, TRANSFER_ID, Message
from amqp_sansio.captures.replay.rows import Rows
from amqp_sansio.captures.tables import COMMON, MESSAGES, TABLES
from amqp_sansio.kernel.serials import RangeSet

Named = dict[str, object]


def message(id: int | None = 1, *, fleeting: bool = False, settled: bool = False, last: int = 100) -> Message:
    row: list[object] = [None] * (len(MESSAGES.columns) - len(COMMON))
    row[0], row[1], row[TRANSFER_ID], row[LAST] = last, "S", id, last
    return Message(row, (False, True, 12), fleeting, settled)


def named(rows: Rows, table: str) -> list[Named]:
    """The rows of a table, by column."""
    names = TABLES[table].names[len(COMMON) :]
    return [dict(zip(names, row, strict=True)) for row in rows.by_table[table]]


def ids(*ranges: tuple[int, int]) -> RangeSet:
    return RangeSet(ranges)
