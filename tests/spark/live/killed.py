"""The format `amqp` with a plan of kills: files that say at which step who is killed with signal 9, first come, first served.

A file `NUMBER-KIND-SIDE-STEP` is one kill; the process of Spark that comes to the step of the file with the lowest number takes
it away and kills: `python` is that process itself (the source, a task, or who commits), `jvm` the JVM, which the process finds
out by itself, `both` of them, and `broker` the broker.  The pids of the latter are in files beside, as long as they live.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from amqp_sansio.spark.live.broker_link import StepHook
from amqp_sansio.spark.live.mapping import picked
from amqp_sansio.spark.live.options import source_options
from amqp_sansio.spark.live.sink import EpochWriter
from amqp_sansio.spark.live.source import AmqpSource, AmqpStream

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

PLAN: Final = "AMQP_KILLS"
"""The environment variable that names the folder of the plan."""
JVM: Final = "AMQP_KILLS_JVM"
"""The one that names the file with the pid of this JVM."""
BROKER: Final = "broker.pid"


def step_of(side: str) -> Callable[[str], None]:
    """What hears of the steps of the source or the sink."""

    def step(name: str) -> None:
        folder = Path(os.environ[PLAN])
        due = min([path for path in folder.iterdir() if path.suffix == ".due"], default=None)
        if due is None:
            return
        _, kind, where, at = due.stem.split("-")
        if (where, at) != (side, name):
            return
        try:
            with claimed(victims(folder, kind)) as pids:
                due.rename(due.with_suffix(".done"))
        except FileNotFoundError:  # somebody else was quicker
            return
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        if kind in ("python", "both"):
            os.kill(os.getpid(), signal.SIGKILL)

    return step


@contextmanager
def claimed(victims: list[Path]) -> Iterator[list[int]]:
    """The pids of those that nobody has killed before: their files go, and come back when the kill is somebody else's.

    Two tasks of one JVM come to a step at the same time, and a JVM dies once.
    """
    taken: list[tuple[Path, Path]] = []
    try:
        for path in victims:
            aside = path.with_suffix(f".{os.getpid()}")
            path.rename(aside)
            taken.append((aside, path))
        yield [int(aside.read_text()) for aside, _ in taken]
    except FileNotFoundError:
        for aside, path in taken:
            aside.rename(path)
        raise


def victims(folder: Path, kind: str) -> list[Path]:
    """The files with the pids of others."""
    if kind == "broker":
        return [folder / BROKER]
    return [Path(os.environ[JVM])] if kind in ("jvm", "both") else []


class KilledStream(AmqpStream):
    """A source that kills."""

    step: ClassVar[StepHook] = staticmethod(step_of("source"))


class KilledWriter(EpochWriter):
    """A sink that kills."""

    step: ClassVar[StepHook] = staticmethod(step_of("sink"))


class KilledSource(AmqpSource):
    """The data source of both."""

    def streamReader(self, schema: StructType) -> KilledStream:  # noqa: N802 -- Spark's name
        return KilledStream(
            source_options(self.options), picked([(each.name, each.dataType.simpleString()) for each in schema])
        )

    def streamWriter(self, schema: StructType, overwrite: bool) -> KilledWriter:  # noqa: N802 -- Spark's name
        return KilledWriter(self.options, schema, overwrite)
