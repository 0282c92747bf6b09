"""A job for `spark-submit`: which build of the package the workers of executors import, one line for each different answer."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
from pyspark.sql import SparkSession


def look(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    """In a worker."""
    from amqp_sansio.kernel import build

    for _ in frames:
        yield pd.DataFrame({"build": [f"compiled: {build.COMPILED}, from {build.__file__}"]})


def main() -> None:
    """Asks both executors."""
    spark = SparkSession.builder.getOrCreate()
    for row in spark.range(4, numPartitions=4).mapInPandas(look, "build string").distinct().collect():
        print(row[0])
    spark.stop()


if __name__ == "__main__":
    main()
