"""The writers of the format `amqp`: for epochs of a stream, and for jobs.

A task publishes its rows in a branch of its own and prepares it; the driver decides about it.  Steps of a task: `started`,
`published`, `ended`, `prepared`.  Without branches: `published` when the broker has certainly taken all.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self
from uuid import uuid4

import attrs
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from amqp_sansio.adapters.sync import Pending, Session
from amqp_sansio.errors import EncodeError, MessageReturned
from amqp_sansio.spark.errors import LiveError, LiveSetupError
from amqp_sansio.spark.live.broker_link import LOG, BrokerLink, StepHook, give_time, go_on
from amqp_sansio.spark.live.coordinator import CommitCoordinator, TaskPublished
from amqp_sansio.spark.live.identity import JOB, SINK, branch, name_of, number_of_job
from amqp_sansio.spark.live.mapping import Outgoing
from amqp_sansio.spark.live.options import AT_LEAST_ONCE, SinkOptions, sink_options
from amqp_sansio.spec.codes import XaStatus

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType


QUERY: Final = "sql.streaming.queryId"
EPOCH: Final = "streaming.sql.batchId"
"""Properties of a task that Spark sets for streams."""


class TaskReport(WriterCommitMessage):
    """What a task reports to the driver: what it published, and for which query."""

    def __init__(self, published: TaskPublished, query: str) -> None:
        self.published: Final = published
        self.query: Final = query

    def __repr__(self) -> str:
        return f"TaskReport({self.published!r}, {self.query!r})"


def _checked(given: Mapping[str, str], schema: StructType, overwrite: bool) -> SinkOptions:
    options = sink_options(given)
    if overwrite:
        raise LiveSetupError('what is published stays published: mode "append" only')
    options.rows.check([(each.name, each.dataType.simpleString()) for each in schema])
    return options


def _published(messages: list[WriterCommitMessage | None]) -> list[TaskPublished]:
    return [each.published for each in messages if isinstance(each, TaskReport)]


class EpochWriter(DataSourceStreamArrowWriter):
    """Writes the epochs of one query.

    Spark makes one on the driver for each epoch and pickles it for its tasks, immediately before they begin; and another one to
    commit, which is never pickled.
    """

    step: ClassVar[StepHook] = staticmethod(go_on)
    """Called at each step of the protocol; for tests."""

    def __init__(self, given: Mapping[str, str], schema: StructType, overwrite: bool) -> None:
        self._options: Final = _checked(given, schema, overwrite)
        self._publisher: Publisher | None = None

    def __getstate__(self) -> dict[str, Any]:
        if self._publisher is None:
            self._publisher = Publisher.begin(self._coordinator(), self.step)
        return self.__dict__

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Publishes a task's rows in a branch and prepares it."""
        assert self._publisher is not None
        context = TaskContext.get()
        assert context is not None
        query, epoch = context.getLocalProperty(QUERY) or "", int(context.getLocalProperty(EPOCH) or 0)
        return self._publisher.work(iterator, query, epoch)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 -- Spark's name
        """Decides about the epoch on the driver, and carries the decision out."""
        queries = {each.query for each in messages if isinstance(each, TaskReport)}
        if not queries:
            return
        if len(queries) != 1 or len(_published(messages)) != len(messages):
            raise LiveError(f"epoch {batchId}: its tasks reported different queries, or some reported nothing")
        self._coordinator().commit(queries.pop(), batchId, _published(messages))

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 -- Spark's name
        """Discards, on the driver, what tasks prepared."""
        self._coordinator().abort(_published(messages))

    def _coordinator(self) -> CommitCoordinator:
        return CommitCoordinator(self._options, step=self.step)


class JobWriter(DataSourceArrowWriter):
    """Writes one `df.write`.  With a name (option job) it is published once, however often it is run."""

    def __init__(self, given: Mapping[str, str], schema: StructType, overwrite: bool) -> None:
        self._options: Final = _checked(given, schema, overwrite)
        self._job: Final = self._options.job or str(uuid4())
        self._publisher: Final = Publisher.begin(self._coordinator())
        if self._job in self._publisher.decided:
            LOG.warning("job %r was published before: nothing is published now; another job has another name", self._job)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Publishes a task's rows in a branch and prepares it."""
        return self._publisher.work(iterator, self._job)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Decides about the job on the driver, and carries the decision out."""
        coordinator = self._coordinator()
        coordinator.commit(self._job, 0, _published(messages))
        if self._options.job is None:
            coordinator.decisions.forget(self._job)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Discards, on the driver, what tasks prepared."""
        self._coordinator().abort(_published(messages))

    def _coordinator(self) -> CommitCoordinator:
        return CommitCoordinator(self._options, self._job)


