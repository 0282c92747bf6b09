"""Rows for tests."""

from __future__ import annotations

import pyarrow as pa

from amqp_sansio.captures.columns.tables import table_batch
from amqp_sansio.captures.tables import TABLES

NS = 1_700_000_000_000_000_000
DAY_NS = 86_400_000_000_000


def violations(count: int, broker: str = "north", day: int = 0, text: str = "text") -> pa.RecordBatch:
    """A batch of rows of `violations`, numbered by their offset."""
    start = NS + day * DAY_NS
    rows = [(start + n, "C", "violation", "rule", "said", ["a"], text, 501, None, 7, 0, n) for n in range(count)]
    return table_batch(TABLES["violations"], ("some.pcap", broker, -5), rows)
