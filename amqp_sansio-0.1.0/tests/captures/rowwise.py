"""End-to-end latency joined row by row: what the joins by columns and by SQL are held against."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

Row = Mapping[str, object]


def end_to_end(messages: Iterable[Row]) -> Iterator[dict[str, object]]:
    """The rows of END_TO_END, made of rows of `messages`: what END_TO_END_SQL gives.  All of them are held at once."""
    published: dict[object, list[Row]] = {}
    delivered: list[Row] = []
    for row in messages:
        if row["message_id"] is not None:
            if row["direction"] == "C":
                published.setdefault(row["message_id"], []).append(row)
            else:
                delivered.append(row)
    for row in delivered:
        end = _whole(row, "last_octet_ns")
        of_id = published.get(row["message_id"], ())
        before = [each for each in of_id if _whole(each, "ts_ns") <= end]
        if of_id:
            when = (max if before else min)([_whole(each, "ts_ns") for each in before or of_id])
            tied = [each for each in of_id if _whole(each, "ts_ns") == when]
            start = max(tied, key=lambda each: [_whole(each, name) for name in ("connection", "stream_offset")])
            begun = _whole(start, "ts_ns")
            yield {
                "message_id": row["message_id"],
                "published_on": start["connection"],
                "delivered_on": row["connection"],
                "queue": row["queue"],
                "redelivered": row["redelivered"],
                "published_at": start["ts"],
                "published_ns": begun,
                "delivered_at": row["last_octet_at"],
                "delivered_ns": end,
                "latency_ns": end - begun if before else None,
            }


def _whole(row: Row, name: str) -> int:
    value = row[name]
    assert isinstance(value, int)
    return value
