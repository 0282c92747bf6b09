"""A query from a queue to a queue in a process of its own, for a test that kills it: url, folder."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.spark.live.stage import COPY, ORDERS

from amqp_sansio.spark.live import register
from amqp_sansio.spark.quiet import quiet
from amqp_sansio.spark.session import open_session


def main() -> None:
    """Takes what is there, a few messages in each epoch, and publishes it."""
    url, place = sys.argv[1], Path(sys.argv[2])
    with quiet():
        settings = {"spark.driver.memory": "1g", "spark.sql.shuffle.partitions": "1"}
        spark = open_session("local[2]", settings=settings)
        register(spark)
        frame = (
            spark.readStream.format("amqp").option("url", url).option("queue", ORDERS)
            .option("spool", str(place / "spool")).option("maxRows", "10").load()
        )  # fmt: skip
        query = (
            frame.writeStream.format("amqp").option("url", url).option("routingKey", COPY)
            .option("checkpointLocation", str(place / "checkpoint")).trigger(availableNow=True).start()
        )  # fmt: skip
        query.awaitTermination()


if __name__ == "__main__":
    main()
