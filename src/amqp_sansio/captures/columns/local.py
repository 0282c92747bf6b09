"""`analyze` in this process alone, without Spark or Java: the same tables, in the same folder.

Memory is bounded whatever the size of the captures: by `runner` and `writer`, and by `end_to_end` at the end.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from amqp_sansio.captures.columns.compact import FILE_OCTETS, groups_of, merged, without
from amqp_sansio.captures.columns.end_to_end import write_end_to_end
from amqp_sansio.captures.columns.place import Written
from amqp_sansio.captures.columns.process import rarely
from amqp_sansio.captures.columns.runner import records_of
from amqp_sansio.captures.columns.store import PublishedTables, opened, outcome, publish
from amqp_sansio.captures.columns.writer import Writer
from amqp_sansio.captures.errors import told
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.source import files_of


def run(
    captures: Sequence[str],
    out: str,
    plan: ReplayOptions | None = None,
    progress: Callable[[str, int], None] = lambda path, octets: None,
    file_octets: int = FILE_OCTETS,
) -> PublishedTables:
    """Analyzes captures (files, folders, patterns) and publishes the tables in the folder `out`, replacing those of an earlier
    run.

    `progress` is called now and then with a file and how many octets of it have been read.  `file_octets` is the most octets of
    a file of a table after small ones were merged.  Raises PipelineError, with `out` as it was before, when a capture cannot be
    read, the folder cannot be written, or the run fails.  While it runs, the garbage collector runs rarely in this process (see
    `process.rarely`).
    """
    plan = plan or ReplayOptions()
    began = time.monotonic()
    with told("the captures cannot be read"):
        sources = files_of(captures)
        place = opened(out)
    try:
        files: list[Written] = []
        with told("the analysis failed, nothing was published"), rarely():
            writer = Writer(place.work, "part")
            for table, batch in records_of(sources, plan, progress):
                files += writer.add(table, batch)
            files += writer.rest()
            groups = groups_of(files, file_octets)
            files = [*without(files, groups), *[merged(group, place.work) for group in groups]]
        files, findings = publish(
            place, files, sources, plan, "local", lambda files: write_end_to_end(files, place.work, place.work)
        )
    finally:
        place.discard()
    return outcome(out, plan, files, findings, began)
