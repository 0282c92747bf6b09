"""Spark meets a live broker: the format `amqp`, a streaming source and a sink that lose nothing.

    from amqp_sansio.spark import live

    live.register(spark)
    frame = spark.readStream.format("amqp").option("url", "amqp://...").option("queue", "orders").load()
    query = frame.writeStream.format("parquet").option("path", ...).option("checkpointLocation", ...).start()

What needs no Spark (segments, the spooler, the log of decisions) is in files that import none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from amqp_sansio.spark.live.supervisor import supervise

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["observed", "register", "supervise"]


def register(spark: SparkSession) -> None:
    """Registers the format `amqp` with a session, for `readStream`, `writeStream` and `write`."""
    from amqp_sansio.spark.live.source import AmqpSource

    spark.dataSource.register(AmqpSource)


def observed(frame: DataFrame, name: str = "amqp") -> DataFrame:
    """Returns the frame with its rows and octets (of column body) reported in the query's progress as
    `observedMetrics[name]`."""
    from pyspark.sql import functions

    octets = functions.coalesce(functions.sum(functions.octet_length("body")), functions.lit(0))
    return frame.observe(name, functions.count(functions.lit(1)).alias("rows"), octets.alias("octets"))
