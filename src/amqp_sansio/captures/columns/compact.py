"""Merges small files of tables into larger ones: the same rows in fewer files, published like any run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Final

import pyarrow.parquet as pq
from attrs import frozen

from amqp_sansio.captures.columns.place import MANIFEST, STREAM, Place, Written
from amqp_sansio.captures.columns.published import BATCH_ROWS
from amqp_sansio.captures.columns.store import listed
from amqp_sansio.captures.columns.writer import opened_file, unique
from amqp_sansio.captures.errors import PlaceError, told
from amqp_sansio.captures.locations import located

FILE_OCTETS: Final = 64 * 1024 * 1024
"""The most octets of a merged file.  A file with half of them is not merged any more."""
FEW_FILES: Final = 4
"""A run that has just written files merges them only if a table has at least this many small ones for a day and broker."""
_OF_A_BATCH: Final = re.compile(r"b(\d+)-[^/]*\.parquet")


@frozen
class Compacted:
    """The result for a folder: the number of files of its tables before and after, and their octets."""

    out: str
    files_before: int
    files: int
    octets_before: int
    octets: int


def batch_of(path: str) -> int:
    """Returns the number of the latest stream batch in a file; -1 for other files."""
    found = _OF_A_BATCH.fullmatch(path.rpartition("/")[2])
    return int(found.group(1)) if found else -1


def groups_of(
    files: Iterable[Written], octets: int = FILE_OCTETS, few: int = FEW_FILES, alike: bool = False
) -> list[list[Written]]:
    """Returns groups of files worth merging: at least `few` of one table, day and broker, together at most `octets`.

    `alike`: only files of about the same size, within a factor of 16, so that repeated merges rewrite each row only a few
    times.
    """
    small: dict[tuple[str, str, int], list[Written]] = {}
    for file in sorted(files, key=lambda file: file.path):
        if 2 * file.octets < octets:
            size = file.octets.bit_length() // 4 if alike else 0
            small.setdefault((file.table, file.folder, size), []).append(file)
    found: list[list[Written]] = []
    for of in small.values():
        group: list[Written] = []
        for file in of:
            if sum(each.octets for each in group) + file.octets > octets:
                found.append(group)
                group = []
            group.append(file)
        found.append(group)
    return [group for group in found if len(group) >= max(few, 2)]


def merged(group: Sequence[Written], place: str) -> Written:
    """Merges the rows of these files, all of one table, day and broker, into one file below `place`.

    In a stream, the file counts to the latest batch of theirs.
    """
    where = located(place)
    first = group[0]
    number = max(batch_of(each.path) for each in group)
    file = None
    for each in group:
        with where.system.open_input_file(each.path) as stream, pq.ParquetFile(stream) as source:
            if file is None:
                name = unique("part" if number < 0 else f"b{number:08d}")
                file = opened_file(where, first.table, first.folder, name, source.schema_arrow)
            for batch in source.iter_batches(BATCH_ROWS, use_threads=False):
                file.add(batch)
    assert file is not None
    return file.written()


def without(files: Iterable[Written], groups: Iterable[Sequence[Written]]) -> list[Written]:
    """Returns the files that are in no group."""
    gone = {each.path for group in groups for each in group}
    return [file for file in files if file.path not in gone]


def compact(folder: str, octets: int = FILE_OCTETS) -> Compacted:
    """Merges the small files of the tables in `folder`.  Readers use the old ones until the new manifest exists.

    Of a stream, the files of the latest batch stay as they are, because the stream may repeat it.  Raises PipelineError, with
    the tables unchanged, when nothing is published there, another run is writing there, or the merge fails.
    """
    with told("the files cannot be merged"):
        place = Place(folder)
        if place.read(MANIFEST) is None:
            raise PlaceError(f"{place.name}: no tables were published there")
        place.open()
        try:
            files = before = place.published()
            groups = groups_of(_done(files) if place.read(STREAM) is not None else files, octets, 2)
            if groups:
                made = [merged(group, place.work) for group in groups]
                kept = without(files, groups)
                said = json.loads(place.read(MANIFEST) or b"{}")
                said["tables"] = listed(place, [*made, *kept], said["tables"])
                files = place.publish(made, json.dumps(said, indent=1).encode() + b"\n", kept)
        finally:
            place.discard()
    return Compacted(
        place.name, len(before), len(files), sum(file.octets for file in before), sum(file.octets for file in files)
    )


def _done(files: Sequence[Written]) -> list[Written]:
    """Returns the files of stream batches that are certainly committed: all but the latest one."""
    last = max((batch_of(file.path) for file in files), default=-1)
    return [file for file in files if 0 <= batch_of(file.path) < last]
