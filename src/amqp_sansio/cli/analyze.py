"""`amqp-sansio analyze`: captures of any size to tables."""

from __future__ import annotations

import argparse

from amqp_sansio.cli.pipeline import plan_of, report


def analyze(given: argparse.Namespace) -> int:
    """Publishes the tables and says what is in them; 0, or 2 when something could not be read."""
    from amqp_sansio.spark.session import open_session, require_extra

    require_extra()
    from amqp_sansio.captures.columns.store import opened
    from amqp_sansio.captures.inputs import files_of
    from amqp_sansio.spark.analyze import run
    from amqp_sansio.spark.progress import Progress
    from amqp_sansio.spark.quiet import quiet

    # Whatever can be seen to be wrong is said before Spark takes its seconds to start.
    files = files_of(given.files)
    opened(given.out).discard()
    plan = plan_of(given)
    with quiet():
        spark = open_session(given.master, settings=dict(given.conf))
        try:
            with Progress(spark, f"amqp-sansio: {len(files)} capture{'' if len(files) == 1 else 's'}"):
                outcome = run(spark, files, given.out, plan, file_octets=given.file_size)
        finally:
            spark.stop()
    return report(outcome, given.json)
