"""The process from which Spark forks its Python workers on this machine: pyspark's daemon, with a worker's imports done once.

Spark starts new workers for almost every batch of a stream, and a worker's imports (pandas, pyarrow, this package) cost 0.5 s
of CPU.  pyspark leaves imports to each worker, because a fork must not happen while threads run; with the environment that
`session` sets, these imports start only jemalloc's thread, which is safe to fork.
"""

from __future__ import annotations

import gc
import importlib
from typing import Final

from pyspark.daemon import manager

IMPORTED: Final = (
    "pandas",
    "pyspark.worker",
    "amqp_sansio.spark.follower",
    "amqp_sansio.spark.joined",
    "amqp_sansio.spark.passes",
    "amqp_sansio.spark.source",
)
"""Modules that most workers need."""


def prepare() -> None:
    """Imports them."""
    for name in IMPORTED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # else the first collection in each worker would copy all their objects


if __name__ == "__main__":
    prepare()
    manager()
