"""Messages and rows made by hand."""

from __future__ import annotations

import pyarrow as pa

from amqp_sansio.captures.columns.tables import message_batch, transfer_batch
from amqp_sansio.captures.replay.rows import NOTHING, Rows, TransferKind, TransferRecord
from amqp_sansio.captures.tables import COMMON, TABLES
from amqp_sansio.kernel.serials import RangeSet

Named = dict[str, object]
TIMES = {
    "ts": "first",
    "last_octet_at": "last",
    "acquired_at": "acquired",
    "completed_at": "completed",
    "accepted_at": "accepted",
    "settled_at": "settled",
}


def message(id: int | None = 1, *, fleeting: bool = False, settled: bool = False, last: int = 100) -> TransferRecord:
    kind = TransferKind("C" if fleeting else "S", None, 1, None, None, not settled, True, False, True, 12)
    return TransferRecord(kind, NOTHING, None, id, 0, 0, last, last, last, None, 0, 0)


def named(rows: Rows, table: str) -> list[Named]:
    """The rows of a table, by what rows say: times are ns since 1970 UTC."""
    names = TABLES[table].said[len(COMMON) :]
    common = "capture", "broker", 1
    found: list[Named] = []
    if table == "messages":
        return exactly(message_batch(common, rows.messages).select(list(names)), rows.messages) if rows.messages else []
    if table == "commands" and rows.transfers:
        found = exactly(transfer_batch(common, rows.transfers).select(list(names)), rows.transfers)
    return found + [dict(zip(names, row, strict=True)) for row in rows.by_table[table]]


def exactly(batch: pa.RecordBatch, messages: list[TransferRecord]) -> list[Named]:
    """The rows of a batch of these messages, with their times as they stand there: batches cut them."""
    made: list[Named] = batch.to_pylist()
    for row, one in zip(made, messages, strict=True):
        row.update({name: getattr(one, of) for name, of in TIMES.items() if name in row})
    return made


def ids(*ranges: tuple[int, int]) -> RangeSet:
    return RangeSet(ranges)
