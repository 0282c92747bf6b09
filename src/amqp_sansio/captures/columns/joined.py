"""End-to-end latencies of many messages at once: what `captures.joins` says of rows, said of columns.

Ids become numbers, and for each delivery the latest publication before its end is found by bisection in one sorted column: a
hundred times as quick as going over the rows, and without an engine for SQL.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from amqp_sansio.captures.columns.tables import table_schema
from amqp_sansio.captures.joins import END_TO_END

COLUMNS: Final = ("message_id", "direction", "connection", "stream_offset", "queue", "redelivered", "ts_ns", "last_octet_ns")
"""The columns of `messages` that it needs."""


def end_to_end(messages: pa.Table) -> pa.Table:
    """The rows of END_TO_END, made of COLUMNS of `messages`: what END_TO_END_SQL gives, in any order."""
    schema = table_schema(END_TO_END)
    named = messages.filter(pc.is_valid(messages["message_id"]))
    published = named.filter(pc.equal(named["direction"], "C"))
    delivered = named.filter(pc.and_(pc.equal(named["direction"], "S"), pc.is_valid(named["last_octet_ns"])))
    ids = pc.unique(published["message_id"])
    delivered = delivered.filter(pc.is_in(delivered["message_id"], value_set=ids))
    if not delivered.num_rows:
        return schema.empty_table()
    begun, ended = _numbers(published["ts_ns"]), _numbers(delivered["last_octet_ns"])
    times = np.unique(np.concatenate([begun, ended]))
    keys = _numbers(pc.index_in(published["message_id"], value_set=ids)) * len(times) + np.searchsorted(times, begun)
    wanted = _numbers(pc.index_in(delivered["message_id"], value_set=ids)) * len(times) + np.searchsorted(times, ended)
    # The last of those that are equal is the one that counts, as in the query.
    order = np.lexsort((_numbers(published["stream_offset"]), _numbers(published["connection"]), keys))
    keys = keys[order]
    place = np.searchsorted(keys, wanted, "right") - 1
    found = (place >= 0) & (keys[place] // len(times) == wanted // len(times))
    published = published.take(pa.array(order[place[found]]))
    delivered = delivered.filter(pa.array(found))
    columns = {
        "message_id": delivered["message_id"],
        "published_on": published["connection"],
        "delivered_on": delivered["connection"],
        "queue": delivered["queue"],
        "redelivered": delivered["redelivered"],
        "published_ns": published["ts_ns"],
        "delivered_ns": delivered["last_octet_ns"],
        "latency_ns": pc.subtract(delivered["last_octet_ns"], published["ts_ns"]),
    }
    return pa.table([columns[name] for name in schema.names], schema=schema)


def _numbers(column: pa.ChunkedArray) -> NDArray[np.int64]:
    found: NDArray[np.int64] = column.to_numpy().astype(np.int64)
    return found
