"""The tables of captures by one plain process: what Spark is measured against."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from amqp_sansio.captures.columns.read import read_files
from amqp_sansio.captures.columns.replay import ConnectionReplay
from amqp_sansio.spark.writer import Writer


def tables(captures: list[str], out: Path) -> int:
    """Writes all tables below `out`, as the executors of Spark do it; gives the number of rows."""
    shutil.rmtree(out, ignore_errors=True)
    replays: dict[int, ConnectionReplay] = {}
    writer = Writer(str(out), "part")
    rows = 0
    for batch in read_files(captures):
        # One file is in the order of time already; what is needed is one connection after the other.
        for key, packets in by_connection(batch):
            replay = replays.get(key)
            if replay is None:
                replay = replays[key] = ConnectionReplay()
            for table, records in replay.feed(packets):
                rows += records.num_rows
                list(writer.add(table, records))
    for replay in replays.values():
        for table, records in replay.finish():
            rows += records.num_rows
            list(writer.add(table, records))
    list(writer.rest())
    return rows


def by_connection(batch: pa.RecordBatch) -> list[tuple[int, pa.RecordBatch]]:
    """A batch cut into one for each connection, each in the order of the file."""
    order = pc.sort_indices(batch, sort_keys=[("connection", "ascending"), ("offset", "ascending")])
    ordered = batch.take(order)
    keys = ordered.column("connection").to_pylist()
    found, start = [], 0
    for at in range(1, len(keys) + 1):
        if at == len(keys) or keys[at] != keys[start]:
            found.append((keys[start], ordered.slice(start, at - start)))
            start = at
    return found
