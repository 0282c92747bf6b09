"""Measures the CPU of one client's process, user and system of all its threads, and the time that it took.

python -m bench.loopback.measure NAME CASE COUNT, the URL in AMQP_BENCH_URL; prints two numbers, microseconds per message.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from types import TracebackType
from typing import Final, Self

BODY: Final = b"x" * 100
PREFETCH: Final = 100
AHEAD: Final = 100
"""The most unconfirmed messages in the case `window`."""


class Meter:
    """CPU (user and system, every thread) and wall clock between its begin and its end, in seconds."""

    def __init__(self) -> None:
        self.cpu = self.wall = 0.0

    def __enter__(self) -> Self:
        gc.collect()
        self.wall = -time.perf_counter()
        self.cpu = -time.process_time()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.cpu += time.process_time()
        self.wall += time.perf_counter()


def main() -> None:
    """Runs one case of one client."""
    from bench.loopback import floor, ours, theirs

    name, case, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    clients = {
        "sync": ours.sync, "asyncio": ours.asyncio_, "trio": ours.trio_, "pika": theirs.pika_, "aiormq": theirs.aiormq_,
        "channels": ours.channels_sync, "channels aio": ours.channels_asyncio, "channels trio": ours.channels_trio,
        "bare": floor.sync, "bare aio": floor.asyncio_, "bare trio": floor.trio_,
        "futures": floor.futures, "streams": floor.streams,
    }  # fmt: skip
    meter = Meter()
    clients[name](os.environ["AMQP_BENCH_URL"], case, count, meter)
    print(meter.cpu / count * 1e6, meter.wall / count * 1e6)


if __name__ == "__main__":
    main()
