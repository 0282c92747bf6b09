"""`amqp-sansio analyze`: captures of any size to tables, on Spark or in this process."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from functools import partial
from typing import Final

from amqp_sansio.captures.errors import PipelineError
from amqp_sansio.cli.output import Progress, complain
from amqp_sansio.cli.pipeline import ALL_CORES, plan_of, report, run_here, size
from amqp_sansio.errors.core import many

SMALL_OCTETS: Final = 32_000_000
"""Uncompressed captures with fewer octets are small: this process finishes before Spark has started."""
START_SECONDS: Final = 1.0
OCTETS_A_SECOND: Final = 8_000_000
CONNECTIONS_A_SECOND: Final = 6_000
FILES_A_SECOND: Final = 600
"""The start-up time of this process, and how much it then analyzes per second, as measured
(docs/how-to/captures-of-any-size.md): octets, and connections and files, which matter where they are many and small."""


def analyze(given: argparse.Namespace) -> int:
    """Publishes the tables and prints a summary.  Returns 0, or 2 when something could not be read."""
    if _engine(given) == "local":
        return report(run_here(given.files, given.out, plan_of(given), given.file_size), given.json)
    from amqp_sansio.spark.session import require_extra

    require_extra()
    from amqp_sansio.captures.columns.store import opened
    from amqp_sansio.captures.source import files_of
    from amqp_sansio.spark.analyze import run
    from amqp_sansio.spark.stderr import quiet_session

    # Visible faults are reported before Spark takes its seconds to start.
    files = files_of(given.files)
    opened(given.out).discard()
    plan = plan_of(given)
    began = time.monotonic()
    with (
        Progress() as progress,
        quiet_session(
            given.master or ALL_CORES, dict(given.conf), partial(progress.tasks, many(len(files), "capture"))
        ) as spark,
    ):
        outcome = run(spark, files, given.out, plan, file_octets=given.file_size)
    status = report(outcome, given.json)
    said = None if given.master else advice(files, time.monotonic() - began, outcome.rows.get("connections", 0))
    if said is not None:
        complain(said)
    return status


def _engine(given: argparse.Namespace) -> str:
    """Returns the engine: Spark, unless this process was requested or pyspark is not installed."""
    wants_spark = bool(given.master or given.conf)
    if given.engine == "local" and wants_spark:
        raise PipelineError("--master and --conf are for Spark, which --engine local does not use")
    if given.engine or wants_spark:
        return str(given.engine or "spark")
    from amqp_sansio.spark.session import missing

    if "pyspark" not in missing():
        return "spark"
    complain("pyspark is not installed: analyzed in this process (--engine local)")
    return "local"


def advice(files: Sequence[str], seconds: float, connections: int) -> str | None:
    """Returns a hint how long the other engine would have taken, for small captures, if that is less than the `seconds` of
    Spark."""
    from amqp_sansio.captures.files import PACKED
    from amqp_sansio.captures.source import octets_of

    octets = octets_of(files)
    other = START_SECONDS + octets / OCTETS_A_SECOND + connections / CONNECTIONS_A_SECOND + len(files) / FILES_A_SECOND
    if octets > SMALL_OCTETS or other >= seconds or any(file.endswith(PACKED) for file in files):
        return None
    return f"Spark took {seconds:.1f} s for {size(octets)}: --engine local takes about {other:.1f} s"
