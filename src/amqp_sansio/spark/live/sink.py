"""The writers of the format `amqp`: for epochs of a stream, and for jobs."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final
from uuid import uuid4

import attrs
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from amqp_sansio.spark.live.coordinator import Coordinator
from amqp_sansio.spark.live.decisions import Decisions
from amqp_sansio.spark.live.errors import LiveError, LiveSetupError
from amqp_sansio.spark.live.identity import JOB, number_of_job
from amqp_sansio.spark.live.mapping import RowMapping
from amqp_sansio.spark.live.options import AT_LEAST_ONCE, SinkOptions, sink_options
from amqp_sansio.spark.live.publisher import Published, Publisher
from amqp_sansio.spark.live.spooler import Step, go_on

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

LOG: Final = logging.getLogger("amqp_sansio.spark.live")
QUERY: Final = "sql.streaming.queryId"
EPOCH: Final = "streaming.sql.batchId"
"""Properties of a task that Spark sets for streams."""


class Said(WriterCommitMessage):
    """What a task reports to the driver: what it published, and for which query."""

    def __init__(self, published: Published, query: str) -> None:
        self.published: Final = published
        self.query: Final = query

    def __repr__(self) -> str:
        return f"Said({self.published!r}, {self.query!r})"


@attrs.frozen(kw_only=True)
class Plan:
    """What a task needs to know."""

    owner: bytes
    mode: str
    decided: dict[str, int]
    """The last decided epoch of each query, which must not be published again."""


def rows_as(options: SinkOptions, ids: bytes | None = None) -> RowMapping:
    """Returns how rows become messages."""
    return RowMapping(
        exchange=options.exchange, routing_key=options.routing_key, persistent=options.persistent,
        mandatory=options.mandatory, ids=ids,
    )  # fmt: skip


def _checked(given: Mapping[str, str], schema: StructType, overwrite: bool) -> SinkOptions:
    options = sink_options(given)
    if overwrite:
        raise LiveSetupError('what is published stays published: mode "append" only')
    rows_as(options).check([(each.name, each.dataType.simpleString()) for each in schema])
    return options


def plan(options: SinkOptions, decisions: Decisions, job: str | None = None, step: Step = go_on) -> Plan:
    """Prepares a write on the driver, before tasks begin: see `Coordinator.begin`."""
    mode = Coordinator(options, decisions, job, step).begin()
    return Plan(owner=decisions.owner, mode=mode, decided={each.query: each.epoch for each in decisions.all()})


def _published(messages: list[WriterCommitMessage | None]) -> list[Published]:
    return [each.published for each in messages if isinstance(each, Said)]


class EpochWriter(DataSourceStreamArrowWriter):
    """Writes the epochs of one query.

    Spark makes one on the driver for each epoch and pickles it for its tasks, immediately before they begin; and another one to
    commit, which is never pickled.
    """

    step: ClassVar[Step] = staticmethod(go_on)
    """Called at each step of the protocol; for tests."""

    def __init__(self, given: Mapping[str, str], schema: StructType, overwrite: bool) -> None:
        self._options: Final = _checked(given, schema, overwrite)
        self._plan: Plan | None = None

    def __getstate__(self) -> dict[str, Any]:
        if self._plan is None:
            self._plan = plan(self._options, Decisions(self._options.journal), step=self.step)
        return self.__dict__

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Publishes a task's rows in a branch and prepares it."""
        assert self._plan is not None
        context = TaskContext.get()
        assert context is not None
        query, epoch = context.getLocalProperty(QUERY) or "", int(context.getLocalProperty(EPOCH) or 0)
        if self._plan.decided.get(query, -1) >= epoch:  # a replay: it was published, or will be
            return Said(Published("", 0, 0), query)
        at_least_once = self._plan.mode == AT_LEAST_ONCE
        ids = f"{self._plan.owner.hex()}/{query}/{epoch}".encode() if at_least_once else None
        messages = rows_as(self._options, ids).messages(iterator, context.partitionId())
        publisher = Publisher(self._options.access, self._plan.owner, self._plan.mode, self._options.branch_timeout, self.step)
        return Said(publisher.publish(messages, epoch), query)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 -- Spark's name
        """Decides about the epoch on the driver, and carries the decision out."""
        queries = {each.query for each in messages if isinstance(each, Said)}
        if not queries:
            return
        if len(queries) != 1 or len(_published(messages)) != len(messages):
            raise LiveError(f"epoch {batchId}: its tasks reported different queries, or some reported nothing")
        self._coordinator().commit(queries.pop(), batchId, _published(messages))

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 -- Spark's name
        """Discards, on the driver, what tasks prepared."""
        self._coordinator().abort(_published(messages))

    def _coordinator(self) -> Coordinator:
        return Coordinator(self._options, Decisions(self._options.journal), step=self.step)


class JobWriter(DataSourceArrowWriter):
    """Writes one `df.write`.  With a name (option job) it is published once, however often it is run."""

    def __init__(self, given: Mapping[str, str], schema: StructType, overwrite: bool) -> None:
        self._options: Final = _checked(given, schema, overwrite)
        self._job: Final = self._options.job or str(uuid4())
        self._plan: Final = plan(self._options, Decisions(self._options.journal), self._job)
        if self._job in self._plan.decided:
            LOG.warning("job %r was published before: nothing is published now; another job has another name", self._job)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Publishes a task's rows in a branch and prepares it."""
        if self._job in self._plan.decided:
            return Said(Published("", 0, 0), self._job)
        context = TaskContext.get()
        ids = f"{self._plan.owner.hex()}/{self._job}".encode() if self._plan.mode == AT_LEAST_ONCE else None
        messages = rows_as(self._options, ids).messages(iterator, context.partitionId() if context else 0)
        publisher = Publisher(self._options.access, self._plan.owner, self._plan.mode, self._options.branch_timeout)
        return Said(publisher.publish(messages, number_of_job(self._job), JOB), self._job)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Decides about the job on the driver, and carries the decision out."""
        decisions = Decisions(self._options.journal)
        Coordinator(self._options, decisions, self._job).commit(self._job, 0, _published(messages))
        if self._options.job is None:
            decisions.forget(self._job)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Discards, on the driver, what tasks prepared."""
        Coordinator(self._options, Decisions(self._options.journal), self._job).abort(_published(messages))
