"""The process that Spark forks its Python workers from, on one machine: with the libraries loaded that every worker needs.

Spark's own one has loaded little, so that each worker takes a second to import Arrow, pandas and this package, and keeps a copy
of its own in memory.  Forked from here they have both at once and share them.
"""

from __future__ import annotations

import pandas as pd  # noqa: F401 -- loaded for those that are forked
import pyarrow.compute
import pyarrow.parquet  # noqa: F401
from pyspark.daemon import manager

import amqp_sansio.captures.columns.read
import amqp_sansio.captures.columns.replay
import amqp_sansio.spark.follower
import amqp_sansio.spark.source
import amqp_sansio.spark.writer  # noqa: F401

if __name__ == "__main__":
    manager()
