"""The format `amqp` in Spark: a stream from queues, and what its writers are.

    spark.readStream.format("amqp").option("url", "amqp://...").option("queue", "orders").load()

The options are in `options`, the columns in `columns`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
    InputPartition,
)
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from amqp_sansio.spark.live.errors import LiveError, LiveSetupError
from amqp_sansio.spark.live.options import SourceOptions, source_options
from amqp_sansio.spark.live.reader import Reader
from amqp_sansio.spark.live.sink import EpochWriter, JobWriter
from amqp_sansio.spark.live.source_columns import DDL, Column, picked, rows_of
from amqp_sansio.spark.live.spooler import Step, go_on

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

NAME: Final = "amqp"
"""The format's name."""


class AmqpSource(DataSource):
    """The data source.  It holds only options; connections are opened where they are used."""

    @classmethod
    def name(cls) -> str:
        """Its name in `format(...)`."""
        return NAME

    def schema(self) -> str:
        """The columns of a stream."""
        return DDL

    def reader(self, schema: StructType) -> DataSourceReader:
        """Raises LiveSetupError: reading a queue removes messages, which needs a checkpoint."""
        raise LiveSetupError("a queue is read as a stream: readStream, and trigger(availableNow=True) for what is there now")

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 -- Spark's name
        """Returns a stream from queues."""
        return AmqpStream(source_options(self.options), picked([(each.name, each.dataType.simpleString()) for each in schema]))

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """Returns a writer that publishes rows once."""
        return JobWriter(self.options, schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802 -- Spark's name
        """Returns a writer that publishes the rows of each epoch."""
        return EpochWriter(self.options, schema, overwrite)


class SegmentPartition(InputPartition):
    """One segment."""

    def __init__(self, path: str, number: int) -> None:
        super().__init__(None)
        self.path: Final = path
        self.number: Final = number

    def __repr__(self) -> str:
        return f"SegmentPartition({self.path!r})"


class AmqpStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """A stream from queues: its offset is the last segment that was taken."""

    step: ClassVar[Step] = staticmethod(go_on)
    """Called at each step of the protocol; for tests."""

    def __init__(self, options: SourceOptions, columns: Sequence[Column]) -> None:
        self._options: Final = options
        self._columns: Final = tuple(columns)
        self._made: Reader | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_made": None}

    @property
    def _reader(self) -> Reader:
        if self._made is None:
            self._made = Reader(self._options, self.step)
        return self._made

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 -- Spark's name
        """Returns the offset before all segments of the spool."""
        return self._reader.initial()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 -- Spark's name
        """Returns the limit of one segment at a time."""
        return ReadMaxRows(self._options.rows)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802 -- Spark's name
        """Takes the next segment, or all that there are."""
        return self._reader.latest(start, everything=isinstance(limit, ReadAllAvailable))

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802 -- Spark's name
        """Returns what the query's progress shows."""
        return self._reader.report()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 -- Spark's name
        """Excludes messages that arrive from now on."""
        self._reader.until_now()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Returns the segments between two offsets."""
        return [SegmentPartition(str(path), number) for number, path in self._reader.between(start, end)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yields the rows of a segment."""
        assert isinstance(partition, SegmentPartition)
        path = Path(partition.path)
        if not path.exists():
            raise LiveError(f"{path}: is not there; the spool must be a folder that the executors see, too")
        yield from rows_of(path, partition.number, self._columns)

    def commit(self, end: dict[str, Any]) -> None:
        """Removes the segments up to this one."""
        self._reader.commit(end)

    def stop(self) -> None:
        """Releases the broker and the spool."""
        if self._made is not None:
            self._made.close()
            self._made = None
