"""Messages and rows made by hand."""

from __future__ import annotations

from amqp_sansio.captures.columns.messages import message_batch, transfer_batch
from amqp_sansio.captures.replay.message import NOTHING, Kind, Message
from amqp_sansio.captures.replay.rows import Rows
from amqp_sansio.captures.tables import COMMON, TABLES
from amqp_sansio.kernel.serials import RangeSet

Named = dict[str, object]


def message(id: int | None = 1, *, fleeting: bool = False, settled: bool = False, last: int = 100) -> Message:
    kind = Kind("C" if fleeting else "S", None, 1, None, None, not settled, True, False, True, 12)
    return Message(kind, NOTHING, None, id, 0, 0, last, last, last, None, 0, 0)


def named(rows: Rows, table: str) -> list[Named]:
    """The rows of a table, by column."""
    names = TABLES[table].names[len(COMMON) :]
    common = "capture", "broker", 1
    found: list[Named] = []
    if table == "messages":
        return message_batch(common, rows.messages).select(list(names)).to_pylist() if rows.messages else []
    if table == "commands" and rows.transfers:
        found = transfer_batch(common, rows.transfers).select(list(names)).to_pylist()
    return found + [dict(zip(names, row, strict=True)) for row in rows.by_table[table]]


def ids(*ranges: tuple[int, int]) -> RangeSet:
    return RangeSet(ranges)
