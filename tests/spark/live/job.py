"""A supervised query from a queue to a queue in a process of its own, for a test that kills parts of it: url, folder.

It begins when it is given a line, so that its JVM can be there before it is wanted.  Exit 0: the queue is empty.  JVM_KILLED:
its JVM is gone.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, Final

from tests.spark.live.killed import JVM, KilledSource
from tests.spark.live.stage import COPY, ORDERS

from amqp_sansio.conversation.retry import RetryPolicy
from amqp_sansio.spark.live import supervise
from amqp_sansio.spark.session import open_session
from amqp_sansio.spark.stderr import quiet

JVM_KILLED: Final = 3
AT_ONCE: Final = RetryPolicy(attempts=100, first=0.05, longest=0.05, give_up=None)


def main() -> None:
    """Takes what is there, a few messages in each epoch, and publishes it."""
    url, place = sys.argv[1], Path(sys.argv[2])
    with quiet():
        settings = {"spark.driver.memory": "1g", "spark.sql.shuffle.partitions": "1"}
        spark = open_session("local[2]", settings=settings)
        jvm: Any = spark.sparkContext._gateway.proc  # type: ignore[union-attr]  # what PySpark started
        Path(os.environ[JVM]).write_text(str(jvm.pid))
        spark.dataSource.register(KilledSource)
        sys.stdin.readline()

        def start() -> Any:
            if jvm.poll() is not None:
                os._exit(JVM_KILLED)
            frame = (
                spark.readStream.format("amqp").option("url", url).option("queue", ORDERS)
                .option("spool", str(place / "spool")).option("maxRows", "5").load()
            )  # fmt: skip
            return (
                frame.writeStream.format("amqp").option("url", url).option("routingKey", COPY)
                .option("checkpointLocation", str(place / "checkpoint")).trigger(availableNow=True).start()
            )  # fmt: skip

        supervise(start, AT_ONCE)


if __name__ == "__main__":
    main()
