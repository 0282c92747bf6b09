"""Packets of captures as frames, through the data source `amqp_capture`."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from amqp_sansio.captures import remote
from amqp_sansio.captures.columns.bundles import BUNDLES
from amqp_sansio.captures.columns.gc_tuning import seldom
from amqp_sansio.captures.columns.partitioning import shared_out, weights
from amqp_sansio.captures.files import closed_in, is_remote, names_in, resolved, size_of
from amqp_sansio.captures.splits import Split, splits
from amqp_sansio.spark.session import is_local

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

TASK: Final = "task"
CUT_HERE: Final = 512 * 1024 * 1024
"""Up to this many octets of captures the driver itself reads the headers to split them: 0.2 s of CPU, less than a job costs."""
RESYNC_OCTETS: Final = 8 * 1024 * 1024
"""What a file counts as in this where its splits are found by resynchronisation."""
CUTTING_TASKS: Final = 256
"""The most tasks that split files."""


def read_packets(spark: SparkSession, captures: Sequence[str], options: Mapping[str, str] | None = None) -> DataFrame:
    """Returns the packets of these files, folders and patterns; `options` are those of `amqp_capture`."""
    from amqp_sansio.spark.source import NAME, register

    register(spark)
    return spark.read.format(NAME).options(**(options or {})).load([str(each) for each in captures])


def read_bundles(
    spark: SparkSession,
    captures: Sequence[str],
    tasks: int = 1,
    options: Mapping[str, str] | None = None,
    ports: Sequence[int] = (),
) -> DataFrame:
    """Returns the packets of these files (see `captures.inputs.files_of`) as bundles, some packets of one connection in a row,
    with the number below `tasks` of the task that replays it: TASK.

    Leaves out connections that cannot be AMQP and have none of these `ports`, where a split contains them from beginning to
    end. The splits were determined here, and go to the workers with the function that reads them.  The data source would be
    asked for them in three processes that Spark starts for nothing else, at one and a half seconds of CPU in every fresh JVM.
    """
    from amqp_sansio.spark.source import plan_of

    paths = json.dumps([str(each) for each in captures])
    asked = {"ports": ",".join(map(str, ports)), **(options or {})}
    plan = plan_of({**placing(spark), **asked, "paths": paths, "form": "bundles"})
    parts = plan.partitions(enumerate(plan.paths), cut_in_tasks(spark, plan.paths, plan.split, plan.resync))
    chosen = shared_out(weights([split for part in parts for split in part.splits]), tasks)

    def read(numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with seldom():
            for batch in numbers:
                for number in batch.column(0).to_pylist():
                    for bundles in plan.read(parts[number]):
                        yield with_task(bundles, chosen, tasks)

    return spark.range(0, len(parts), 1, len(parts)).mapInArrow(read, f"{BUNDLES}, {TASK} int NOT NULL")


def cut_in_tasks(
    spark: SparkSession, files: Sequence[str], octets: int, resync: bool, here: int = CUT_HERE
) -> dict[int, list[Split]]:
    """Determines the splits of large files, by file number, in tasks.

    Returns None when the driver is faster: for up to `here` octets of files whose headers must be read.
    """
    large = [number for number, path in enumerate(files) if not is_remote(path) and size_of(path) > octets]
    if sum(RESYNC_OCTETS if resync else size_of(files[number]) for number in large) <= here:
        return {}
    paths = [files[number] for number in large]

    def cut(numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in numbers:
            at = batch.column(0).to_pylist()
            made = [pickle.dumps(splits(paths[each], large[each], octets, resync)) for each in at]
            yield pa.RecordBatch.from_arrays([pa.array(made, pa.binary())], ["splits"])

    numbers = spark.range(0, len(large), 1, min(len(large), CUTTING_TASKS))
    made: list[list[Split]] = [pickle.loads(row[0]) for row in numbers.mapInArrow(cut, "splits binary").collect()]
    return {each[0].file_id: each for each in made}


def with_task(bundles: pa.RecordBatch, chosen: Mapping[int, int], tasks: int) -> pa.RecordBatch:
    """Adds the column TASK: the task that replays the connection, assigned or by its number."""
    import pyarrow as pa

    numbers = [chosen.get(each, each % tasks) for each in bundles.column("connection").to_pylist()]
    return bundles.append_column(pa.field(TASK, pa.int32(), False), pa.array(numbers, pa.int32()))


def stream_bundles(
    spark: SparkSession, folder: str, options: Mapping[str, str] | None = None, ports: Sequence[int] = ()
) -> DataFrame:
    """Returns the packets of the files that arrive in this folder as bundles; leaves out what `read_bundles` leaves out."""
    from amqp_sansio.spark.source import NAME, register

    register(spark)
    asked = {**placing(spark), "ports": ",".join(map(str, ports)), **(options or {}), "form": "bundles"}
    return spark.readStream.format(NAME).options(**asked).load(folder)


def placing(spark: SparkSession) -> dict[str, str]:
    """Returns the option for where bundles have their payloads: on one machine every task can read the files."""
    return {"octets": "cached" if is_local(spark) else "row"}


class Newest:
    """The newest file of a folder; comparing it at two times shows whether it is still being written."""

    def __init__(self, folder: str) -> None:
        """Raises CaptureError when the folder cannot be read."""
        self._folder: Final = resolved(folder)
        closed_in(self._folder, "all")
        self._seen: Final = self._state()

    def _state(self) -> tuple[str, int, int] | None:
        names = names_in(self._folder)
        if not names:
            return None
        newest = os.path.join(self._folder, names[-1])
        if is_remote(newest):
            there = remote.about(newest)
            return names[-1], there.size or 0, there.mtime_ns or 0
        about = os.stat(newest)
        return names[-1], about.st_size, about.st_mtime_ns

    def growing(self) -> str | None:
        """Returns the newest file's name if it has changed or is another one by now; None if it is unchanged."""
        now = self._state()
        return now[0] if now is not None and now != self._seen else None
