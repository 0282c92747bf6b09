"""The spool: a folder of segments.  Recorded segments survive failures of the broker, of Spark and of this process.

A segment is one Arrow file of received messages, named by its number, its size and its branch.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa

from amqp_sansio.spark.errors import LiveError, LiveSetupError
from amqp_sansio.spark.live.disk import PART, FolderLock, as_live_error, folder, put_json, sync, sync_folder
from amqp_sansio.spark.live.identity import branch_named, name_of, note_of
from amqp_sansio.spec.dtx import Xid

NOTE: Final = "spool.json"
"""The file in the folder that names its owner and the last removed segment."""
OPTION: Final = "spool"
"""The option of the live source that gives the folder."""
_NAME: Final = re.compile(r"(\d{12,20})-(\d{1,12})-(\d{1,18})-([0-9a-f]+-[0-9a-f]+)\.segment")


class Segment(NamedTuple):
    """A recorded segment."""

    number: int
    """From 1 on, in the order in which the messages were received."""
    rows: int
    octets: int
    """Octets of headers and bodies."""
    branch: str
    """The name of its branch (`identity.name_of`)."""
    name: str
    """Its file in the spool."""


def _named(name: str) -> Segment | None:
    """Returns the segment in a file of that name; None when it is no segment's name."""
    match = _NAME.fullmatch(name)
    return None if match is None else Segment(int(match[1]), int(match[2]), int(match[3]), match[4], name)


class Draft(NamedTuple):
    """A segment that is written and synced, but not recorded yet."""

    segment: Segment
    branch: Xid
    part: Path


class Spool:
    """One query's segments.  `owner` begins the global ids of its branches."""

    def __init__(self, path: Path) -> None:
        self.path: Final = folder(path, OPTION)
        self.lock: Final = FolderLock(path, OPTION)
        owner, numbers = note_of(path / NOTE, "segments", "*.segment", removed=0)
        self.owner: Final = owner
        self._removed = numbers["removed"]

    @property
    def removed(self) -> int:
        """The number of the last removed segment, 0 without one."""
        return self._removed

    def segments(self) -> list[Segment]:
        """Returns the recorded segments that were not removed, in order."""
        found = []
        try:
            paths = list(self.path.iterdir())
        except OSError as error:
            raise LiveSetupError(f"{self.path}: the spool cannot be read: {error.strerror} (option {OPTION})") from error
        for path in paths:
            segment = _named(path.name)
            if segment is not None and segment.number > self._removed:
                found.append(segment)
        return sorted(found)

    def between(self, start: int, end: int) -> list[Segment]:
        """Returns the segments after `start`, up to `end`.  Raises LiveSetupError when one does not exist (any more)."""
        found = [each for each in self.segments() if start < each.number <= end]
        if len(found) != max(end - start, 0):
            raise LiveSetupError(
                f"{self.path}: segments {start + 1} to {end} are wanted, and only {len(found)} of them are there: "
                "the checkpoint and the spool do not belong together"
            )
        return found

    def draft(self, number: int, branch: Xid, messages: Sequence[RawMessage]) -> Draft:
        """Writes and syncs messages, so that recording them needs no further space.  Raises LiveError when the disk fails."""
        named = name_of(branch)
        octets = sum([each.octets for each in messages])
        name = f"{number:012d}-{len(messages)}-{octets}-{named}.segment"
        part = self.path / (name + PART)
        write(part, messages)
        return Draft(Segment(number, len(messages), octets, named, name), branch, part)

    def drafts(self) -> list[Draft]:
        """Returns the drafts in the folder, completely written or not.  Only for the holder of the lock."""
        found = []
        for path in self.path.glob(f"*{PART}"):
            segment = _named(path.name.removesuffix(PART))
            if segment is not None:
                found.append(Draft(segment, branch_named(segment.branch), path))
        return sorted(found)

    def record(self, draft: Draft) -> Segment:
        """Records a draft as a segment.  Raises LiveError when it is not certain that it is one."""
        with as_live_error(draft.part):
            draft.part.rename(self.path / draft.segment.name)
            sync_folder(self.path)
        return draft.segment

    def withdraw(self, segment: Segment) -> None:
        """Withdraws a recorded segment that nobody has read: the broker has its messages on their queues again."""
        with as_live_error(self.path):
            (self.path / segment.name).unlink(missing_ok=True)
            sync_folder(self.path)

    def tidy(self, drafts: Sequence[Draft]) -> None:
        """Deletes drafts, and files of removed segments.  Only for the holder of the lock."""
        for draft in drafts:
            draft.part.unlink(missing_ok=True)
        for path in self.path.glob("*.segment"):
            segment = _named(path.name)
            if segment is not None and segment.number <= self._removed:
                path.unlink(missing_ok=True)

    def remove(self, number: int) -> None:
        """Removes segments up to this one: Spark will not ask for them again."""
        if number <= self._removed:
            return
        gone = [each for each in self.segments() if each.number <= number]
        put_json(self.path / NOTE, {"form": 1, "owner": self.owner.hex(), "removed": number})
        self._removed = number
        for each in gone:
            (self.path / each.name).unlink(missing_ok=True)

    def branches(self) -> dict[str, Segment]:
        """Returns the segments by the names of their branches."""
        return {each.branch: each for each in self.segments()}


FORM: Final = "1"
"""The format of segments, written into each."""
SLICE_ROWS: Final = 10_000
"""The most rows of one batch that is read."""
SLICE_OCTETS: Final = 4 * 1024 * 1024
"""Approximate octets of bodies and headers of one batch that is read."""

_SCHEMA: Final = pa.schema([
    ("queue", pa.string()), ("received", pa.int64()), ("header", pa.large_binary()), ("body", pa.large_binary()),
])  # fmt: skip


class RawMessage(NamedTuple):
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


def write(path: Path, messages: Sequence[RawMessage]) -> None:
    """Writes and syncs a segment.  Raises LiveError when the disk fails; then there is none."""
    columns = [
        pa.array([each[at] for each in messages], field.type) for at, field in enumerate(_SCHEMA)
    ]  # fmt: skip
    batch = pa.RecordBatch.from_arrays(columns, schema=_SCHEMA.with_metadata({"form": FORM}))
    with as_live_error(path):
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
    count = max(1, min(SLICE_ROWS, int(SLICE_OCTETS / max(octets, 1))))
    while start < rows:
        yield start, min(count, rows - start)
        start += count
