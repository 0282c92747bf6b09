"""Replays one connection in a stream: its state is kept in Spark's state store between batches.

The bundles of a batch come in any order; they are sorted in memory up to a limit, beyond it on disk.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from operator import itemgetter
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING, Any, Final

import attrs
import pyarrow as pa
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

from amqp_sansio.captures.columns.bundles import BUNDLES_ARROW, ORDER, opened
from amqp_sansio.captures.columns.late import Lateness
from amqp_sansio.captures.columns.process import seldom
from amqp_sansio.captures.columns.replay import ConnectionReplay
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.spark.envelope import ENVELOPE, SCHEMA, BatchEnvelope, Sealer, as_batch

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.stateful_processor import ValueState


STATE: Final = "replay"
"""The name of the state variable."""
STATE_SCHEMA: Final = "snapshot binary"
"""The state of a stream without expiry, as in a checkpoint of an earlier version."""
EXPIRING_SCHEMA: Final = "snapshot binary, last_ns long, port int"
"""`last_ns`: when the last packet was captured.  `port`: where the snapshot is empty, the server's port of an AMQP connection
that counted as over, and is replayed from its middle if it goes on."""
HOUR_NS: Final = 3_600_000_000_000
REMEMBERED: Final = 30
"""After this many times the idle hours, even the fact that a connection counted as over is dropped."""
LOOKS: Final = 8
"""The most checks, within the idle hours, of a state that is not idle yet."""


class Follower(StatefulProcessor):
    """Processes the bundles of a connection in one batch of the stream, for `transformWithStateInPandas`.

    With `idle_hours`, state expires when nothing was captured for longer, by the times in the captures: the present time is the
    latest one that the task has seen in this batch.  Timers, which use the wall clock, only decide when to check; each state
    has one.

    Spark's workers process such frames row by row whatever is in them: a row per packet cost as much as its replay, a row per
    bundle costs nothing measurable.
    """

    def __init__(self, plan: ReplayOptions, idle_hours: float = 0.0) -> None:
        self._plan: Final = plan
        self._idle_ns: Final = int(idle_hours * HOUR_NS)
        silent = f"nothing was captured of the connection for more than {idle_hours:g} h"
        self._why: Final = f"{silent}: it is taken for over, and heard from its middle if it goes on"
        self._latest = 0
        """The latest time among the packets that this task has seen, ns since 1970 UTC."""
        self._handle: StatefulProcessorHandle | None = None
        self._state: ValueState | None = None
        self._entered: ExitStack | None = None

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Called by Spark once in each task."""
        self._entered = ExitStack()
        self._entered.enter_context(seldom())
        self._handle = handle
        self._state = handle.getValueState(STATE, EXPIRING_SCHEMA if self._idle_ns else STATE_SCHEMA)

    def handleInputRows(  # noqa: N802 -- Spark's name
        self,
        key: Any,
        rows: Iterator[pd.DataFrame],
        timerValues: TimerValues,  # noqa: N803
    ) -> Iterator[pd.DataFrame]:
        """Takes the bundles of one connection, which come in any order within a batch; yields envelopes."""
        assert self._state is not None
        slept = self._state.get() if self._state.exists() else None
        if slept is not None and slept[0]:
            replay = ConnectionReplay.restore(slept[0], self._plan)
        else:
            replay = ConnectionReplay(self._plan if slept is None else self._waking(slept[2]))
            self._look(timerValues, self._idle_ns, again=slept is not None)
        sealer = Sealer()
        # The rows of one that counted as over were written, and it has no replay.
        over = slept[1] if slept is not None and not slept[0] else None
        lateness = Lateness(replay.latest_ns if over is None else over)
        for batch in opened(in_order(rows)):
            lateness.look(batch)
            full = list(sealer.add(replay.feed(batch)))
            if full:
                yield as_frame(full)
        last = max(replay.last_ns, slept[1]) if slept is not None and self._idle_ns else replay.last_ns
        self._latest = max(self._latest, last)
        replay.latest_ns = lateness.latest_ns
        self._state.update((replay.snapshot(), last, 0) if self._idle_ns else (replay.snapshot(),))
        rest = [*sealer.add(lateness.records(over is not None or replay.spoken)), *sealer.rest()]
        if rest:
            yield as_frame(rest)

    def handleExpiredTimer(  # noqa: N802 -- Spark's name
        self,
        key: Any,
        timerValues: TimerValues,  # noqa: N803
        expiredTimerInfo: ExpiredTimerInfo,  # noqa: N803
    ) -> Iterator[pd.DataFrame]:
        """Checks a state when its timer fires; yields envelopes of what expires.  Spark calls it after the task's packets."""
        state = self._state
        assert state is not None
        slept = state.get() if state.exists() else None
        if slept is None:
            return
        snapshot, last, _ = slept
        limit = self._idle_ns if snapshot else REMEMBERED * self._idle_ns
        idle = self._latest - last
        if idle <= limit:
            left = limit - idle if self._latest else 0  # a task without packets has no present time
            self._look(timerValues, min(limit, max(left, limit // LOOKS)))
            return
        if not snapshot:
            state.clear()
            return
        replay = ConnectionReplay.restore(snapshot, self._plan)
        port = replay.waking_port
        sealer = Sealer()
        full = [*sealer.add(replay.expire(self._why)), *sealer.rest()]
        if port:
            state.update((b"", last, port))
            self._look(timerValues, REMEMBERED * self._idle_ns)
        else:
            state.clear()
        if full:
            yield as_frame(full)

    def _waking(self, port: int) -> ReplayOptions:
        """Returns the options for a connection that counted as over: it is AMQP even without a protocol header."""
        return attrs.evolve(self._plan, ports=(*self._plan.ports, port))

    def _look(self, now: TimerValues, pause_ns: int, again: bool = False) -> None:
        """Requests a check of this state after that time; `again`: in place of the earlier request."""
        handle = self._handle
        if not self._idle_ns or handle is None:
            return
        if again:
            for each in list(handle.listTimers()):
                handle.deleteTimer(each)
        handle.registerTimer(now.getCurrentProcessingTimeInMs() + 1 + pause_ns // 1_000_000)

    def close(self) -> None:
        """Called by Spark at the end of each task."""
        if self._entered is not None:
            self._entered.close()


def as_frame(envelopes: list[BatchEnvelope]) -> pd.DataFrame:
    """Converts envelopes to a pandas frame."""
    import pandas as pd  # 0.4 s, which the process that Spark starts to inspect the state of a query does not need

    return pd.DataFrame(envelopes, columns=SCHEMA.names)


def awake(plan: ReplayOptions, snapshots: Iterable[bytes]) -> Iterator[BatchEnvelope]:
    """Yields the envelopes of connections that are still open, as if they ended now."""
    sealer = Sealer()
    for snapshot in filter(None, snapshots):
        yield from sealer.add(ConnectionReplay.restore(snapshot, plan).finish())
    yield from sealer.rest()


def followed(bundles: DataFrame, plan: ReplayOptions, idle_hours: float = 0.0) -> DataFrame:
    """Returns the envelopes of finished rows from a stream of bundles; state expires after `idle_hours` (0: never)."""
    return bundles.groupBy("connection").transformWithStateInPandas(
        statefulProcessor=Follower(plan, idle_hours),
        outputStructType=ENVELOPE,
        outputMode="Append",
        timeMode="ProcessingTime" if idle_hours else "None",
    )


def open_records(spark: SparkSession, checkpoint: str, plan: ReplayOptions) -> DataFrame:
    """Returns the envelopes of the open connections in a stream's state, as if they ended there."""

    def wake(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield as_batch(awake(plan, (each.as_py() for each in batch.column("snapshot"))))

    states = spark.read.format("statestore").option("stateVarName", STATE).load(checkpoint)
    return states.selectExpr("value.snapshot as snapshot").mapInArrow(wake, ENVELOPE)


HELD_OCTETS: Final = 32 * 1024 * 1024
"""Octets of the bundles of one connection held in memory; the rest goes to a file, because a batch may be large."""

_PACKETS: Final = "packets"
_HEAD: Final = [name for name in BUNDLES_ARROW.names if name != _PACKETS]
_KEY: Final = itemgetter(*[_HEAD.index(name) for name in ORDER])


def in_order(frames: Iterable[pd.DataFrame], held: int = HELD_OCTETS) -> Iterator[pa.RecordBatch]:
    """Yields the bundles in these frames, each as a batch of its own, sorted as `captures.columns.bundles.opened` requires."""
    heads: list[tuple[Any, ...]] = []
    places: list[tuple[int, int]] = []
    at = 0
    with SpooledTemporaryFile(held, dir=_scratch()) as spool:
        for frame in frames:
            for head in zip(*(frame[name] for name in _HEAD), strict=True):
                heads.append(head)
            for packets in frame[_PACKETS]:
                places.append((at, len(packets)))
                at += spool.write(packets)
        for index in sorted(range(len(heads)), key=lambda index: _KEY(heads[index])):
            place, octets = places[index]
            spool.seek(place)
            values = [*heads[index], spool.read(octets)]
            yield pa.RecordBatch.from_arrays(
                [pa.array([value], field.type) for value, field in zip(values, BUNDLES_ARROW, strict=True)],
                schema=BUNDLES_ARROW,
            )


def _scratch() -> str | None:
    """Returns Spark's folder for temporary files; None for the system's."""
    return os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0] or None
