"""A segment: received messages in one Arrow file, named by its number and its branch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa

from amqp_sansio.spark.live.disk import sync, told
from amqp_sansio.spark.live.errors import LiveError

FORM: Final = "1"
"""The format of segments, written into each."""
SLICE_ROWS: Final = 10_000
"""The most rows of one batch that is read."""
SLICE_OCTETS: Final = 4 * 1024 * 1024
"""Approximate octets of bodies and headers of one batch that is read."""

_SCHEMA: Final = pa.schema([
    ("queue", pa.string()), ("received", pa.int64()), ("header", pa.large_binary()), ("body", pa.large_binary()),
])  # fmt: skip


class Taken(NamedTuple):
    """A message as it was received, not decoded."""

    queue: str
    """The queue that it was on."""
    received: int
    """When it arrived, in microseconds since 1970."""
    header: bytes
    """The raw header segment."""
    body: bytes

    @property
    def octets(self) -> int:
        """Its octets, as counted against limits."""
        return len(self.header) + len(self.body)


def write(path: Path, messages: Sequence[Taken]) -> None:
    """Writes and syncs a segment.  Raises LiveError when the disk fails; then there is none."""
    columns = [
        pa.array([each[at] for each in messages], field.type) for at, field in enumerate(_SCHEMA)
    ]  # fmt: skip
    batch = pa.RecordBatch.from_arrays(columns, schema=_SCHEMA.with_metadata({"form": FORM}))
    with told(path):
        try:
            with path.open("wb") as file:
                with pa.ipc.new_file(file, batch.schema) as writer:
                    writer.write_batch(batch)
                sync(file)
        except OSError:
            path.unlink(missing_ok=True)
            raise


def read(path: Path) -> Iterator[tuple[int, Any]]:
    """Yields the batches of a segment (Any: RecordBatch), each with the position of its first row.

    Raises LiveError when it cannot be read.
    """
    try:
        with pa.memory_map(str(path)) as file:
            reader = pa.ipc.open_file(file)
            if (reader.schema.metadata or {}).get(b"form") != FORM.encode():
                raise LiveError(f"{path}: is not a segment of a spool")
            first = 0
            for number in range(reader.num_record_batches):
                batch = reader.get_batch(number)
                for start, rows in _slices(batch):
                    yield first + start, batch.slice(start, rows)
                first += batch.num_rows
    except (OSError, pa.ArrowException) as error:
        raise LiveError(
            f"{path}: cannot be read: {str(error).splitlines()[0] if str(error) else type(error).__name__}"
        ) from error


def _slices(batch: Any) -> Iterator[tuple[int, int]]:
    start = 0
    rows = batch.num_rows
    if not rows:
        return
    octets = sum(each.nbytes for each in batch.columns) / rows
    many = max(1, min(SLICE_ROWS, int(SLICE_OCTETS / max(octets, 1))))
    while start < rows:
        yield start, min(many, rows - start)
        start += many
