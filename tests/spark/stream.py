"""A stream in a process of its own, for tests that kill it: folder, output, checkpoint."""

from __future__ import annotations

import sys

from tests.spark.truth import OPTIONS

from amqp_sansio.spark.session import open_session
from amqp_sansio.spark.stderr import quiet
from amqp_sansio.spark.watch import Watch


def main() -> None:
    """Reads what is there, one file in each batch."""
    folder, out, checkpoint = sys.argv[1:]
    with quiet():
        settings = {
            "spark.driver.memory": "1g",
            "spark.sql.shuffle.partitions": "1",
        }
        spark = open_session("local[2]", settings=settings)
        Watch(spark, folder, out, checkpoint, OPTIONS, options={"maxFilesPerTrigger": "1", "closed": "all"}).run(once=True)


if __name__ == "__main__":
    main()
