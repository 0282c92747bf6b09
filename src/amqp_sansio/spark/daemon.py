"""The process from which Spark forks its Python workers on this machine: pyspark's daemon, with a worker's imports done once.

Spark starts new workers for almost every batch of a stream, and a worker's imports (pandas, pyarrow, this package) cost 0.5 s
of CPU.  pyspark leaves imports to each worker, because a fork must not happen while threads run; with the environment that
`session` sets, these imports start only jemalloc's thread, which is safe to fork.
"""

from __future__ import annotations

import gc
import importlib
from socket import socket
from typing import Final

from pyspark import daemon

IMPORTED: Final = (
    "pandas",
    "pyspark.worker",
    "amqp_sansio.spark.follower",
    "amqp_sansio.spark.writer",
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


_worker: Final = daemon.worker


def worker(sock: socket, authenticated: bool) -> int:
    """Runs a worker.  Spark closes the connection of one whose job has failed and reports why; pyspark would print a trace."""
    try:
        return _worker(sock, authenticated)
    except ConnectionError:
        return 1


if __name__ == "__main__":
    prepare()
    daemon.worker = worker
    daemon.manager()
