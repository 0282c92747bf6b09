"""The output of a stream: the files of its batches, and the manifest that names them, written after each batch.

The files of a batch carry its number, so a repeated batch replaces its earlier files.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from amqp_sansio.captures.columns.compact import batch_of, groups_of, merged, without
from amqp_sansio.captures.columns.late import LATE, LATE_SCHEMA, Late, bounded, gathered, late_in
from amqp_sansio.captures.columns.place import MANIFEST, Place, Written
from amqp_sansio.captures.columns.published import rows_in
from amqp_sansio.captures.columns.store import manifest_of
from amqp_sansio.captures.columns.writer import write_empty
from amqp_sansio.captures.joins import END_TO_END
from amqp_sansio.captures.locations import located
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.spark.errors import PipelineError
from amqp_sansio.spark.failures import told
from amqp_sansio.spark.passes import write_tables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

OPEN: Final = "open"
"""Prefix of files with rows of open connections; the next batch removes them."""
MERGED_FILES: Final = 16
"""This many small files of one table, day and broker are merged into one, to keep the manifest short, which every batch
writes."""


class Output:
    """Publishes the batches of one run of a stream; called by `foreachBatch`."""

    def __init__(self, place: Place, folder: str, plan: ReplayOptions, warn: Callable[[str], None] = lambda text: None) -> None:
        """`warn` is called with one sentence about each late file, once its batch is published."""
        self.place: Final = place
        self.files = place.published()
        """Every file that the manifest names."""
        self.late = late_in(place.read(MANIFEST))
        """The late files; the first ones are listed, the others summed up."""
        self.batches = 0
        """Batches done in this run."""
        self.last = -1
        """The number of the latest batch; -1 before the first."""
        self._folder: Final = folder
        self._plan: Final = plan
        self._warn: Final = warn
        self._closed = False
        self._busy: Final = threading.Lock()

    @staticmethod
    def number(path: str) -> int:
        """Returns the number of the latest batch in a file; -1 for other files."""
        return batch_of(path)

    def close(self) -> None:
        """Waits for the batch that is being written, and allows no further one."""
        with self._busy:
            self._closed = True

    def __call__(self, records: DataFrame, batch: int) -> None:
        """Writes the envelopes of one batch and publishes them with those of the batches before it."""
        with self._busy:
            if self._closed:
                raise PipelineError("the stream is being stopped")
            written = write_tables(records, self.place.work, f"b{batch:08d}")
            # What was open may be final now; files of this batch are from an attempt that Spark does not count.  Joined rows
            # stay: they are correct, and complete again at the end.
            late = self._late([file for file in written if file.table == LATE], batch)
            self.late = bounded([*[each for each in self.late if each.batch < batch], *late])
            written = [file for file in written if file.table != LATE]
            self.publish(written, lambda file: 0 <= self.number(file.path) < batch or file.table == END_TO_END.name)
            self.batches += 1
            self.last = batch
            for each in bounded(late):
                self._warn(str(each))

    def _late(self, told: Iterable[Written], batch: int) -> list[Late]:
        """Returns the tasks' reports about late files in a batch.  A repeated batch reports them again."""
        system = located(self.place.work).system
        files = list(told)
        late = gathered((rows for file in files for rows in rows_in(system, file.path, LATE_SCHEMA)), batch)
        for file in files:
            system.delete_file(file.path)
        return late

    def publish(self, written: Iterable[Written], stays: Callable[[Written], bool]) -> None:
        """Publishes files and the published ones that stay; a table without any gets an empty file."""
        files = list(written)
        kept = [file for file in self.files if stays(file)]
        have = {file.table for file in [*files, *kept]}
        with told("the batch cannot be published"):
            groups = groups_of([file for file in kept if self.number(file.path) >= 0], few=MERGED_FILES, alike=True)
            files += [merged(group, self.place.work) for group in groups]
            kept = without(kept, groups)
            files += [write_empty(self.place.work, table) for table in self._plan.tables if table not in have]
            manifest = manifest_of(self.place, [*files, *kept], [self._folder], self._plan, "spark", late=self.late)
            self.files = self.place.publish(files, manifest, kept)
