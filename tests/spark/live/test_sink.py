"""The format `amqp` as a sink of Spark: epochs and jobs, once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.sql.types import StructType
from tests.adapters.served import Served
from tests.spark.live.stage import COPY, declare, drain, in_doubt

from amqp_sansio.spark.live import observed, register
from amqp_sansio.spark.live.decisions import Decisions
from amqp_sansio.spark.live.errors import LiveError, LiveSetupError
from amqp_sansio.spark.live.publisher import Published
from amqp_sansio.spark.live.sink import EpochWriter, JobWriter, Said
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
    writer.commit([Said(Published("", 0, 0), "x")])
    writer.abort([None])
    assert Decisions(tmp_path).all() == []


def test_words_of_tasks_that_do_not_belong_together(served: Served, tmp_path: Path) -> None:
    writer = EpochWriter({"url": served.url, "routingKey": COPY, "journal": str(tmp_path)}, SCHEMA, False)
    none = Published("", 0, 0)
    writer.commit([], 0)
    with pytest.raises(LiveError, match="reported different queries"):
        writer.commit([Said(none, "one"), Said(none, "two")], 0)
    with pytest.raises(LiveError, match="reported different queries"):
        writer.commit([Said(none, "one"), None], 0)
    writer.abort([Said(none, "one"), None], 0)
    assert "one" in repr(Said(none, "one"))


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
