"""Measures the live source and sink of Spark: rows per second in and out, exactly-once and at-least-once.

`python -m bench.live --rows 20000` measures it alone; `make bench-spark` does so at its end.  The broker is `amqp-sansio serve
--data-dir` in its own process; both modes take turns in one warmed-up session.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from amqp_sansio.adapters.sync import connect
from amqp_sansio.cli.served import Process
from amqp_sansio.spark.live import register
from amqp_sansio.spark.live.options import AT_LEAST_ONCE, EXACTLY_ONCE
from amqp_sansio.spark.session import open_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS: Final = 20_000
WARM_UP: Final = 500
TURNS: Final = 3
BODY: Final = b"x" * 100


class Bench:
    """One broker, one session."""

    def __init__(self, spark: SparkSession, url: str, place: Path) -> None:
        self.spark: Final = spark
        self.url: Final = url
        self.place: Final = place
        self._turn = 0

    def _folder(self) -> Path:
        self._turn += 1
        return self.place / str(self._turn)

    def fill(self, rows: int) -> None:
        """Publishes this number of persistent messages of 100 octets."""
        with connect(self.url) as connection, connection.session() as session:
            for _ in range(rows):
                session.send("", "in", BODY, persistent=True)

    def take(self, rows: int, mode: str) -> float:
        """Returns the seconds to read them from their queue through a query to nowhere."""
        self.fill(rows)
        place = self._folder()
        frame = (
            self.spark.readStream.format("amqp").option("url", self.url).option("queue", "in").option("mode", mode)
            .option("spool", str(place / "spool")).load()
        )  # fmt: skip
        began = time.perf_counter()
        query = (
            frame.writeStream.format("noop").option("checkpointLocation", str(place / "checkpoint"))
            .trigger(availableNow=True).start()
        )  # fmt: skip
        query.awaitTermination()
        taken = time.perf_counter() - began
        found = sum([each.numInputRows for each in query.recentProgress])
        if found != rows:
            raise RuntimeError(f"{found} rows of {rows} were taken")
        return taken

    def give(self, rows: int, mode: str) -> float:
        """Returns the seconds to publish them as a job of two tasks."""
        frame = self.spark.range(rows, numPartitions=2).selectExpr(f"repeat('x', {len(BODY)}) AS body")
        began = time.perf_counter()
        (
            frame.write.format("amqp").mode("append").option("url", self.url).option("routingKey", "out").option("mode", mode)
            .option("journal", str(self._folder())).save()
        )  # fmt: skip
        taken = time.perf_counter() - began
        with connect(self.url) as connection, connection.session() as session:
            session.purge("out")
        return taken


def measure(rows: int = ROWS, turns: int = TURNS, say: Callable[[str], None] = print) -> None:
    """Measures both ways in both modes, and prints all results at the end, because workers print in between."""
    began = time.perf_counter()
    lines: list[str] = []
    with TemporaryDirectory(prefix="amqp-sansio-bench-") as folder:
        place = Path(folder)
        broker = Process("--data-dir", str(place / "broker"))
        try:
            with connect(broker.url) as connection, connection.session() as session:
                for name in ("in", "out"):
                    session.declare_queue(name, durable=True)
            spark = open_session("local[2]")
            register(spark)
            bench = Bench(spark, broker.url, place)
            modes = (EXACTLY_ONCE, AT_LEAST_ONCE)
            for label, way in (("in: queue to Spark", bench.take), ("out: Spark to queue", bench.give)):
                for mode in modes:
                    way(min(WARM_UP, rows), mode)
                seconds: dict[str, list[float]] = {mode: [] for mode in modes}
                for _ in range(turns):
                    for mode in modes:
                        seconds[mode].append(way(rows, mode))
                middle = {mode: statistics.median(seconds[mode]) for mode in modes}
                for mode in modes:
                    told = f"{rows / middle[mode]:10,.0f} rows/s  ({rows:,} rows, {middle[mode]:.2f} s)"
                    lines.append(f"  live {label:20} {mode:14} {told}")
                cost = middle[EXACTLY_ONCE] / middle[AT_LEAST_ONCE] - 1
                lines.append(f"  live {label:20} exactly-once costs {cost:+.0%} of the time of at-least-once")
            spark.stop()
        finally:
            broker.end()
    took = time.perf_counter() - began
    say(f"\nlive: serve --data-dir, bodies of {len(BODY)} octets, the middle one of {turns} turns; it took {took:.0f} s")
    for line in lines:
        say(line)


def main() -> int:
    """Returns 0."""
    parser = argparse.ArgumentParser(prog="bench.live", description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--turns", type=int, default=TURNS)
    arguments = parser.parse_args()
    measure(arguments.rows, arguments.turns)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
