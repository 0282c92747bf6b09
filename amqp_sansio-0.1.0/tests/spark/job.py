"""What a user submits with `spark-submit`: captures, folder."""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession

from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.tables import TABLES
from amqp_sansio.spark.analyze import analyze


def main() -> None:
    """Analyzes in the session that spark-submit (or SPARK_REMOTE) gives."""
    out, *captures = sys.argv[1:]
    spark = SparkSession.builder.getOrCreate()
    options = ReplayOptions(ports=(15672, 15673, 15674), tables=tuple(TABLES), body_head=8)
    tables = analyze(spark, captures, out, options, tasks=4)
    print("rows:", sum(table.count() for table in tables.values()))
    spark.stop()


if __name__ == "__main__":
    main()
