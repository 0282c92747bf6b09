"""The pass over a stream of bundles, and the final rows of connections that are still open."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.spark.envelope import ENVELOPE, as_batch
from amqp_sansio.spark.follower import STATE, Follower, awake

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def followed(bundles: DataFrame, plan: ReplayOptions, idle_hours: float = 0.0) -> DataFrame:
    """Returns the envelopes of finished rows from a stream of bundles; state expires after `idle_hours` (0: never)."""
    return bundles.groupBy("connection").transformWithStateInPandas(
        statefulProcessor=Follower(plan, idle_hours),
        outputStructType=ENVELOPE,
        outputMode="Append",
        timeMode="ProcessingTime" if idle_hours else "None",
    )


def open_records(spark: SparkSession, checkpoint: str, plan: ReplayOptions) -> DataFrame:
    """Returns the envelopes of the open connections in a stream's state, as if they ended there."""

    def wake(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield as_batch(awake(plan, (each.as_py() for each in batch.column("snapshot"))))

    states = spark.read.format("statestore").option("stateVarName", STATE).load(checkpoint)
    return states.selectExpr("value.snapshot as snapshot").mapInArrow(wake, ENVELOPE)
