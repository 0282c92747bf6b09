"""Completes and publishes the tables of a run, whichever engine wrote the files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Final, Literal, TypeAlias

import attrs

from amqp_sansio.captures.columns.end_to_end import joined_of
from amqp_sansio.captures.columns.failures import told
from amqp_sansio.captures.columns.findings import Findings, findings_in
from amqp_sansio.captures.columns.late import LATE, Late
from amqp_sansio.captures.columns.place import STREAM, Place, Written
from amqp_sansio.captures.columns.writer import write_empty
from amqp_sansio.captures.errors import PlaceError
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.tables import SCHEMA_VERSION

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
) -> tuple[list[Written], Findings]:
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
