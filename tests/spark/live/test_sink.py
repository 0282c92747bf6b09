"""The format `amqp` as a sink of Spark: epochs and jobs, once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.sql.types import StructType
from tests.adapters.served import Served
from tests.spark.live.stage import COPY, InMemory, declare, drain, in_doubt, sink

from amqp_sansio.spark.errors import LiveError, LiveSetupError
from amqp_sansio.spark.live import observed, register
from amqp_sansio.spark.live.coordinator import Decisions, TaskPublished
from amqp_sansio.spark.live.identity import SINK, branch_named, new_owner, owned
from amqp_sansio.spark.live.mapping import Outgoing
from amqp_sansio.spark.live.options import AT_LEAST_ONCE, EXACTLY_ONCE
from amqp_sansio.spark.live.sink import WITHOUT_WORD, EpochWriter, JobWriter, Publisher, TaskReport
from amqp_sansio.spark.live.source import AmqpSource

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


SCHEMA = StructType().add("body", "binary")


@pytest.fixture
def served() -> Iterator[Served]:
    with Served() as served:
        declare(served.url, COPY)
        yield served


def test_what_cannot_be_written_is_reported_before_anything_is(served: Served, tmp_path: Path) -> None:
    source = AmqpSource({"url": served.url, "routingKey": COPY, "journal": str(tmp_path)})
    with pytest.raises(LiveSetupError, match='mode "append" only'):
        source.streamWriter(SCHEMA, True)
    with pytest.raises(LiveSetupError, match="column colour"):
        source.writer(StructType([*SCHEMA.fields]).add("colour", "string"), False)
    assert isinstance(source.streamWriter(SCHEMA, False), EpochWriter)
    writer = source.writer(SCHEMA, False)
    assert isinstance(writer, JobWriter)
    writer.commit([TaskReport(TaskPublished("", 0, 0), "x")])
    writer.abort([None])
    assert Decisions(tmp_path).all() == []


def test_words_of_tasks_that_do_not_belong_together(served: Served, tmp_path: Path) -> None:
    writer = EpochWriter({"url": served.url, "routingKey": COPY, "journal": str(tmp_path)}, SCHEMA, False)
    none = TaskPublished("", 0, 0)
    writer.commit([], 0)
    with pytest.raises(LiveError, match="reported different queries"):
        writer.commit([TaskReport(none, "one"), TaskReport(none, "two")], 0)
    with pytest.raises(LiveError, match="reported different queries"):
        writer.commit([TaskReport(none, "one"), None], 0)
    writer.abort([TaskReport(none, "one"), None], 0)
    assert "one" in repr(TaskReport(none, "one"))


def test_a_job_and_a_stream(spark: SparkSession, served: Served, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A job with a name is published once, however often it is run; an epoch whose commit Spark does not know of, too."""
    register(spark)
    rows = spark.range(40).selectExpr(
        "concat('row ', id) AS body", "map('n', cast(id AS string)) AS headers", "cast(id % 10 AS int) AS priority"
    )
    for _ in range(2):
        job = rows.repartition(3).write.format("amqp").mode("append").option("url", served.url).option("routingKey", COPY)
        job.option("journal", str(tmp_path / "journal")).option("job", "the fortieth").save()
    named = {"url": served.url, "routingKey": COPY, "journal": str(tmp_path / "journal"), "job": "the fortieth"}
    JobWriter(named, SCHEMA, False)
    assert "job 'the fortieth' was published before" in caplog.text
    got = drain(served.url)
    assert sorted(each.body for each in got) == sorted(b"row %d" % number for number in range(40))
    assert got[0].headers == {"n": got[0].body.split()[1].decode()}
    assert in_doubt(served.url) == 0
    rows.write.parquet(str(tmp_path / "in"))

    def run() -> None:
        query = (
            observed(spark.readStream.schema(rows.schema).parquet(str(tmp_path / "in")))
            .writeStream.format("amqp")
            .option("url", served.url)
            .option("routingKey", COPY)
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        (progress,) = query.recentProgress
        assert progress.observedMetrics["amqp"].asDict() == {"rows": 40, "octets": sum(len(f"row {n}") for n in range(40))}

    run()
    assert sorted(each.body for each in drain(served.url)) == sorted(b"row %d" % number for number in range(40))
    (last,) = Decisions(tmp_path / "checkpoint" / "amqp").all()
    assert (last.epoch, last.total_rows, last.finished) == (0, 40, True)
    for path in (tmp_path / "checkpoint" / "commits").glob("*0*"):  # Spark died before it wrote that the epoch is done
        path.unlink()
    run()
    assert drain(served.url) == []
    assert in_doubt(served.url) == 0


OWNER = new_owner()


@pytest.fixture
def broker() -> Iterator[InMemory]:
    with Served() as served:
        declare(served.url, COPY)
        yield InMemory(served)


def test_nothing_is_published_before_it_is_decided(broker: InMemory, tmp_path: Path) -> None:
    many = [Outgoing("", COPY, b"%d" % number, {"mandatory": True}) for number in range(WITHOUT_WORD + 50)]
    made = Publisher(sink(broker.url, tmp_path, branchTimeout="60"), OWNER, EXACTLY_ONCE).publish(many, 7)
    assert (made.rows, made.octets) == (len(many), sum(len(each.body) for each in many))
    assert owned([branch_named(made.branch)], OWNER, SINK)
    assert (broker.served.depth(COPY), in_doubt(broker.url)) == (0, 1)


def test_without_rows_there_is_no_connection(tmp_path: Path) -> None:
    options = sink("amqp://127.0.0.1:1", tmp_path)
    assert Publisher(options, OWNER, EXACTLY_ONCE).publish([]) == TaskPublished("", 0, 0)
    with pytest.raises(LiveError, match="nobody listens there"):
        Publisher(options, OWNER, EXACTLY_ONCE).publish([Outgoing("", COPY, b"", {})])


def test_at_least_once_is_on_the_queue_when_it_returns(broker: InMemory, tmp_path: Path) -> None:
    made = Publisher(sink(broker.url, tmp_path), OWNER, AT_LEAST_ONCE).publish([Outgoing("", COPY, b"x", {})])
    assert made == TaskPublished("", 1, 1)
    assert [each.body for each in drain(broker.url)] == [b"x"]


@pytest.mark.parametrize("mode", [EXACTLY_ONCE, AT_LEAST_ONCE])
@pytest.mark.parametrize(("exchange", "told"), [("", "no queue takes a message to exchange '' with"), ("nowhere", "404")])
def test_a_message_that_goes_nowhere_is_an_error(broker: InMemory, tmp_path: Path, mode: str, exchange: str, told: str) -> None:
    messages = [Outgoing("", COPY, b"good", {"mandatory": True}), Outgoing(exchange, "nowhere", b"bad", {"mandatory": True})]
    with pytest.raises(LiveSetupError, match=told):
        Publisher(sink(broker.url, tmp_path), OWNER, mode).publish(messages)
    assert in_doubt(broker.url) == 0
    if mode == EXACTLY_ONCE:
        assert drain(broker.url) == []


def test_what_no_queue_takes_is_dropped_when_that_is_wished_for(broker: InMemory, tmp_path: Path) -> None:
    """A branch in which nothing came to a queue has nothing to decide about."""
    made = Publisher(sink(broker.url, tmp_path, mandatory="false"), OWNER, EXACTLY_ONCE).publish(
        [Outgoing("", "nowhere", b"x", {})]
    )
    assert made == TaskPublished("", 1, 1)
    assert in_doubt(broker.url) == 0


def test_what_no_message_can_carry_is_reported_for_good(broker: InMemory, tmp_path: Path) -> None:
    many = Outgoing("", COPY, b"x", {"headers": {"h": "x" * 70_000}})
    with pytest.raises(LiveSetupError, match=r"routing key 'copy' is not valid: .*'h'.*65535 octets"):
        Publisher(sink(broker.url, tmp_path), OWNER, EXACTLY_ONCE).publish([many])
    assert in_doubt(broker.url) == 0


def test_a_branch_timeout_that_the_broker_does_not_take(broker: InMemory, tmp_path: Path) -> None:
    with pytest.raises(LiveSetupError, match="542"):
        Publisher(sink(broker.url, tmp_path, branchTimeout="1000000"), OWNER, EXACTLY_ONCE).publish(
            [Outgoing("", COPY, b"", {})]
        )
