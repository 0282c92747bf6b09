"""`analyze`: captures of any size to tables, published atomically."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from amqp_sansio.captures.columns.compact import FILE_OCTETS
from amqp_sansio.captures.columns.end_to_end import SOURCE, joined_of
from amqp_sansio.captures.columns.place import Place, Written
from amqp_sansio.captures.columns.store import PublishedTables, opened, outcome, publish
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.source import files_of, octets_of
from amqp_sansio.captures.tables import END_TO_END
from amqp_sansio.spark.errors import PipelineError, remedied, told
from amqp_sansio.spark.passes import replayed, split, write_replayed
from amqp_sansio.spark.session import cores_of, prepare
from amqp_sansio.spark.source import read_bundles, read_packets
from amqp_sansio.spark.views import read_tables
from amqp_sansio.spark.writer import end_to_end, merged_in_tasks, write_end_to_end

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

OCTETS_OF_A_TASK: Final = 64 * 1024 * 1024
"""Approximate octets of captures that one task replays; what it sorts beyond its memory is spilled to disk."""
LEAST_OF_A_TASK: Final = 1024 * 1024
"""Work with fewer octets is not divided further."""
TASKS_OF_A_CORE: Final = 8
"""Tasks per core, with several cores and enough octets: a task with the busiest connections holds up no others."""
MORE_TASKS_OF_A_CORE: Final = 16
"""The same where each task still has ENOUGH_OF_A_TASK: at the end fewer cores wait for the last one, which outweighs the 20 ms
that a task costs."""
ENOUGH_OF_A_TASK: Final = 16 * 1024 * 1024
"""Octets of captures."""


def analyze(
    spark: SparkSession,
    captures: Sequence[str],
    out: str | None = None,
    plan: ReplayOptions | None = None,
    *,
    tasks: int | None = None,
    options: Mapping[str, str] | None = None,
) -> Mapping[str, DataFrame]:
    """Returns the tables of these captures, by name, as data frames.

    With `out` it first publishes them there, as `run` does.  Without it, nothing is written but what Spark keeps on disk while
    the session lasts, and the pass runs when the first table is used.  `tasks` is the number of Spark tasks that replay (None:
    by cores and octets); `options` are those of the data source `amqp_capture`.  Raises PipelineError when a capture cannot be
    read or the work fails.
    """
    plan = plan or ReplayOptions()
    if out is not None:
        run(spark, captures, out, plan, tasks=tasks, options=options)
        return read_tables(spark, out, [*plan.tables, *joined_of(plan)])
    prepare(spark)
    with told("the captures cannot be read"):
        files = files_of(captures)
        packets = read_packets(spark, files, options)
    tables = split(replayed(packets, plan, tasks or tasks_for(spark, files)), plan.tables)
    if joined_of(plan):
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
    file_octets: int = FILE_OCTETS,
) -> PublishedTables:
    """Analyzes captures and publishes the tables in the folder `out`, replacing those of an earlier run.

    `file_octets` is the most octets of a file of a table after small ones were merged.  Raises PipelineError, with `out` as it
    was before, when a capture cannot be read, the folder cannot be written, or the work fails.
    """
    began = time.monotonic()
    with told("the captures cannot be read"):
        sources = files_of(captures)
        place = opened(out)
    try:
        prepare(spark)
        tasks = tasks or tasks_for(spark, sources)
        try:
            files = _written(spark, sources, place, plan, tasks, options)
        except PipelineError as error:
            options = remedied(error, options)
            if options is None:
                raise
            files = _written(spark, sources, place, plan, tasks, options)

        with told("the files cannot be merged, nothing was published"):
            files = merged_in_tasks(spark, files, place.work, file_octets)

        def join(files: Sequence[Written]) -> list[Written]:
            with told("the latencies cannot be joined, nothing was published"):
                return write_end_to_end(spark, files, place.work, place.work)

        files, findings = publish(place, files, sources, plan, "spark", join)
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
        return write_replayed(read_bundles(spark, captures, tasks, options, plan.ports), plan, tasks, place.work, "part")


def tasks_for(spark: SparkSession, captures: Sequence[str]) -> int:
    """Returns how many tasks replay these captures."""
    cores, octets = cores_of(spark), octets_of(captures)
    least = max(cores, octets // OCTETS_OF_A_TASK)
    if cores == 1:  # no other core could wait for the last task, and fewer tasks leave fewer files to merge
        return least
    some = min(TASKS_OF_A_CORE * cores, octets // LEAST_OF_A_TASK)
    more = min(MORE_TASKS_OF_A_CORE * cores, octets // ENOUGH_OF_A_TASK)
    return max(least, some, more)
