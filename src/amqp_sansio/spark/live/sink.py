"""The writers of the format `amqp`: for epochs of a stream, and for jobs."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final
from uuid import uuid4

import attrs
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from amqp_sansio.adapters.sync import Pending, Session
from amqp_sansio.errors import EncodeError, MessageReturned
from amqp_sansio.spark.errors import LiveError, LiveSetupError
from amqp_sansio.spark.live.broker_link import Link, give_time
from amqp_sansio.spark.live.coordinator import Coordinator, Decisions, Published
from amqp_sansio.spark.live.identity import JOB, SINK, branch, number_of_job, word
from amqp_sansio.spark.live.mapping import Outgoing, RowMapping
from amqp_sansio.spark.live.options import AT_LEAST_ONCE, Access, SinkOptions, sink_options
from amqp_sansio.spark.live.spooler import Step, go_on
from amqp_sansio.spec.codes import XaStatus

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


WITHOUT_WORD: Final = 500
"""The most messages in flight before the oldest is awaited."""
STEPS: Final = ("started", "published", "ended", "prepared")


class Publisher:
    """Publishes for one journal's `owner`."""

    def __init__(self, access: Access, owner: bytes, mode: str, branch_timeout: int | None = None, step: Step = go_on) -> None:
        self.access: Final = access
        self.owner: Final = owner
        self.mode: Final = mode
        self.branch_timeout: Final = branch_timeout
        self._step: Final = step

    def publish(self, messages: Iterable[Outgoing], number: int = 0, kind: bytes = SINK) -> Published:
        """Publishes messages; `number` is the epoch, or that of the job.

        Raises LiveError; then the messages do not count, and the broker drops them.
        """
        mandatory = False

        def noted() -> Iterator[Outgoing]:
            nonlocal mandatory
            for each in messages:
                mandatory = mandatory or each.properties.get("mandatory", False)
                yield each

        waiting = noted()
        first = next(waiting, None)
        if first is None:  # no rows: no connection
            return Published("", 0, 0)
        name = branch(self.owner, kind, number)
        with Link(self.access) as link, link.told(""):
            try:
                with link.connection.session() as session:
                    if self.mode == AT_LEAST_ONCE:
                        rows, octets = self._send(session, first, waiting)
                        session.sync()
                        self._step("published")
                        return Published("", rows, octets)
                    with session.branch(name):
                        give_time(session, name, self.branch_timeout)
                        self._step("started")
                        rows, octets = self._send(session, first, waiting)
                        self._step("published")
                    self._step("ended")
                    status = session.prepare(name)
                    self._step("prepared")
            except MessageReturned as error:
                raise LiveSetupError(f"{self.access.shown}: {error}") from None
            if status == XaStatus.XA_RDONLY and not mandatory:  # no queue took any, which is allowed
                return Published("", rows, octets)
            link.must_keep(status, "is given")
            return Published(word(name), rows, octets)

    def _send(self, session: Session, first: Outgoing, others: Iterable[Outgoing]) -> tuple[int, int]:
        rows = octets = 0
        flight: deque[tuple[Pending[None], str, str]] = deque()
        message: Outgoing | None = first
        following = iter(others)
        while message is not None:
            exchange, key = message.exchange, message.routing_key
            try:
                flight.append((session.send(exchange, key, message.body, **message.properties), exchange, key))
            except EncodeError as error:
                raise LiveSetupError(
                    f"a message to exchange {exchange!r} with routing key {key!r} is not valid: {error}"
                ) from None
            rows += 1
            octets += len(message.body)
            while flight and flight[0][0].done:
                self._taken(*flight.popleft())
            if len(flight) >= WITHOUT_WORD:
                self._taken(*flight.popleft())
            message = next(following, None)
        while flight:
            self._taken(*flight.popleft())
        return rows, octets

    def _taken(self, sent: Pending[None], exchange: str, key: str) -> None:
        """Waits until the broker has certainly taken it.  Raises LiveSetupError when no queue takes it."""
        try:
            sent.result()
        except MessageReturned as error:
            raise LiveSetupError(
                f"{self.access.shown}: {error}: no queue takes a message to exchange {exchange!r} with routing key {key!r}; "
                "option mandatory=false drops such messages"
            ) from None
