"""Late files of a stream: files with packets older than what was already judged of their connections.

The replay sees such packets after the later ones: they count as repeated, leave a gap, or begin a connection whose rest has
passed, and written rows stay as they are.  The file is therefore reported, with how much of it came too late.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Final

import attrs
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen

from amqp_sansio.captures.columns.heads import Ints
from amqp_sansio.captures.columns.replay import TableRecords
from amqp_sansio.captures.columns.tables import schema_of
from amqp_sansio.errors.core import many

LATE: Final = "late"
"""The name of the tasks' reports about it; not a published table."""
LATE_SCHEMA: Final = schema_of(
    "capture string NOT NULL, packets bigint NOT NULL, octets bigint NOT NULL,"
    " first_ns bigint NOT NULL, last_ns bigint NOT NULL"
)
"""A row: what came too late of one file on one connection."""
SLACK_NS: Final = 100_000_000
"""Nanoseconds that a packet may be older than what was judged before its file is reported: threads of one capture program
reorder packets by less at the end of a file.  Rows of `capture.time` report any step."""
NAMED: Final = 100
"""The most late files listed one by one; the others are counted together."""


@frozen(order=True, kw_only=True)
class Late:
    """What came too late of one file: packets, octets of TCP streams in them, and when the first and the last of them
    were captured (ns since 1970 UTC).  `batch` is the stream's batch with the file.  Without a `capture` it is the sum of
    `files`."""

    batch: int
    capture: str
    packets: int
    octets: int
    first_ns: int
    last_ns: int
    files: int = 1

    def __str__(self) -> str:
        who = self.capture or f"{self.files} more file{'' if self.files == 1 else 's'}"
        packets = f"{many(self.packets, 'packet')} with {many(self.octets, 'octet')}"
        return f"{who}: too late: {packets}, {_at(self.first_ns)} to {_at(self.last_ns)}, older than what was already judged"


class Lateness:
    """Checks the packets of one connection in one batch of a stream.

    `latest_ns` is the latest time before them; 0 when there were none.
    """

    def __init__(self, latest_ns: int) -> None:
        self.latest_ns = latest_ns
        """The latest time of all packets so far."""
        self._before: Final = latest_ns - SLACK_NS
        self._found: Final[list[pa.RecordBatch]] = []

    def look(self, packets: pa.RecordBatch) -> None:
        """Checks the next packets, before they are replayed."""
        times: Ints = packets.column("ts_ns").to_numpy()
        self.latest_ns = max(self.latest_ns, int(times.max(initial=0)))
        if not (times < self._before).any():
            return
        octets = pc.cast(pc.binary_length(packets.column("payload")), pa.int64())
        named = pa.Table.from_arrays(
            [packets.column("capture"), octets, packets.column("ts_ns")], ["capture", "octets", "ts_ns"]
        )
        late = pc.and_(pc.less(packets.column("ts_ns"), self._before), pc.is_null(packets.column("note")))
        self._found.append(_summed(named.filter(late)))

    def records(self, spoken: bool) -> Iterator[TableRecords]:
        """Yields what came too late, by file.

        `spoken`: AMQP is on these ports, by the packets before or by these: when the beginning of a connection comes too late,
        what came before it was not recognised, and is lost.
        """
        for batch in self._found:
            if spoken and batch.num_rows:
                yield TableRecords(LATE, batch)


def _summed(packets: pa.Table) -> pa.RecordBatch:
    sums = [("octets", "count"), ("octets", "sum"), ("ts_ns", "min"), ("ts_ns", "max")]
    by_file = packets.group_by("capture", use_threads=False).aggregate(sums)
    columns = [by_file.column(name).combine_chunks() for name in ("capture", *(f"{name}_{how}" for name, how in sums))]
    columns = [each.chunk(0) if isinstance(each, pa.ChunkedArray) else each for each in columns]
    return pa.RecordBatch.from_arrays(columns, schema=LATE_SCHEMA)


def gathered(batches: Iterable[pa.RecordBatch], batch: int) -> list[Late]:
    """Sums the tasks' reports about one batch of the stream, by file."""
    found: dict[str, Late] = {}
    for rows in batches:
        for row in rows.to_pylist():
            new = Late(batch=batch, **row)
            found[new.capture] = _added(found.get(new.capture), new)
    return [found[name] for name in sorted(found)]


def bounded(late: Iterable[Late], named: int = NAMED) -> list[Late]:
    """Returns the first ones by name, and the sum of the others; those of the latest batch stay apart, because it may be
    repeated."""
    said = sorted(late)
    latest = max((each.batch for each in said), default=-1)
    kept = [each for each in said if each.capture]
    others = [*[each for each in said if not each.capture], *kept[named:]]
    rest: dict[bool, Late] = {}
    for each in others:
        rest[each.batch == latest] = _added(rest.get(each.batch == latest), attrs.evolve(each, capture=""))
    return [*kept[:named], *rest.values()]


def late_in(manifest: bytes | None) -> list[Late]:
    """Returns the late files in a manifest; none without a manifest."""
    return [Late(**each) for each in json.loads(manifest or b"{}").get(LATE, ())]


def _added(one: Late | None, other: Late) -> Late:
    if one is None:
        return other
    return Late(
        batch=max(one.batch, other.batch),
        capture=other.capture,
        packets=one.packets + other.packets,
        octets=one.octets + other.octets,
        first_ns=min(one.first_ns, other.first_ns),
        last_ns=max(one.last_ns, other.last_ns),
        files=one.files + (0 if other.capture else other.files),
    )


def _at(ns: int) -> str:
    """Formats a time: UTC, to the millisecond."""
    return f"{datetime.fromtimestamp(ns // 1_000_000_000, UTC):%Y-%m-%dT%H:%M:%S}.{ns // 1_000_000 % 1000:03}Z"
