"""The data source `amqp_capture`: packets of capture files as frames, in batches and as streams; and frames of them.

    register(spark)
    spark.read.format("amqp_capture").load("/captures/*.pcapng")
    spark.readStream.format("amqp_capture").option("closed", "newest").load("/captures")

Options (all are optional): `columns`, names between commas; `split`, octets of a partition inside a large file (33554432);
`resync`, "true" to find the splits without reading the files; `pushdown`, "true" to let Spark hand its filters down (the
session must allow it: spark.sql.python.filterPushdown.enabled); `form`, "bundles" for a row of some packets of one connection
instead of one for each packet; `octets`, where bundles have the payloads of their packets (see OCTETS); `ports`, between commas
or empty: bundles leave out most of what cannot be AMQP and has none of these ports.  For streams also
`closed` (see `captures.files.CLOSED`) and `maxFilesPerTrigger` (16).
"""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pyspark.sql import datasource as spark_filters
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxFiles, SupportsTriggerAvailableNow

from amqp_sansio.captures import locations
from amqp_sansio.captures.columns.bundles import BUNDLES, CARRIED, PLACED, bundled, stamp_of
from amqp_sansio.captures.columns.partitioning import shared_out, weights
from amqp_sansio.captures.columns.read import FILTERED, ColumnFilter, read_split
from amqp_sansio.captures.errors import CaptureError
from amqp_sansio.captures.files import (
    CLOSED,
    NameKey,
    TakenFiles,
    closed_in,
    found,
    is_remote,
    names_in,
    order,
    resolved,
    size_of,
    there,
)
from amqp_sansio.captures.splits import SPLIT_OCTETS, Split, splits
from amqp_sansio.captures.tables import PACKETS, Column, ddl, picked
from amqp_sansio.spark.session import in_tasks, is_local

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


NAME: Final = "amqp_capture"
"""The format's name."""
FORMS: Final = ("packets", "bundles")
"""What a row is: a packet, or some packets of one connection (see `captures.columns.bundles`)."""
OCTETS: Final = ("row", "file", "cached")
"""Where bundles have the payloads of their packets: "row": in the row; "file": left in the file, which the replaying task must
be able to read, unless it is compressed; "cached": in the file if all files fit into half of this machine's available memory,
else in the row."""
FILES_OF_A_PARTITION: Final = 512
"""The most files that share a partition, because opening one has a cost."""
FILES_PER_TRIGGER: Final = 16
"""Default number of files of one batch of a stream."""

_COMPARISONS: Final[dict[type[spark_filters.Filter], str]] = {
    spark_filters.EqualTo: "=",
    spark_filters.GreaterThan: ">",
    spark_filters.GreaterThanOrEqual: ">=",
    spark_filters.LessThan: "<",
    spark_filters.LessThanOrEqual: "<=",
    spark_filters.In: "in",
}


def register(spark: SparkSession) -> None:
    """Registers the format with a session."""
    spark.dataSource.register(CaptureSource)


