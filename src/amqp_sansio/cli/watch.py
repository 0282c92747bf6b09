"""`amqp-sansio watch`: turns captures into tables as they are written."""

from __future__ import annotations

import argparse

from amqp_sansio.cli.output import Progress, complain
from amqp_sansio.cli.pipeline import ALL_CORES, plan_of, report


def watch(given: argparse.Namespace) -> int:
    """Follows the folder until an interrupt (or, with --once, until it has read everything) and publishes."""
    from amqp_sansio.spark.session import require_extra

    require_extra()
    from amqp_sansio.captures.columns.place import Place
    from amqp_sansio.captures.replay.options import IDLE_HOURS
    from amqp_sansio.spark.errors import PipelineError
    from amqp_sansio.spark.source import Newest
    from amqp_sansio.spark.stderr import quiet_session
    from amqp_sansio.spark.watch import CONNECT, Watch

    if given.master and given.master.startswith("sc://"):
        raise PipelineError(CONNECT)
    newest = Newest(given.folder)
    plan = plan_of(given)
    for place in (Place(given.out), Place(given.checkpoint)):
        place.open()
        place.discard()
    progress = Progress()

    def tell(done: int, known: int) -> None:
        progress.tasks(given.folder, 0, 0)  # how much work will come is unknown

    with progress, quiet_session(given.master or ALL_CORES, dict(given.conf), tell) as spark:
        closed = given.closed or "newest"
        if given.once and given.closed is None:
            # Everything that exists, except a file that is growing: its later part would never be read.
            growing = newest.growing()
            closed = "newest" if growing else "all"
            if growing:
                complain(f"{growing} is still being written to: it is left for the next time")
        idle = IDLE_HOURS if given.idle_hours is None else given.idle_hours
        stream = Watch(
            spark,
            given.folder,
            given.out,
            given.checkpoint,
            plan,
            options={"closed": closed},
            idle_hours=idle,
            warn=complain,
        )
        outcome = stream.run(once=given.once)
    return report(outcome, given.json)
