"""`watch`: captures to tables as they are written, as a stream: exactly once, continuing where it stopped.

The output of a stream is the files of its batches, and the manifest that names them, written after each batch.  The files of a
batch carry its number, so a repeated batch replaces its earlier files.
"""

from __future__ import annotations

import json
import signal
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import attrs

from amqp_sansio.captures.columns.compact import batch_of, groups_of, merged, without
from amqp_sansio.captures.columns.end_to_end import SOURCE
from amqp_sansio.captures.columns.late import LATE, LATE_SCHEMA, Late, bounded, gathered, late_in
from amqp_sansio.captures.columns.place import MANIFEST, STREAM, Place, Written
from amqp_sansio.captures.columns.published import rows_in
from amqp_sansio.captures.columns.store import PublishedTables, findings_in, manifest_of, outcome
from amqp_sansio.captures.columns.writer import write_empty
from amqp_sansio.captures.locations import located
from amqp_sansio.captures.replay.options import IDLE_HOURS, MOST_IDLE_HOURS, ReplayOptions
from amqp_sansio.captures.tables import END_TO_END, FORMER_VERSION, SCHEMA_VERSION
from amqp_sansio.spark.errors import PipelineError, reason_of, remedied, told
from amqp_sansio.spark.follower import followed, open_records
from amqp_sansio.spark.passes import write_tables
from amqp_sansio.spark.session import is_connect, prepare, see_that_spark_knows
from amqp_sansio.spark.source import stream_bundles
from amqp_sansio.spark.writer import write_end_to_end

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


CONNECT: Final = "watch does not run through Spark Connect: give it a master (local[N], spark://host:port, yarn, k8s://...)"
"""The reason: our stream writes with foreachBatch in this process, and reads its state from the checkpoint."""
MARKER: Final = "_amqp-sansio.json"
"""The file in the checkpoint that identifies its stream and that stream's options."""
TRIGGER: Final = "10 seconds"
"""How often a stream looks for files.  A batch takes a second whatever is in it, so a shorter interval is costly."""
RESTARTS: Final = 4
"""Failures in a row, without a finished batch between them, after which the stream ends."""
COMMIT_PAUSE: Final = 0.05
"""Seconds between two checks, when the stream is stopped, whether the last batch was committed."""
FIRST_PAUSE: Final = 1.0
"""Seconds before the first restart; each further one waits twice as long."""


