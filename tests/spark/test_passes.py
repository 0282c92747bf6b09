"""The pass over packets costs one exchange and one sort."""

from __future__ import annotations

from contextlib import redirect_stdout
from io import StringIO
from typing import TYPE_CHECKING

from tests.spark.truth import DATA

from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.spark.passes import replayed
from amqp_sansio.spark.sources import read_packets

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_one_exchange_and_one_sort(spark: SparkSession) -> None:
    """Grouping by connection is satisfied by the order that the replay wants anyway."""
    packets = read_packets(spark, [str(DATA / "hello.pcap")])
    with redirect_stdout(StringIO()) as plan:
        replayed(packets, ReplayOptions(), 3).explain()
    assert plan.getvalue().count("Exchange") == 1
    assert plan.getvalue().count("Sort ") == 1
