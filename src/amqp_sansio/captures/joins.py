"""Joins across connections on finished tables: end-to-end latency of messages.  (Branches: `captures.views`.)

The join is SQL, for Spark and DuckDB; `columns.joined` does the same on columns.
"""

from __future__ import annotations

from typing import Final

from amqp_sansio.captures.schema import Column, Table, Type, exactly

END_TO_END: Final = Table(
    "end_to_end",
    "delivery of a message that was published under the same message-id",
    "From the first octet published to the last octet delivered; a message delivered twice has two rows. Of several"
    " publications under one id the latest counts that began before the delivery ended, by the recorded times. Where all"
    " began later (a clock that stepped back, clocks that disagree, a message passed on under its id) the first of them"
    " counts, without a latency. Without any there is no row.",
    (
        Column("message_id", Type.STRING, "UUID that its publisher gave it.", nullable=False),
        Column("published_on", Type.LONG, "Connection of the publisher.", nullable=False),
        Column("delivered_on", Type.LONG, "Connection of the consumer.", nullable=False),
        Column("queue", Type.STRING, "Queue that it was delivered from; null unknown."),
        Column("redelivered", Type.BOOL, "Whether the broker says that somebody may have had it."),
        *exactly("published_at", "First octet of the publication.", nullable=False),
        *exactly("delivered_at", "Last octet of the delivery.", nullable=False),
        Column("latency_ns", Type.LONG, "`delivered_ns` - `published_ns`; null where that is below zero.", "ns"),
    ),
)

END_TO_END_SQL: Final = """
SELECT message_id, published_on, delivered_on, queue, redelivered, published_at, published_ns, delivered_at, delivered_ns,
       CASE WHEN published_ns <= delivered_ns THEN delivered_ns - published_ns END AS latency_ns
FROM (
  SELECT d.message_id, p.connection AS published_on, d.connection AS delivered_on, d.queue, d.redelivered,
         p.ts AS published_at, p.ts_ns AS published_ns, d.last_octet_at AS delivered_at, d.last_octet_ns AS delivered_ns,
         row_number() OVER (
           PARTITION BY d.connection, d.direction, d.stream_offset
           ORDER BY CASE WHEN p.ts_ns <= d.last_octet_ns THEN 1 ELSE 2 END, abs(p.ts_ns - d.last_octet_ns),
                    p.connection DESC, p.stream_offset DESC
         ) AS place
  FROM messages d JOIN messages p ON p.message_id = d.message_id
  WHERE d.direction = 'S' AND p.direction = 'C' AND d.last_octet_ns IS NOT NULL
) AS pairs
WHERE place = 1
"""
