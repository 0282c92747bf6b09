"""The format `amqp` as a stream of Spark: one query from its start to its end, and what Spark says when it fails."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows
from pyspark.sql.types import StructType
from tests.adapters.served import Served
from tests.spark.live.stage import NEXT, ORDERS, InMemory, at_step, declare, send, source, stream_at

from amqp_sansio.config import ServerConfig
from amqp_sansio.engine.sasl import PlainServer
from amqp_sansio.spark.errors import LiveError, LiveSetupError
from amqp_sansio.spark.live import register, supervise
from amqp_sansio.spark.live.mapping import NAMES
from amqp_sansio.spark.live.source import AmqpSource, AmqpStream, SegmentPartition
from amqp_sansio.spark.live.supervisor import QueryGaveUp

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


USERS = ServerConfig(mechanisms=(PlainServer(lambda name, password: (name, password) == ("me", "geheim")),))


@pytest.fixture
def served() -> Iterator[Served]:
    with Served(USERS) as served:
        declare(url_of(served), ORDERS)
        yield served


def url_of(served: Served) -> str:
    return served.url.replace("//localhost", "//me:geheim@127.0.0.1")  # PLAIN goes in the clear to a loopback address alone


def stream_of(place: Path, served: Served, **more: str) -> AmqpStream:
    options = {"url": url_of(served), "queue": ORDERS, "spool": str(place / "spool"), "maxRows": "10", **more}
    made = AmqpSource(options).streamReader(StructType().add("body", "binary").add("segment", "long"))
    assert isinstance(made, AmqpStream)
    return made


def test_what_spark_asks_of_a_stream(served: Served, tmp_path: Path) -> None:
    send(url_of(served), [b"%d" % number for number in range(25)])
    stream = pickle.loads(pickle.dumps(stream_of(tmp_path, served)))
    assert stream.getDefaultReadLimit() == ReadMaxRows(10)
    stream.prepareForTriggerAvailableNow()
    start = stream.initialOffset()
    end = stream.latestOffset(start, ReadMaxRows(10))
    assert stream.reportLatestOffset() == {**end, "lag": 15, "in_doubt": 0, "mode": "exactly-once"}
    (partition,) = stream.partitions(start, end)
    again = pickle.loads(pickle.dumps(stream))
    rows = [row for batch in again.read(pickle.loads(pickle.dumps(partition))) for row in batch.to_pylist()]
    assert rows == [{"body": b"%d" % number, "segment": 1} for number in range(10)]
    last = stream.latestOffset(end, ReadAllAvailable())
    assert (last["segment"], last["rows"]) == (3, 25)
    assert len(stream.partitions(end, last)) == 2
    stream.commit(end)
    with pytest.raises(LiveError, match="must be a folder that the executors see"):
        next(stream.read(partition))
    stream.stop()
    stream.stop()
    assert "spool" in repr(SegmentPartition("/spool/x", 1))


def test_a_queue_is_no_table(served: Served) -> None:
    with pytest.raises(LiveSetupError, match="a queue is read as a stream"):
        AmqpSource({"url": served.url, "queue": ORDERS}).reader(StructType())


def frame_of(spark: SparkSession, served: Served, place: Path, queue: str = ORDERS) -> DataFrame:
    register(spark)
    reader = spark.readStream.format("amqp").option("url", url_of(served)).option("queue", queue)
    return reader.option("spool", str(place / f"spool-{queue}")).option("maxRows", "100").load()


def test_a_query_from_a_queue_to_parquet(spark: SparkSession, served: Served, tmp_path: Path) -> None:
    bodies = [b"order %d" % number for number in range(250)]
    send(url_of(served), bodies, headers={"n": 1})
    frame = frame_of(spark, served, tmp_path)
    assert tuple(frame.columns) == NAMES
    query = (
        frame.writeStream.format("parquet")
        .option("path", str(tmp_path / "out"))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    rows = spark.read.parquet(str(tmp_path / "out")).collect()
    assert sorted(bytes(row["body"]) for row in rows) == sorted(bodies)
    assert rows[0]["headers"] == {"n": "1"}
    assert served.depth(ORDERS) == 0
    told = [json.loads(each.json) for each in query.recentProgress]
    found = (
        json.loads(told[-1]["sources"][0]["latestOffset"])
        if isinstance(told[-1]["sources"][0]["latestOffset"], str)
        else (told[-1]["sources"][0]["latestOffset"])
    )
    assert (found["rows"], found["lag"], found["in_doubt"], found["mode"]) == (250, 0, 0, "exactly-once")
    assert found["octets"] > sum(map(len, bodies))
    # The password is nowhere: not in the progress, not in the plan, not in the checkpoint.
    shown = json.dumps(told) + frame._jdf.queryExecution().toString() + str(query._jsq.explainInternal(True))
    for path in [*(tmp_path / "checkpoint").rglob("*"), *(tmp_path / "spool-orders").rglob("*")]:
        if path.is_file():
            shown += path.read_bytes().decode("latin-1")
    assert "geheim" not in shown


def test_what_is_wrong_is_one_clear_error(spark: SparkSession, served: Served, tmp_path: Path) -> None:
    frame = frame_of(spark, served, tmp_path, "nowhere")

    def start() -> object:
        return frame.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "c")).start()

    with pytest.raises(StreamingQueryException, match="there is no queue 'nowhere'") as raised:
        start().awaitTermination()  # type: ignore[attr-defined]
    assert "geheim" not in str(raised.value)
    with pytest.raises(QueryGaveUp, match=r"^amqp://me:\*\*\*@127.0.0.1:\d+/: there is no queue 'nowhere' \(option queue\)$"):
        supervise(start)  # type: ignore[arg-type]  # Spark has no types


BODIES = [b"order %d" % number for number in range(20)]


@pytest.fixture
def broker() -> Iterator[InMemory]:
    with Served() as served:
        declare(served.url, ORDERS)
        yield InMemory(served)


def test_a_drain_takes_what_was_there_and_ends(broker: InMemory, tmp_path: Path) -> None:
    """What comes after the drain began is left on its queue, however the segments fall."""
    send(broker.url, BODIES)
    reader = stream_at(source(broker.url, tmp_path))
    reader.prepareForTriggerAvailableNow()
    send(broker.url, [b"late"] * 5)
    offset, rows = reader.initialOffset(), []
    while (following := reader.latestOffset(offset, NEXT)) != offset:
        rows.append(following["rows"] - offset["rows"])
        offset = following
    assert rows == [7, 7, 6]
    assert reader.latestOffset(offset, ReadAllAvailable()) == offset
    reader.stop()
    assert broker.served.depth(ORDERS) == 5


def test_a_drain_whose_messages_do_not_come_says_so(broker: InMemory, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    send(broker.url, [b"x" * 2000])
    reader = stream_at(source(broker.url, tmp_path, prefetchOctets="1000", waitSeconds="0"))
    reader.prepareForTriggerAvailableNow()
    assert reader.latestOffset(reader.initialOffset(), NEXT) == reader.initialOffset()
    reader.stop()
    assert "1 messages are on orders and do not come" in caplog.text
    assert "prefetchOctets" in caplog.text
    assert broker.served.depth(ORDERS) == 1


def test_everything_is_several_segments_at_once(broker: InMemory, tmp_path: Path) -> None:
    send(broker.url, BODIES)
    reader = stream_at(source(broker.url, tmp_path))
    start = reader.initialOffset()
    assert reader.reportLatestOffset() is None
    end = reader.latestOffset(start, ReadAllAvailable())
    assert (end["segment"], end["rows"]) == (3, 20)
    assert [each.number for each in reader.partitions(start, end)] == [1, 2, 3]
    reader.commit(end)
    with pytest.raises(LiveSetupError, match="do not belong together"):
        reader.partitions(start, end)
    reader.stop()


def test_a_segment_whose_commit_was_not_answered_is_handed_out(broker: InMemory, tmp_path: Path) -> None:
    send(broker.url, BODIES[:7])
    reader = stream_at(source(broker.url, tmp_path), at_step("recorded", 1, broker.cut))
    reader.prepareForTriggerAvailableNow()
    end = reader.latestOffset(reader.initialOffset(), NEXT)
    assert (end["segment"], end["rows"]) == (1, 7)
    assert reader.latestOffset(end, NEXT) == end
    assert reader.reportLatestOffset() == {**end, "lag": 0, "in_doubt": 0, "mode": "exactly-once"}
    reader.stop()


def test_a_checkpoint_has_one_spool(broker: InMemory, tmp_path: Path) -> None:
    one, two = stream_at(source(broker.url, tmp_path / "one")), stream_at(source(broker.url, tmp_path / "two"))
    with pytest.raises(LiveSetupError, match="is not the spool of this checkpoint"):
        one.latestOffset(two.initialOffset(), NEXT)
