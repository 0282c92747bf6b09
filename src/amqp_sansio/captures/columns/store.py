"""Completes and publishes the tables of a run, whichever engine wrote the files; and says what was published and found."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Literal, TypeAlias

import attrs
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from attrs import field, frozen
from pyarrow import fs

from amqp_sansio.captures.columns.end_to_end import joined_of
from amqp_sansio.captures.columns.late import LATE, Late
from amqp_sansio.captures.columns.place import STREAM, Place, Written
from amqp_sansio.captures.columns.published import rows_in
from amqp_sansio.captures.columns.tables import table_schema
from amqp_sansio.captures.columns.writer import write_empty
from amqp_sansio.captures.errors import PlaceError, told
from amqp_sansio.captures.locations import located
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.tables import END_TO_END, SCHEMA_VERSION, TABLES

TABLE: Final = "violations"
DAMAGE: Final = "damage"
"""The level of damage in a file."""
NAMED: Final = 100
"""The most unreadable places listed one by one; the others are counted."""

_SCHEMA: Final = table_schema(TABLES[TABLE])
_NAMED: Final = ("level", "capture", "file_offset", "text")


@frozen(order=True)
class Damage:
    """A place in a capture that cannot be read: its (decompressed) offset, and the reason in one sentence."""

    capture: str
    offset: int
    text: str

    def __str__(self) -> str:
        return f"{self.capture}: {f'octet {self.offset}: ' if self.offset else ''}{self.text}"


@frozen
class FindingCounts:
    """Rows per level, the first unreadable places of captures in order, and deliveries without a latency because, by the
    recorded times, they ended before their publication began."""

    levels: dict[str, int] = field(factory=dict)
    damage: tuple[Damage, ...] = ()
    early: int = 0


def findings_in(files: Sequence[Written], place: str, named: int = NAMED) -> FindingCounts:
    """Returns the findings in these files, in the file system of `place`; holds only counts and the listed places."""
    levels: dict[str, int] = {}
    damage: list[Damage] = []
    paths = [each.path for each in files if each.table == TABLE and each.rows]
    system = located(place).system
    early = sum([_nulls(system, each.path, "latency_ns") for each in files if each.table == END_TO_END.name and each.rows])
    level, about = [pa.schema([_SCHEMA.field(name) for name in names]) for names in (("level",), _NAMED)]
    for path in paths:
        for batch in rows_in(system, path, level):
            for counted in batch.column("level").value_counts().to_pylist():
                levels[counted["values"]] = levels.get(counted["values"], 0) + counted["counts"]
    for path in paths if DAMAGE in levels else ():
        for batch in rows_in(system, path, about):
            rows = batch.filter(pc.equal(batch.column("level"), DAMAGE)).to_pylist()
            damage = sorted([*damage, *(Damage(row["capture"], row["file_offset"] or 0, row["text"]) for row in rows)])[:named]
    return FindingCounts(levels, tuple(damage), early)


def _nulls(system: fs.FileSystem, path: str, name: str) -> int:
    """Returns how many values of a column are null, from the statistics in the file's footer."""
    with system.open_input_file(path) as stream, pq.ParquetFile(stream) as file:
        place = file.schema_arrow.names.index(name)
        groups = [file.metadata.row_group(number) for number in range(file.num_row_groups)]
        return sum([int(group.column(place).statistics.null_count) for group in groups])


@frozen
class PublishedTables:
    """What was published, and how long it took in seconds.

    `rows` per table, the number of `files` and their `octets`; `findings` are the rows of `violations` by level, `damage` the
    first unreadable places in captures; `late` the files that came too late for a stream; `early` the deliveries without a
    latency in `end_to_end`, because by the recorded times they ended before their publication began.
    """

    out: str
    rows: Mapping[str, int]
    files: int
    octets: int
    findings: Mapping[str, int]
    seconds: float
    damage: Sequence[Damage] = ()
    late: Sequence[Late] = ()
    early: int = 0


