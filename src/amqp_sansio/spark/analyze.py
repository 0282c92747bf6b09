"""`analyze`: captures of any size to tables, published whole or not at all."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from attrs import frozen

from amqp_sansio.captures.columns.place import Place, Written
from amqp_sansio.captures.columns.store import manifest_of
from amqp_sansio.captures.columns.writer import write_empty
from amqp_sansio.captures.joins import END_TO_END
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.spark.errors import PipelineError
from amqp_sansio.spark.failures import remedied, told
from amqp_sansio.spark.findings import Damage, Findings, findings_in
from amqp_sansio.spark.joined import SOURCE, end_to_end, write_end_to_end
from amqp_sansio.spark.output import STREAM
from amqp_sansio.spark.passes import read_tables, replayed, split, write_replayed
from amqp_sansio.spark.session import cores_of, prepare
from amqp_sansio.spark.sources import files_of, octets_of, read_bundles, read_packets

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

OCTETS_OF_A_TASK: Final = 64 * 1024 * 1024
"""Octets of captures that one task replays, about; what it sorts beyond its memory is spilled to disk."""
LEAST_OF_A_TASK: Final = 1024 * 1024
"""Octets below which work is not cut further."""
TASKS_OF_A_CORE: Final = 8
"""Tasks for each core, if there are octets for so many: one with the busiest connections does not keep all others waiting."""
MORE_TASKS_OF_A_CORE: Final = 16
"""The same on several cores where each task then still has ENOUGH_OF_A_TASK: at the end fewer cores wait for the last one,
which is more than the 20 ms that a task costs."""
ENOUGH_OF_A_TASK: Final = 16 * 1024 * 1024
"""Octets of captures."""


@frozen
class Outcome:
    """What was published, and how long it took in seconds.

    `rows` of each table, the number of `files` and their `octets`; `findings` are the rows of `violations` by level, `damage`
    the first of the places in captures that cannot be read.
    """

    out: str
    rows: Mapping[str, int]
    files: int
    octets: int
    findings: Mapping[str, int]
    seconds: float
    damage: Sequence[Damage] = ()


def analyze(
    spark: SparkSession,
    captures: Sequence[str],
    out: str | None = None,
    plan: ReplayOptions | None = None,
    *,
    tasks: int | None = None,
    options: Mapping[str, str] | None = None,
) -> Mapping[str, DataFrame]:
    """The tables of these captures, by name, as data frames.

    With `out` they are published there first, as `run` does it.  Without, nothing is written but what Spark keeps on disk while
    the session lasts; the pass runs when the first table is used.  `tasks` is how many replay (None: by cores and octets);
    `options` are those of the data source `amqp_capture`.  PipelineError when a capture cannot be read or the work fails.
    """
    plan = plan or ReplayOptions()
    if out is not None:
        run(spark, captures, out, plan, tasks=tasks, options=options)
        return read_tables(spark, out, [*plan.tables, *_joined(plan)])
    prepare(spark)
    with told("the captures cannot be read"):
        files = files_of(captures)
        packets = read_packets(spark, files, options)
    tables = split(replayed(packets, plan, tasks or tasks_for(spark, files)), plan.tables)
    if _joined(plan):
        tables[END_TO_END.name] = end_to_end(spark, tables[SOURCE])
    return tables


def run(
    spark: SparkSession,
    captures: Sequence[str],
    out: str,
    plan: ReplayOptions,
    *,
    tasks: int | None = None,
    options: Mapping[str, str] | None = None,
) -> Outcome:
    """Analyzes captures and publishes the tables in the folder `out`, in the place of those of an earlier run.

    PipelineError, and `out` as it was before, when a capture cannot be read, the folder not be written, or the work fails.
    """
    began = time.monotonic()
    with told("the captures cannot be read"):
        place = Place(out)
        sources = files_of(captures)
        place.open()
    try:
        if place.read(STREAM) is not None:
            raise PipelineError(f"{out}: holds what `watch` writes; analyze into another folder")
        prepare(spark)
        tasks = tasks or tasks_for(spark, sources)
        try:
            files = _written(spark, sources, place, plan, tasks, options)
        except PipelineError as error:
            options = remedied(error, options)
            if options is None:
                raise
            files = _written(spark, sources, place, plan, tasks, options)
        written = {file.table for file in files}
        with told("nothing was published"):
            files += [write_empty(place.work, table) for table in plan.tables if table not in written]
        if _joined(plan):
            with told("the latencies cannot be joined, nothing was published"):
                files += write_end_to_end(spark, files, place.work, place.work)
        with told("nothing was published"):
            findings = findings_in(files, place.work)
            place.publish(files, manifest_of(place, files, sources, plan))
    finally:
        place.discard()
    return outcome(out, plan, files, findings, began)


def _written(
    spark: SparkSession,
    captures: Sequence[str],
    place: Place,
    plan: ReplayOptions,
    tasks: int,
    options: Mapping[str, str] | None,
) -> list[Written]:
    with told("the analysis failed, nothing was published"):
        return write_replayed(read_bundles(spark, captures, tasks, options), plan, tasks, place.work, "part")


def _joined(plan: ReplayOptions) -> list[str]:
    """The tables that are joined from those of the plan."""
    return [END_TO_END.name] if SOURCE in plan.tables else []


def tasks_for(spark: SparkSession, captures: Sequence[str]) -> int:
    """How many tasks replay these captures."""
    cores, octets = cores_of(spark), octets_of(captures)
    some = min(TASKS_OF_A_CORE * cores, octets // LEAST_OF_A_TASK)
    more = min(MORE_TASKS_OF_A_CORE * cores, octets // ENOUGH_OF_A_TASK) if cores > 1 else 0
    return max(cores, some, more, octets // OCTETS_OF_A_TASK)


def outcome(out: str, plan: ReplayOptions, files: Sequence[Written], findings: Findings, began: float) -> Outcome:
    """What files that were published hold."""
    rows = dict.fromkeys([*plan.tables, *_joined(plan)], 0)
    for file in files:
        rows[file.table] += file.rows
    octets = sum(file.octets for file in files)
    return Outcome(out, rows, len(files), octets, findings.levels, time.monotonic() - began, findings.damage)