class Watch:
    """A stream over the capture files that arrive in `folder`, into the tables at `out`.

    `checkpoint` records what the stream has done; `options` are those of the source `amqp_capture`.  The stream calls `warn`
    with one sentence about each late file.  The state of a pair of addresses and ports expires after `idle_hours` without
    packets (0 to 100,000; 0: never).

    Raises PipelineError when `out` and `checkpoint` are of different streams, when the stream was started with another plan,
    or when it fails repeatedly; ValueError for other hours.
    """

    def __init__(
        self,
        spark: SparkSession,
        folder: str,
        out: str,
        checkpoint: str,
        plan: ReplayOptions | None = None,
        *,
        options: Mapping[str, str] | None = None,
        idle_hours: float = IDLE_HOURS,
        warn: Callable[[str], None] = lambda text: None,
    ) -> None:
        if not 0 <= idle_hours <= MOST_IDLE_HOURS:
            raise ValueError(f"{idle_hours} hours are not between 0 and {MOST_IDLE_HOURS:.0f}")
        if is_connect(spark):
            raise PipelineError(CONNECT)
        self._spark: Final = prepare(spark)
        self._folder: Final = folder
        self._checkpoint: Final = checkpoint.rstrip("/")
        self._plan: Final = plan or ReplayOptions()
        self._idle_hours: Final = float(idle_hours)
        self._options = options
        self._warn: Final = warn
        self._late: list[Late] = []
        with told("the stream cannot be started"):
            self._place: Final = Place(out)
            self._memory: Final = Place(checkpoint)
        see_that_spark_knows(spark, checkpoint)
        self._output: Output | None = None
        self._stop: Final = threading.Event()

    def stop(self) -> None:
        """Ends the stream after the present batch.  What connections have open stays in the stream's state."""
        self._stop.set()

    def run(self, once: bool = False, trigger: str = TRIGGER) -> PublishedTables:
        """Follows the folder until `stop` or, with `once`, until everything there has been read; publishes each batch.

        At the end of `once` it also publishes the rows of connections that are still open, for which it reads the stream's
        whole state; `stop` skips that.  SIGINT and SIGTERM stop it, if it runs in the main thread.
        """
        began = time.monotonic()
        with told("the stream cannot be started"):
            self._place.open()
        try:
            self._belong_together()
            with _on_signals(self.stop):
                self._supervise(once, trigger)
            with told("the tables cannot be completed"):
                self._settle(with_open=not self._stop.is_set())
            files = self._place.published()
        finally:
            self._place.discard()
        return outcome(self._place.name, self._plan, files, findings_in(files, self._place.name), began, self._late)

    def start(self, once: bool, trigger: str = TRIGGER) -> StreamingQuery:
        """Starts or restarts the query."""
        self._output = Output(self._place, self._folder, self._plan, self._warn)
        bundles = stream_bundles(self._spark, self._folder, self._options, self._plan.ports)
        writer = followed(bundles, self._plan, self._idle_hours).writeStream.foreachBatch(self._output)
        writer = writer.option("checkpointLocation", self._checkpoint).outputMode("append")
        return (writer.trigger(availableNow=True) if once else writer.trigger(processingTime=trigger)).start()

    def _supervise(self, once: bool, trigger: str) -> None:
        """Runs the query, and restarts it when it fails: a crashed source ends a query, and the next one continues where it
        was."""
        failures = 0
        while not self._stop.is_set():
            with told("the stream cannot be started"):
                query = self.start(once, trigger)
            output = self._output
            assert output is not None
            try:
                while query.isActive and not self._stop.is_set():
                    query.awaitTermination(1)
                if self._stop.is_set():
                    output.close()
                    # A written batch counts only when Spark has committed it: if the stream stopped before, it would be
                    # repeated.
                    while query.isActive and self._committed() < output.last:
                        time.sleep(COMMIT_PAUSE)
                    query.stop()
                query.awaitTermination()
            except Exception as error:
                if self._stop.is_set():
                    return
                self._options = remedied(error, self._options) or self._options
                failures = 0 if output.batches else failures + 1
                if failures >= RESTARTS:
                    raise PipelineError(f"the stream failed {failures} times: {reason_of(error)}") from error
                self._stop.wait(FIRST_PAUSE * 2.0**failures)
                continue
            return

    def _committed(self) -> int:
        """Returns the number of the latest batch that Spark has committed; -1 when there is none."""
        return self._memory.last_number("commits")

    def _settle(self, with_open: bool) -> None:
        """Publishes the finished rows of the stream, their latencies, and on request the open rows in its state."""
        place = self._place
        output = Output(place, self._folder, self._plan)
        last = self._committed()
        # A batch that was written and not committed will be repeated.
        settled = [file for file in output.files if 0 <= batch_of(file.path) <= last]
        files: list[Written] = []
        if with_open and last >= 0:
            files += write_tables(open_records(self._spark, self._checkpoint, self._plan), place.work, OPEN)
        if SOURCE in self._plan.tables:
            files += write_end_to_end(self._spark, [*settled, *files], place.name, place.work)
        output.late = self._late = [each for each in output.late if each.batch <= last]
        output.publish(files, settled.__contains__)

    def _belong_together(self) -> None:
        """Checks that output and checkpoint belong to one stream, which was started with the same plan."""
        out, checkpoint, memory = self._place.name, self._checkpoint, self._memory
        ours, theirs = self._place.read(STREAM), memory.read(MARKER)
        plan = {**attrs.asdict(self._plan), "idle_hours": self._idle_hours}
        for place, said in ((out, ours), (checkpoint, theirs)):
            version = SCHEMA_VERSION if said is None else json.loads(said).get("schema", FORMER_VERSION)
            if version != SCHEMA_VERSION:
                raise PipelineError(
                    f"{place}: the stream writes tables of schema {version}, and this version writes {SCHEMA_VERSION}:"
                    " continue with the version that began it, or start over with another folder and another checkpoint"
                )
        if theirs is None and ours is None:
            if self._place.read(MANIFEST) is not None or self._place.files():
                raise PipelineError(f"{out}: holds tables that are not of a stream; watch into another folder")
            marked = {"stream": uuid.uuid4().hex, "folder": self._folder, "schema": SCHEMA_VERSION, "plan": plan}
            said = json.dumps(marked).encode()
            self._place.write(STREAM, said)
            memory.make()
            memory.write(MARKER, said)
            return
        if theirs is None and not self._place.files():  # killed between writing the two marks
            memory.make()
            memory.write(MARKER, ours or b"")
            return
        if ours is None or theirs is None or json.loads(ours)["stream"] != json.loads(theirs)["stream"]:
            raise PipelineError(f"{out} and the checkpoint {checkpoint} are not of the same stream")
        # A stream of an earlier version has no expiry, and its state no field for it.
        before: dict[str, Any] = {"idle_hours": 0.0, **json.loads(theirs)["plan"]}
        changed = [name for name, value in json.loads(json.dumps(plan)).items() if before.get(name) != value]
        if "idle_hours" in changed:
            changed[changed.index("idle_hours")] = f"idle_hours ({before['idle_hours']:g})"
        if changed:
            raise PipelineError(f"the stream began with another {', '.join(changed)}: continue with the same, or start over")


@contextmanager
def _on_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Calls `stop` on SIGINT and SIGTERM, within the block."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, lambda *_: stop()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


OPEN: Final = "open"
"""Prefix of files with rows of open connections; the next batch removes them."""
MERGED_FILES: Final = 16
"""This many small files of one table, day and broker are merged into one, to keep the manifest short, which every batch
writes."""


class Output:
    """Publishes the batches of one run of a stream; called by `foreachBatch`."""

    def __init__(self, place: Place, folder: str, plan: ReplayOptions, warn: Callable[[str], None] = lambda text: None) -> None:
        """Calls `warn` with one sentence about each late file, once its batch is published."""
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
            self.publish(written, lambda file: 0 <= batch_of(file.path) < batch or file.table == END_TO_END.name)
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
            groups = groups_of([file for file in kept if batch_of(file.path) >= 0], few=MERGED_FILES, alike=True)
            files += [merged(group, self.place.work) for group in groups]
            kept = without(kept, groups)
            files += [write_empty(self.place.work, table) for table in self._plan.tables if table not in have]
            manifest = manifest_of(self.place, [*files, *kept], [self._folder], self._plan, "spark", late=self.late)
            self.files = self.place.publish(files, manifest, kept)
