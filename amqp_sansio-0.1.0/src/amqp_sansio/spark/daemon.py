"""What Spark forks its Python workers from on this machine: pyspark's own daemon, with the imports of a worker done once.

Spark starts new workers for almost every batch of a stream, and what a worker imports (pandas, pyarrow, this package) costs
0.5 s of CPU.  pyspark leaves imports to each worker, for a fork must not meet threads: with the environment that `session`
gives, the only one that these imports start is that of jemalloc, which knows forks.
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
"""What most workers need."""


def prepare() -> None:
    """Imports it."""
    for name in IMPORTED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # or the first collection in each worker makes it a copy of its own of all that


if __name__ == "__main__":
    prepare()
    manager()