def outcome(
    out: str, plan: ReplayOptions, files: Sequence[Written], findings: FindingCounts, began: float, late: Sequence[Late] = ()
) -> PublishedTables:
    """Returns the outcome for files published in `out`; `began` is the start of the run by `time.monotonic`."""
    rows = dict.fromkeys([*plan.tables, *joined_of(plan)], 0)
    for file in files:
        rows[file.table] += file.rows
    octets = sum(file.octets for file in files)
    seconds = time.monotonic() - began
    return PublishedTables(out, rows, len(files), octets, findings.levels, seconds, findings.damage, late, findings.early)


NAMED_CAPTURES: Final = 1000
"""The most captures named in a manifest; it counts the others."""

Engine: TypeAlias = Literal["local", "spark"]
"""What has written the files: this process, or Spark."""


def opened(out: str) -> Place:
    """Opens the folder for a run that will replace all tables; `discard` releases it.

    Raises PlaceError when it cannot be written, another run is writing there, or it belongs to a stream; LocationError when it
    cannot be opened.
    """
    place = Place(out)
    place.open()
    if place.read(STREAM) is not None:
        place.discard()
        raise PlaceError(f"{out}: holds what `watch` writes; analyze into another folder")
    return place


def publish(
    place: Place,
    files: Sequence[Written],
    captures: Sequence[str],
    plan: ReplayOptions,
    engine: Engine,
    join: Callable[[Sequence[Written]], list[Written]],
) -> tuple[list[Written], FindingCounts]:
    """Publishes the files of a run, an empty file for each table without any, and what `join` makes of messages; returns all
    files, and the findings in `violations`.

    Raises PipelineError, with everything as it was, when that fails.
    """
    have = {file.table for file in files}
    with told("nothing was published"):
        whole = [*files, *[write_empty(place.work, table) for table in plan.tables if table not in have]]
    if joined_of(plan):
        with told("the latencies cannot be joined, nothing was published"):
            whole += join(whole)
    with told("nothing was published"):
        findings = findings_in(whole, place.work)
        place.publish(whole, manifest_of(place, whole, captures, plan, engine, map(str, findings.damage)))
    return whole, findings


def manifest_of(
    place: Place,
    files: Iterable[Written],
    captures: Sequence[str],
    options: ReplayOptions,
    engine: Engine,
    problems: Iterable[str] = (),
    late: Sequence[Late] = (),
) -> bytes:
    """Returns the manifest as JSON, the same for the same files: what was read and requested, and the files of each table.

    Paths are relative to the folder of the tables; `file_id` counts the captures, of which the first NAMED_CAPTURES are named
    and `more_captures` counts the rest (rows name theirs); `problems` are places in them that cannot be read, `late` the files
    that came too late for a stream.
    """
    said = {
        "kind": "amqp-sansio tables",
        "schema": SCHEMA_VERSION,
        "engine": engine,
        "captures": [str(each) for each in captures[:NAMED_CAPTURES]],
        **({"more_captures": len(captures) - NAMED_CAPTURES} if len(captures) > NAMED_CAPTURES else {}),
        "problems": [*problems, *map(str, late)],
        **({LATE: [attrs.asdict(each) for each in late]} if late else {}),
        "ports": list(options.ports),
        "payload": options.body_head,
        "broker": options.broker,
        "brokers": dict(options.brokers),
        "strict": options.strict,
        "tables": listed(place, files, options.tables),
    }
    return json.dumps(said, indent=1).encode() + b"\n"


def listed(place: Place, files: Iterable[Written], tables: Iterable[str]) -> dict[str, object]:
    """Returns a manifest's entries for each table: its number of rows, and its files."""
    by_table: dict[str, list[Written]] = {name: [] for name in tables}
    for file in sorted(files, key=lambda file: place.relative(file.path)):
        by_table.setdefault(file.table, []).append(file)
    return {
        name: {
            "rows": sum([each.rows for each in of]),
            "files": [{"path": place.relative(each.path), "rows": each.rows, "octets": each.octets} for each in of],
        }
        for name, of in by_table.items()
    }
