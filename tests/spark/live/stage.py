"""A stage for the live source and sink: brokers that can be killed, and what Spark does, played without Spark."""

from __future__ import annotations

import itertools
import json
import signal
import socket
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any
from weakref import WeakSet

import attrs
import pyarrow as pa
from pyspark.sql.streaming.datasource import ReadMaxRows
from tests.adapters.served import Served
from tests.cli.serving import Serving

from amqp_sansio.adapters.sync import Connection, connect
from amqp_sansio.conversation.message import Message
from amqp_sansio.spark.errors import LiveError
from amqp_sansio.spark.live import broker_link
from amqp_sansio.spark.live.broker_link import go_on
from amqp_sansio.spark.live.coordinator import CommitCoordinator, Decisions, TaskPublished
from amqp_sansio.spark.live.mapping import COLUMNS
from amqp_sansio.spark.live.options import AT_LEAST_ONCE, SinkOptions, SourceOptions, sink_options, source_options
from amqp_sansio.spark.live.sink import Publisher
from amqp_sansio.spark.live.source import AmqpStream
from amqp_sansio.spec.queue import Declare, Query, QueueQueryResult

ORDERS = "orders"
COPY = "copy"


class Crash(BaseException):
    """The process is dead: nothing of it runs any more."""


class InMemory:
    """The model broker in a thread; it is not killed."""

    def __init__(self, served: Served) -> None:
        self.served = served

    @property
    def url(self) -> str:
        return self.served.url

    def cut(self) -> None:
        self.served.cut()


class OnDisk:
    """`amqp-sansio serve --data-dir`, killed with signal 9."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._serving = Serving("--data-dir", str(folder))
        self.port = self._serving.port

    @property
    def url(self) -> str:
        return f"amqp://127.0.0.1:{self.port}"

    def fall(self) -> None:
        """It is killed, and started again where it was."""
        self._serving.process.send_signal(signal.SIGKILL)
        self.rise()

    @property
    def process(self) -> subprocess.Popen[bytes]:
        return self._serving.process

    def rise(self) -> None:
        """It was killed, and is started again where it was."""
        self._serving.wait()
        self._serving.out.close()
        self._serving = Serving("--data-dir", str(self._folder), port=self.port)
        assert self._serving.url, self._serving.errors

    def end(self) -> None:
        self._serving.kill()


def declare(url: str, *names: str) -> None:
    with connect(url) as connection, connection.session() as session:
        for name in names:
            session.execute(Declare(name, durable=True))


def send(url: str, bodies: Sequence[bytes], queue: str = ORDERS, **properties: Any) -> None:
    with connect(url) as connection, connection.session() as session:
        for body in bodies:
            session.send("", queue, body, persistent=True, **properties)


def depth(url: str, queue: str = ORDERS) -> int:
    with broker_link.BrokerLink(source_options({"url": url, "queue": queue, "spool": "/"}).access) as asked:
        return asked.queue(queue) or 0


def in_doubt(url: str) -> int:
    with broker_link.BrokerLink(source_options({"url": url, "queue": "x", "spool": "/"}).access) as asked:
        return len(asked.in_doubt())


def drain(url: str, queue: str = COPY) -> list[Message]:
    """All messages of a queue, taken from it: the queue says when that is all."""
    found: list[Message] = []
    silent = 0
    with connect(url) as connection, connection.session() as session, session.subscribe(queue) as messages:
        while True:
            try:
                message = messages.receive(0.1)
            except TimeoutError:
                session.sync()
                left = session.execute(Query(queue))
                assert isinstance(left, QueueQueryResult)
                if not left.message_count:
                    return found
                silent += 1
                assert silent < 300, f"{left.message_count} messages stay on {queue}"
                continue
            assert message is not None
            message.accept()
            found.append(message)


def source(url: str, place: Path, **more: str) -> SourceOptions:
    return source_options({
        "url": url, "queue": ORDERS, "spool": str(place / "spool"), "maxRows": "7", "maxSeconds": "0.05",
        "waitSeconds": "0.05", "retrySeconds": "20", **more,
    })  # fmt: skip


def sink(url: str, place: Path, **more: str) -> SinkOptions:
    return sink_options({"url": url, "routingKey": COPY, "journal": str(place / "journal"), "retrySeconds": "20", **more})


class Injector:
    """Does harm at chosen steps: `at` is the number of the step at which the next harm is done."""

    def __init__(self, harm: Callable[[str], None], at: Iterator[int]) -> None:
        self._harm = harm
        self._at = at
        self._next = next(at, -1)
        self._count = 0
        self.done: Counter[str] = Counter()

    def __call__(self, step: str) -> None:
        self._count += 1
        if self._count == self._next:
            self._count, self._next = 0, next(self._at, -1)
            self.done[step] += 1
            self._harm(step)


def at_step(wanted: str, nth: int, harm: Callable[[], None]) -> Callable[[str], None]:
    """Does harm at the nth time that a step is reached."""
    count = itertools.count(1)

    def step(name: str) -> None:
        if name == wanted and next(count) == nth:
            harm()

    return step


def die() -> None:
    """The process dies: its sockets are closed by the system, and nothing is said on them."""
    for each in list(_CONNECTIONS):
        abandon(each)
    _CONNECTIONS.clear()
    raise Crash


_CONNECTIONS: WeakSet[Connection] = WeakSet()


def _remembered(*arguments: Any, **more: Any) -> Connection:
    made = connect(*arguments, **more)
    _CONNECTIONS.add(made)
    return made


vars(broker_link)["connect"] = _remembered  # every connection of a source or a sink is one that can be lost


NEXT = ReadMaxRows(1)
"""Spark's wish for one segment."""


