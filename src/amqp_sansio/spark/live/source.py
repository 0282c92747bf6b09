"""The format `amqp` in Spark: a stream from queues, and what its writers are.

    spark.readStream.format("amqp").option("url", "amqp://...").option("queue", "orders").load()

The options are in `options`, the columns in `mapping`.
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

from amqp_sansio.spark.errors import LiveError, LiveSetupError
from amqp_sansio.spark.live.broker_link import LOG, StepHook, go_on
from amqp_sansio.spark.live.mapping import DDL, SourceColumn, picked, rows_of
from amqp_sansio.spark.live.options import SourceOptions, source_options
from amqp_sansio.spark.live.sink import EpochWriter, JobWriter
from amqp_sansio.spark.live.spool import Segment, Spool
from amqp_sansio.spark.live.spooler import Spooler

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


PATIENCE: Final = 20
"""A drain reads all that was on the queues when it began (trigger availableNow).  After this many fruitless attempts in a row,
it leaves the remaining messages, which another consumer holds."""


class AmqpStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """A stream from queues.

    Its offsets are plain values: the spool's name, the last segment that was taken, and the rows and octets of the query up to
    it.
    """

    step: ClassVar[StepHook] = staticmethod(go_on)
    """Called at each step of the protocol; for tests."""

    def __init__(self, options: SourceOptions, columns: Sequence[SourceColumn]) -> None:
        self.options: Final = options
        self._columns: Final = tuple(columns)
        self._made: Spooler | None = None
        self._left: int | None = None
        self._last: dict[str, Any] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_made": None}

    @property
    def spooler(self) -> Spooler:
        """The spooler, of which a stream in an executor needs none."""
        if self._made is None:
            self._made = Spooler(self.options, Spool(self.options.spool), self.step)
        return self._made

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 -- Spark's name
        """Returns the offset before all segments of the spool."""
        return self._offset(self.spooler.spool.removed, 0, 0)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 -- Spark's name
        """Returns the limit of one segment at a time."""
        return ReadMaxRows(self.options.rows)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802 -- Spark's name
        """Returns the offset after the next segment, which may exist already; without a limit, after all that can be taken."""
        number = self._number(start)
        self.spooler.open()
        found = self._behind(number)
        if not found:
            self._take(number)
            found = self._behind(number)
        if isinstance(limit, ReadAllAvailable):
            while self._take(found[-1].number if found else number):
                found = self._behind(number)
        else:
            found = found[:1]
        if not found:
            self._last = start
            return start
        rows = int(start.get("rows", 0)) + sum([each.rows for each in found])
        octets = int(start.get("octets", 0)) + sum([each.octets for each in found])
        self._last = self._offset(found[-1].number, rows, octets)
        return self._last

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802 -- Spark's name
        """Returns what the query's progress shows: rows and octets taken by the query, how many messages wait on the queues
        (lag), branches in doubt, and the mode."""
        if self._last is None:
            return None
        try:
            lag, in_doubt = self.spooler.depth(), self.spooler.in_doubt()
        except LiveError as error:
            LOG.warning("%s", error)
            return None
        return {**self._last, "lag": lag, "in_doubt": in_doubt, "mode": self.spooler.mode}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 -- Spark's name
        """Limits reading to what is in the queues and in the spool now."""
        self._left = self.spooler.there()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[SegmentPartition]:
        """Returns the segments between two offsets.  Raises LiveSetupError when they do not exist (any more)."""
        spool = self.spooler.spool
        found = spool.between(self._number(start), self._number(end))
        return [SegmentPartition(str(spool.path / each.name), each.number) for each in found]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yields the rows of a segment."""
        assert isinstance(partition, SegmentPartition)
        path = Path(partition.path)
        if not path.exists():
            raise LiveError(f"{path}: is not there; the spool must be a folder that the executors see, too")
        yield from rows_of(path, partition.number, self._columns)

    def commit(self, end: dict[str, Any]) -> None:
        """Removes the segments up to this one, which Spark has stored."""
        self.spooler.spool.remove(self._number(end))

    def stop(self) -> None:
        """Releases the broker and the spool."""
        if self._made is not None:
            self._made.close()
            self._made = None

    def _take(self, number: int) -> bool:
        """Takes one more segment; returns False when there is none for now, or none that was there when the drain began."""
        if self._left is None:
            return self.spooler.take() is not None
        if self._left <= 0:
            return False
        for _ in range(PATIENCE):
            taken = self.spooler.take(self._left)
            if taken is not None:
                self._left -= taken.rows
                return True
            if self._behind(number):  # it was recorded, but its commit was not answered
                return True
            if self.spooler.depth() == 0:
                break
        else:
            LOG.warning(
                "%s: %d messages are on %s and do not come: somebody else has them, or they are larger than option "
                "prefetchOctets allows; they are left there", self.options.access.shown, self.spooler.depth(),
                ", ".join(self.options.queues),
            )  # fmt: skip
        self._left = 0
        return False

    def _behind(self, number: int) -> list[Segment]:
        return [each for each in self.spooler.spool.segments() if each.number > number]

    def _offset(self, number: int, rows: int, octets: int) -> dict[str, Any]:
        return {"spool": self.spooler.spool.owner.hex(), "segment": number, "rows": rows, "octets": octets}

    def _number(self, offset: dict[str, Any]) -> int:
        spool = self.spooler.spool
        if offset.get("spool") != spool.owner.hex():
            raise LiveSetupError(
                f"{spool.path}: is not the spool of this checkpoint; give option spool the folder that it began with"
            )
        return int(offset["segment"])