class SourcePlan(NamedTuple):
    """The options as plain values."""

    paths: tuple[str, ...]
    columns: tuple[Column, ...]
    split: int
    resync: bool
    closed: str = "newest"
    files: int = FILES_PER_TRIGGER
    bundles: bool = False
    octets: str = OCTETS[0]
    ports: tuple[int, ...] | None = None

    def read(self, partition: InputPartition, filters: Sequence[ColumnFilter] = ()) -> Iterator[pa.RecordBatch]:
        """Yields the rows of a partition.  Raises SplitError when resynchronisation was misled."""
        assert isinstance(partition, CapturePartition)
        for split in partition.splits:
            if not self.bundles:
                yield from read_split(split, self.columns, filters)
                continue
            stamp = stamp_of(split.path) if partition.in_file else CARRIED
            columns = PACKETS if stamp == CARRIED else PLACED
            yield from bundled(read_split(split, columns, ports=self.ports), stamp)

    def partitions(
        self, files: Iterable[tuple[int, str]], cut: Mapping[int, Sequence[Split]] | None = None
    ) -> list[CapturePartition]:
        """Returns the partitions of numbered files: splits of large ones, and small ones together.

        `cut` has the splits of files by their numbers, where they are known.
        """
        cut = cut or {}
        made: list[CapturePartition] = []
        together: list[Split] = []
        room = self.split
        files = list(files)
        in_file = self.octets == "file" or (self.octets == "cached" and fit([path for _, path in files]))
        for number, path in files:
            parts = cut.get(number) or splits(path, number, self.split, self.resync)
            if len(parts) > 1:
                made += [CapturePartition([part], in_file) for part in parts]
                continue
            size = max(size_of(path), self.split // FILES_OF_A_PARTITION)
            if together and size > room:
                made.append(CapturePartition(together, in_file))
                together, room = [], self.split
            together += parts
            room -= size
        if together:
            made.append(CapturePartition(together, in_file))
        return made


class CapturePartition(InputPartition):
    """Splits that are read one after the other; with `in_file`, bundles leave payloads in the file if possible."""

    def __init__(self, parts: Sequence[Split], in_file: bool = False) -> None:
        super().__init__(None)
        self.splits: Final = tuple(parts)
        self.in_file: Final = in_file

    def __repr__(self) -> str:
        return f"CapturePartition({self.splits!r}, {self.in_file})"


def plan_of(options: Mapping[str, str], schema: StructType | None = None) -> SourcePlan:
    """Parses a source's options; a schema given by the user selects the columns.  Raises ValueError, which says what is
    wrong."""
    paths = json.loads(options["paths"]) if "paths" in options else [options["path"]] if "path" in options else []
    if not paths:
        raise ValueError("a path is missing: load(path), or several as a list")
    bundles = _word(options, "form", FORMS) == "bundles"
    return SourcePlan(
        tuple(map(str, paths)),
        picked(options.get("columns")) if schema is None or bundles else _chosen(schema),
        _number(options, "split", SPLIT_OCTETS),
        _flag(options, "resync"),
        _word(options, "closed", CLOSED),
        _number(options, "maxFilesPerTrigger", FILES_PER_TRIGGER),
        bundles,
        _word(options, "octets", OCTETS),
        _ports(options),
    )


def _number(options: Mapping[str, str], name: str, otherwise: int) -> int:
    text = options.get(name, str(otherwise))
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"{name} is a number from 1 on, not {text!r}")
    return int(text)


def _ports(options: Mapping[str, str]) -> tuple[int, ...] | None:
    if "ports" not in options:
        return None
    words = [word.strip() for word in options["ports"].split(",") if word.strip()]
    if not all(word.isdecimal() and int(word) < 65536 for word in words):
        raise ValueError(f"ports are numbers below 65536, between commas, not {options['ports']!r}")
    return tuple(map(int, words))


def _flag(options: Mapping[str, str], name: str) -> bool:
    return _word(options, name, ("false", "true")) == "true"


def _word(options: Mapping[str, str], name: str, words: tuple[str, ...]) -> str:
    text = options.get(name, words[0]).lower()
    if text not in words:
        raise ValueError(f"{name} is {' or '.join(words)}, not {text!r}")
    return text


def _chosen(schema: StructType) -> tuple[Column, ...]:
    """Returns the columns of a schema, in its order."""
    known = {column.name: column for column in PACKETS}
    picked(tuple(field.name for field in schema))
    for field in schema:
        if field.dataType.simpleString() != known[field.name].type.value:
            raise ValueError(f"{field.name} is {known[field.name].type.value}, not {field.dataType.simpleString()}")
    return tuple(known[field.name] for field in schema)