def stream_at(options: SourceOptions, step: Callable[[str], None] = go_on) -> AmqpStream:
    """A stream with all columns whose steps do harm."""

    class Stream(AmqpStream):
        pass

    Stream.step = staticmethod(step)
    return Stream(options, COLUMNS)


class SourceQuery:
    """What Spark does with a source, and its checkpoint and output, which outlive its crashes."""

    def __init__(self, options: SourceOptions, step: Callable[[str], None]) -> None:
        self.options = options
        self.step = step
        self.offsets: list[dict[str, Any]] = []
        """The log of offsets: written before a batch is worked on."""
        self.committed = 0
        self.output: dict[int, list[dict[str, Any]]] = {}
        """Rows by batch: a file sink, which takes each batch once."""
        self.starts = 0

    def run(self) -> None:
        """To the end of what is there, started again whenever it dies or fails."""
        while True:
            self.starts += 1
            assert self.starts < 1000
            reader = stream_at(self.options, self.step)
            try:
                self._run(reader)
                reader.stop()
                return
            except Crash:
                reader.spooler.spool.lock.release()
            except LiveError:
                reader.stop()

    def _run(self, reader: AmqpStream) -> None:
        start = self.offsets[self.committed - 1] if self.committed else reader.initialOffset()
        if len(self.offsets) > self.committed:
            self._batch(reader, start)
            start = self.offsets[-1]
        quiet = 0
        while quiet < 2 or self._waits(reader, quiet):
            if self.committed > 1:
                reader.commit(self.offsets[self.committed - 2])
            end = reader.latestOffset(start, NEXT)
            if end == start:
                quiet += 1
                continue
            quiet = 0
            self.offsets.append(json.loads(json.dumps(end)))
            self.step("offset logged")
            self._batch(reader, start)
            start = end
        if self.committed:
            reader.commit(self.offsets[self.committed - 1])

    def _waits(self, reader: AmqpStream, quiet: int) -> bool:
        """Whether messages wait on the queue: silence alone does not tell, because the broker may be slow, or has not noticed
        yet that the process that held them is dead."""
        left = reader.spooler.depth()
        assert quiet < 300 or not left, f"{left} messages stay on {ORDERS}"
        return left > 0

    def _batch(self, reader: AmqpStream, start: dict[str, Any]) -> None:
        rows: list[dict[str, Any]] = []
        for partition in reader.partitions(start, self.offsets[self.committed]):
            for batch in reader.read(partition):
                rows += batch.to_pylist()
        self.output[self.committed] = rows
        self.step("rows stored")
        self.committed += 1
        self.step("batch committed")

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [row for batch in self.output.values() for row in batch]

    @property
    def bodies(self) -> list[bytes]:
        return [row["body"] for row in self.rows]


def abandon(connection: Connection) -> None:
    """A connection whose process is dead."""
    found = connection._line.driver._socket
    with suppress(OSError):
        if found is not None:
            found.shutdown(socket.SHUT_RDWR)
    connection._line.driver.stop(5)


class SinkQuery:
    """What Spark does with a sink: epochs of rows, tasks that are tried again, and a log of commits."""

    def __init__(
        self, options: SinkOptions, epochs: Sequence[Sequence[bytes]], step: Callable[[str], None], partitions: int = 2
    ) -> None:
        self.options = options
        self.epochs = epochs
        self.step = step
        self.partitions = partitions
        self.committed = 0
        self.starts = 0
        self.query = "query-1"

    def run(self) -> None:
        """All epochs, started again whenever the driver dies or fails."""
        while self.committed < len(self.epochs):
            self.starts += 1
            assert self.starts < 1000
            with suppress(Crash, LiveError):
                self._epoch(self.committed)

    def _epoch(self, epoch: int) -> None:
        decisions = Decisions(self.options.journal)
        mode = CommitCoordinator(self.options, step=self.step).begin()
        self.step("planned")
        rows = self.epochs[epoch]
        published: list[TaskPublished] = []
        try:
            for at in range(self.partitions):
                published.append(self._task(decisions, mode, epoch, at, rows[at :: self.partitions]))
            CommitCoordinator(self.options, step=self.step).commit(self.query, epoch, published)
        except LiveError:  # as Spark does, also when it was the commit that failed
            CommitCoordinator(self.options, step=self.step).abort(published)
            raise
        self.step("commit logged")
        self.committed += 1

    def _task(self, decisions: Decisions, mode: str, epoch: int, partition: int, rows: Sequence[bytes]) -> TaskPublished:
        ids = f"{decisions.owner.hex()}/{epoch}".encode() if mode == AT_LEAST_ONCE else None
        failure: BaseException | None = None
        for _ in range(4):
            batch = pa.RecordBatch.from_pylist([{"body": row} for row in rows])
            messages = attrs.evolve(self.options.rows, ids=ids).messages(iter([batch]), partition)
            publisher = Publisher(self.options, decisions.owner, mode, self.step)
            try:
                return publisher.publish(messages, epoch)
            except LiveError as error:
                failure = error
        assert failure is not None
        raise failure


def numbers(random: Random, mean: int, many: int) -> Iterator[int]:
    """After how many steps harm is done, each time."""
    return iter([random.randint(1, 2 * mean) for _ in range(many)])