NOTHING: Final = TaskPublished("", 0, 0)
WITHOUT_WORD: Final = 500
"""The most messages in flight before the oldest is awaited."""
STEPS: Final = ("started", "published", "ended", "prepared")


@attrs.frozen
class Publisher:
    """Publishes the rows of tasks, for one journal's `owner`."""

    options: SinkOptions
    owner: bytes
    mode: str
    _step: StepHook = go_on
    decided: dict[str, int] = attrs.field(factory=dict)
    """The last decided epoch of each query, which must not be published again."""

    @classmethod
    def begin(cls, coordinator: CommitCoordinator, step: StepHook = go_on) -> Self:
        """Prepares a write on the driver, before tasks begin: see `CommitCoordinator.begin`."""
        mode, decisions = coordinator.begin(), coordinator.decisions
        decided = {each.query: each.epoch for each in decisions.all()}
        return cls(coordinator.options, decisions.owner, mode, step, decided)

    def work(self, rows: Iterator[pa.RecordBatch], query: str, epoch: int | None = None) -> TaskReport:
        """Publishes a task's rows of an epoch in a branch and prepares it; `query` is the name of a job where `epoch` is None.

        Does nothing in a replay of what was decided: it was published, or will be.
        """
        if self.decided.get(query, -1) >= (epoch or 0):
            return TaskReport(NOTHING, query)
        number, kind, seed = (number_of_job(query), JOB, query) if epoch is None else (epoch, SINK, f"{query}/{epoch}")
        ids = f"{self.owner.hex()}/{seed}".encode() if self.mode == AT_LEAST_ONCE else None
        context = TaskContext.get()
        messages = attrs.evolve(self.options.rows, ids=ids).messages(rows, context.partitionId() if context else 0)
        return TaskReport(self.publish(messages, number, kind), query)

    def publish(self, messages: Iterable[Outgoing], number: int = 0, kind: bytes = SINK) -> TaskPublished:
        """Publishes messages; `number` is the epoch, or that of the job.

        Raises LiveError; then the messages do not count, and the broker drops them.
        """
        waiting = iter(messages)
        first = next(waiting, None)
        if first is None:  # no rows: no connection
            return NOTHING
        everything = chain([first], waiting)
        name = branch(self.owner, kind, number)
        with BrokerLink(self.options.access) as link, link.told(""):
            try:
                with link.connection.session() as session:
                    if self.mode == AT_LEAST_ONCE:
                        rows, octets = self._send(session, everything)
                        session.sync()
                        self._step("published")
                        return TaskPublished("", rows, octets)
                    with session.branch(name):
                        give_time(session, name, self.options.access.branch_timeout)
                        self._step("started")
                        rows, octets = self._send(session, everything)
                        self._step("published")
                    self._step("ended")
                    status = session.prepare(name)
                    self._step("prepared")
            except MessageReturned as error:
                raise LiveSetupError(f"{self.options.access.shown}: {error}") from None
            if status == XaStatus.XA_RDONLY and not self.options.rows.mandatory:  # no queue took any, which is allowed
                return TaskPublished("", rows, octets)
            link.must_keep(status, "is given")
            return TaskPublished(name_of(name), rows, octets)

    def _send(self, session: Session, messages: Iterable[Outgoing]) -> tuple[int, int]:
        """Sends all; returns how many there were, and the octets of their bodies."""
        rows = octets = 0
        flight: deque[tuple[Pending[None], Outgoing]] = deque()
        for message in messages:
            exchange, key = message.exchange, message.routing_key
            try:
                flight.append((session.send(exchange, key, message.body, **message.properties), message))
            except EncodeError as error:
                raise LiveSetupError(
                    f"a message to exchange {exchange!r} with routing key {key!r} is not valid: {error}"
                ) from None
            rows += 1
            octets += len(message.body)
            while flight and (flight[0][0].done or len(flight) >= WITHOUT_WORD):
                self._taken(*flight.popleft())
        for sent in flight:
            self._taken(*sent)
        return rows, octets

    def _taken(self, sent: Pending[None], message: Outgoing) -> None:
        """Waits until the broker has certainly taken it.  Raises LiveSetupError when no queue takes it."""
        try:
            sent.result()
        except MessageReturned as error:
            raise LiveSetupError(
                f"{self.options.access.shown}: {error}: no queue takes a message to exchange {message.exchange!r} with routing"
                f" key {message.routing_key!r}; option mandatory=false drops such messages"
            ) from None