def fit(paths: Iterable[str]) -> bool:
    """Whether these files fit into half of this machine's available memory, file cache included (on Linux)."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            left = next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), 0)
    except OSError:
        return False
    return sum(map(size_of, paths)) <= left // 2


class CaptureSource(DataSource):
    """The data source.  It holds only options; files are opened where they are read."""

    @classmethod
    def name(cls) -> str:
        """Its name in `format(...)`."""
        return NAME

    def schema(self) -> str:
        """The requested columns."""
        if _word(self.options, "form", FORMS) == "bundles":
            return BUNDLES
        return ddl(picked(self.options.get("columns")))

    def reader(self, schema: StructType) -> DataSourceReader:
        """Returns a reader of existing files."""
        plan = plan_of(self.options, schema)
        return PushingReader(plan) if _flag(self.options, "pushdown") else CaptureReader(plan)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 -- Spark's name
        """Returns a reader of the files that arrive in a folder."""
        return CaptureStream(plan_of(self.options, schema))


class CaptureReader(DataSourceReader):
    """Reads existing files."""

    def __init__(self, plan: SourcePlan) -> None:
        self.plan: Final = plan
        self.filters: tuple[ColumnFilter, ...] = ()

    def partitions(self) -> Sequence[InputPartition]:
        """Returns the splits of all files.  Raises CaptureError for a path that does not exist."""
        return self.plan.partitions(enumerate(found(self.plan.paths)))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yields the packets of a partition."""
        return self.plan.read(partition, self.filters)


class PushingReader(CaptureReader):
    """A reader with filters, which are tested before a row is made.

    A class of its own, because Spark rejects a reader that could take filters while its setting forbids that.
    """

    def pushFilters(self, filters: list[Any]) -> Iterable[Any]:  # noqa: N802 -- Spark's name
        """Takes the filters that it can test; returns the others, which Spark applies."""
        for each in filters:
            taken = filter_of(each)
            if taken is None:
                yield each
            else:
                self.filters += (taken,)


def filter_of(asked: Any, negated: bool = False) -> ColumnFilter | None:
    """Converts a filter of Spark's to ours; None for one that is left to Spark."""
    if isinstance(asked, spark_filters.Not):
        return filter_of(asked.child, not negated)
    attribute: tuple[str, ...] = getattr(asked, "attribute", ())
    if len(attribute) != 1 or attribute[0] not in FILTERED:
        return None
    name = attribute[0]
    if isinstance(asked, spark_filters.IsNull | spark_filters.IsNotNull):
        return ColumnFilter(name, "null", None, negated != isinstance(asked, spark_filters.IsNotNull))
    operator = _COMPARISONS.get(type(asked))
    value: Any = getattr(asked, "value", None)
    if operator is None or value is None:
        return None
    if operator == "in":
        if any(each is None for each in value):
            return None
        value = tuple(value)
    return ColumnFilter(name, operator, value, negated)


class CaptureStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads files that arrive in a folder, each once when it is closed, in the order of their names.

    A file that arrives after a later name was taken comes next.  An offset is how many files were taken, the last name in
    order, the names that it added, and the memory of all taken ones (see `captures.files`).
    """

    def __init__(self, plan: SourcePlan) -> None:
        if len(plan.paths) != 1:
            raise ValueError("a stream reads one folder")
        self.plan: Final = plan
        self.folder: Final = resolved(plan.paths[0]).rstrip("/")
        self._until: set[NameKey] | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 -- Spark's name
        """Returns the offset before the first file."""
        return {"files": 0, "last": "", "names": "[]", "floor": "", "taken": ""}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 -- Spark's name
        """Returns how many files to take at a time."""
        return ReadMaxFiles(self.plan.files)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802 -- Spark's name
        """Returns the offset after the next files.  Raises CaptureError when the folder cannot be read."""
        closed, taken = closed_in(self.folder, self.plan.closed), TakenFiles(start)
        names = taken.without(closed)
        if self._until is not None:
            names = [name for name in names if order(name) in self._until]
        if isinstance(limit, ReadMaxFiles):
            names = names[: limit.max_files]
        if not names:
            return start
        taken.add(names, closed)
        last = max(filter(None, (start["last"], names[-1])), key=order)
        return {"files": start["files"] + len(names), "last": last, "names": json.dumps(names), **taken.told()}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 -- Spark's name
        """Excludes files that arrive from now on."""
        self._until = set(map(order, closed_in(self.folder, self.plan.closed)))

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Returns the splits of the files between two offsets; the later one names them, so that they are the same each
        time."""
        first, count = int(start["files"]), int(end["files"]) - int(start["files"])
        names: list[str] = json.loads(end["names"])
        if count > len(names):  # several batches at once
            before, behind = TakenFiles(start), TakenFiles(end)
            names = [name for name in before.without(names_in(self.folder)) if name in behind]
        if count < 0 or len(names) < count:
            raise CaptureError(self.folder, 0, 0, f"{count - len(names)} files that were counted are not there any more")
        chosen = names[len(names) - count :]
        return self.plan.partitions((first + at, there(os.path.join(self.folder, name))) for at, name in enumerate(chosen))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yields the packets of a partition."""
        return self.plan.read(partition)


TASK: Final = "task"
CUT_HERE: Final = 512 * 1024 * 1024
"""Up to this many octets of captures the driver itself reads the headers to split them: 0.2 s of CPU, less than a job costs."""
RESYNC_OCTETS: Final = 8 * 1024 * 1024
"""What a file counts as in this where its splits are found by resynchronisation."""
CUTTING_TASKS: Final = 256
"""The most tasks that split files."""


def read_packets(spark: SparkSession, captures: Sequence[str], options: Mapping[str, str] | None = None) -> DataFrame:
    """Returns the packets of these files, folders and patterns; `options` are those of `amqp_capture`."""
    register(spark)
    return spark.read.format(NAME).options(**(options or {})).load([str(each) for each in captures])


def read_bundles(
    spark: SparkSession,
    captures: Sequence[str],
    tasks: int = 1,
    options: Mapping[str, str] | None = None,
    ports: Sequence[int] = (),
) -> DataFrame:
    """Returns the packets of these files (see `captures.source.files_of`) as bundles, some packets of one connection in a row,
    with the number below `tasks` of the task that replays it: TASK.

    Leaves out connections that cannot be AMQP and have none of these `ports`, where a split contains them from beginning to
    end. The splits were determined here, and go to the workers with the function that reads them.  The data source would be
    asked for them in three processes that Spark starts for nothing else, at one and a half seconds of CPU in every fresh JVM.
    """
    paths = json.dumps([str(each) for each in captures])
    asked = {"ports": ",".join(map(str, ports)), **(options or {})}
    plan = plan_of({**placing(spark), **asked, "paths": paths, "form": "bundles"})
    parts = plan.partitions(enumerate(plan.paths), cut_in_tasks(spark, plan.paths, plan.split, plan.resync))
    chosen = shared_out(weights([split for part in parts for split in part.splits]), tasks)

    def read(number: int) -> Iterator[pa.RecordBatch]:
        for bundles in plan.read(parts[number]):
            yield with_task(bundles, chosen, tasks)

    return in_tasks(spark, read, len(parts), f"{BUNDLES}, {TASK} int NOT NULL")


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

    def cut(number: int) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        made = pickle.dumps(splits(paths[number], large[number], octets, resync))
        yield pa.RecordBatch.from_arrays([pa.array([made], pa.binary())], ["splits"])

    frame = in_tasks(spark, cut, len(large), "splits binary", CUTTING_TASKS)
    made: list[list[Split]] = [pickle.loads(row[0]) for row in frame.collect()]
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
            there = locations.about(newest)
            return names[-1], there.size or 0, there.mtime_ns or 0
        about = os.stat(newest)
        return names[-1], about.st_size, about.st_mtime_ns

    def growing(self) -> str | None:
        """Returns the newest file's name if it has changed or is another one by now; None if it is unchanged."""
        now = self._state()
        return now[0] if now is not None and now != self._seen else None
