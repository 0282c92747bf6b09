"""Converts times between nanoseconds since 1970 and the timestamps (UTC, microseconds) of tables."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

from amqp_sansio.captures.columns.heads import Ints

TIME: Final = pa.timestamp("us", "UTC")
"""The type of every column of times, which Spark, DuckDB and pandas read as a timestamp."""
NANOSECONDS: Final = 1000
"""Nanoseconds per microsecond."""


def moments(ns: pa.Array) -> pa.Array:
    """Converts nanoseconds (int64) to times, truncated to microseconds, so that they keep their order."""
    # NumPy divides eight times as fast as Arrow, and a table of messages has nine columns of times.
    return _counted(ns, TIME, _whole(ns) // NANOSECONDS)


def nanoseconds(times: pa.Array) -> pa.Array:
    """Converts times to nanoseconds since 1970 (int64)."""
    return _counted(times, pa.int64(), _whole(times) * NANOSECONDS)


def _whole(column: pa.Array) -> Ints:
    """Returns the numbers of a column of 64 bits, from the start of its memory."""
    octets = column.buffers()[1]
    if octets is None or not len(column):
        return np.zeros(0, np.int64)
    return np.frombuffer(octets, np.int64, column.offset + len(column))


def _counted(column: pa.Array, kind: pa.DataType, numbers: Ints) -> pa.Array:
    """Returns a column with these numbers, and null where the given column is null."""
    if not len(column):
        return pa.array([], kind)
    validity = column.buffers()[0]
    return pa.Array.from_buffers(kind, len(column), [validity, pa.py_buffer(numbers)], column.null_count, column.offset)
