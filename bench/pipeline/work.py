"""Runs one way of doing the work in its own process: warms up, measures several turns, and prints the figures as JSON lines."""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from bench.pipeline.usage import Peak, cpu_seconds

FOUR_FIELDS: Final = ("frame.time_epoch", "ip.src", "tcp.srcport", "amqp")
"""The fewest fields with any information about AMQP."""
TSHARK_FIELDS: Final = (
    "frame.number", "frame.time_epoch", "ip.src", "tcp.srcport", "ip.dst", "tcp.dstport", "tcp.stream", "amqp.type",
    "amqp.track-number", "amqp.channel", "amqp.length", "amqp.connection.method", "amqp.session.method",
    "amqp.execution.method", "amqp.message.method", "amqp.dtx.method", "amqp.queue.method", "amqp.message.transfer.destination",
    "amqp.message.transfer.accept-mode", "amqp.message.transfer.acquire-mode",
    "amqp.message.delivery-properties.exchange", "amqp.message.delivery-properties.routing-key",
    "amqp.message.delivery-properties.delivery-mode", "amqp.message.message-properties.message-id",
    "amqp.message.message-properties.content-type", "amqp.message.accept.transfers",
)  # fmt: skip
"""The contents of our tables that a single packet determines; completion, latency, credit, doubt and blame have no field."""
PORT: Final = 5672


def batch(master: str, scratch: Path) -> Callable[[list[str]], int]:
    """`analyze` in Spark."""
    from amqp_sansio.captures.replay.options import ReplayOptions
    from amqp_sansio.spark.analyze import run
    from amqp_sansio.spark.session import open_session

    spark = open_session(master)

    def work(captures: list[str]) -> int:
        return sum(run(spark, captures, str(scratch / "out"), ReplayOptions()).rows.values())

    return work


def stream(master: str, scratch: Path) -> Callable[[list[str]], int]:
    """`watch --once` in Spark, from scratch."""
    from amqp_sansio.captures.replay.options import ReplayOptions
    from amqp_sansio.spark.session import open_session
    from amqp_sansio.spark.watch import Watch

    spark = open_session(master)

    def work(captures: list[str]) -> int:
        for each in (scratch / "out", scratch / "checkpoint"):
            shutil.rmtree(each, ignore_errors=True)
        folder, out, checkpoint = str(Path(captures[0]).parent), str(scratch / "out"), str(scratch / "checkpoint")
        watch = Watch(spark, folder, out, checkpoint, ReplayOptions(), options={"closed": "all"})
        return sum(watch.run(once=True).rows.values())

    return work


def plain(master: str, scratch: Path) -> Callable[[list[str]], int]:
    """`analyze --engine local`: the same tables, in this process alone."""
    from amqp_sansio.captures.columns.local import run

    def work(captures: list[str]) -> int:
        return sum(run(captures, str(scratch / "out")).rows.values())

    return work


def check(master: str, scratch: Path) -> Callable[[list[str]], int]:
    """The verdicts of `check`."""
    from amqp_sansio.captures.conversation import observers
    from amqp_sansio.captures.verdicts import verdicts

    def work(captures: list[str]) -> int:
        return sum([len(each.findings) + 1 for each in verdicts(captures[0], observers(), (), lambda text: None)])

    return work


def index(master: str, scratch: Path) -> Callable[[list[str]], int]:
    """The connection of each packet, and nothing else."""
    from amqp_sansio.captures.columns.read import read_file
    from amqp_sansio.captures.tables import picked

    def work(captures: list[str]) -> int:
        return sum([batch.num_rows for batch in read_file(captures[0], 0, picked("connection"))])

    return work


def tshark(master: str, scratch: Path) -> Callable[[list[str]], int]:
    """`tshark -T fields` on the same file, with the fields of our tables."""
    return _tshark(TSHARK_FIELDS)


def tshark4(master: str, scratch: Path) -> Callable[[list[str]], int]:
    """The same with four fields only."""
    return _tshark(FOUR_FIELDS)


def tshark_words(path: str, fields: tuple[str, ...] = TSHARK_FIELDS) -> list[str]:
    """Returns the command line."""
    words = ["tshark", "-d", f"tcp.port=={PORT},amqp", "-r", path, "-T", "fields"]
    for field in fields:
        words += ["-e", field]
    return words


def _tshark(fields: tuple[str, ...]) -> Callable[[list[str]], int]:
    def work(captures: list[str]) -> int:
        done = subprocess.run(tshark_words(captures[0], fields), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
        return done.stdout.count(b"\n")

    return work


WAYS: Final = {
    "batch": batch,
    "stream": stream,
    "plain": plain,
    "check": check,
    "index": index,
    "tshark": tshark,
    "tshark4": tshark4,
}


def main() -> None:
    """Prints {"wall", "cpu", "rows", "worker"} for each measured turn; `worker` is the peak of any Python worker in octets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("way", choices=WAYS)
    parser.add_argument("captures", nargs="+")
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--turns", type=int, default=1)
    parser.add_argument("--warm-up", default=None)
    given = parser.parse_args()
    scratch = Path(tempfile.mkdtemp(prefix="bench-", dir=Path(given.captures[0]).parent.parent))
    try:
        work = WAYS[given.way](given.master, scratch)
        if given.warm_up:
            work([given.warm_up])
        for _ in range(given.turns):
            began, used = time.perf_counter(), cpu_seconds()
            with Peak() as peak:
                rows = work(given.captures)
            wall, cpu = time.perf_counter() - began, cpu_seconds() - used
            print(json.dumps({"wall": wall, "cpu": cpu, "rows": rows, "worker": peak.octets}), flush=True)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
