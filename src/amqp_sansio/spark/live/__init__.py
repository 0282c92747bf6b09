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
    from pyspark.sql import SparkSession

__all__ = ["register", "supervise"]


def register(spark: SparkSession) -> None:
    """Makes the format `amqp` known to a session, for `readStream`, `writeStream` and `write`."""
    from amqp_sansio.spark.live.source import AmqpSource

    spark.dataSource.register(AmqpSource)
