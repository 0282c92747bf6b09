"""Where a stream writes: files named after the batch, so that a batch that is done again takes its own place."""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING, Final

from amqp_sansio.captures.columns.store import MANIFEST
from amqp_sansio.spark.errors import PipelineError
from amqp_sansio.spark.passes import write_tables
from amqp_sansio.spark.place import Place

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

OPEN: Final = "open"
"""How the names of files begin that hold what open connections have said so far; the next batch takes them away."""
_OF_A_BATCH: Final = re.compile(r"b(\d+)-\d+\.parquet")


class Output:
    """Writes the batches of one start of a stream (what `foreachBatch` calls)."""

    def __init__(self, place: Place) -> None:
        self.place: Final = place
        self.batches = 0
        """Batches done since the start."""
        self.last = -1
        """The number of the latest of them; -1 before the first."""
        self._closed = False
        self._busy: Final = threading.Lock()

    @staticmethod
    def number(name: str) -> int:
        """The number of the batch that a file is of; -1 for other files."""
        found = _OF_A_BATCH.fullmatch(name)
        return int(found.group(1)) if found else -1

    def close(self) -> None:
        """Waits for the batch that is being written, and lets no other begin."""
        with self._busy:
            self._closed = True

    def __call__(self, records: DataFrame, batch: int) -> None:
        """Writes the envelopes of one batch: all files, or, when it is killed, some that the next try removes."""
        with self._busy:
            if self._closed:
                raise PipelineError("the stream is being stopped")
            if not self.batches:
                # What was open may be settled now, and this batch may have been killed when it was half done.
                self.place.forget(MANIFEST)
                self.place.drop(lambda name: name.startswith(f"{OPEN}-") or self.number(name) >= batch)
            self.place.adopt(write_tables(records, self.place.work, "batch"), f"b{batch:08d}")
            self.batches += 1
            self.last = batch
