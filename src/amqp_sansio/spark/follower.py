"""One connection in a stream: its replay sleeps in the state store between the batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final

import attrs
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

from amqp_sansio.captures.columns.bundles import opened
from amqp_sansio.captures.columns.gc_tuning import seldom
from amqp_sansio.captures.columns.late import Lateness
from amqp_sansio.captures.columns.replay import ConnectionReplay
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.spark.envelope import SCHEMA, Envelope, Sealer
from amqp_sansio.spark.ordered import in_order

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql.streaming.stateful_processor import ValueState

STATE: Final = "replay"
"""The name of the state variable."""
STATE_SCHEMA: Final = "snapshot binary"
"""Of a stream that forgets nothing, which a checkpoint of an earlier version has."""
EXPIRING_SCHEMA: Final = "snapshot binary, last_ns long, port int"
"""`last_ns`: when the last packet was captured.  `port`: where the snapshot is empty, the server's port of an AMQP connection
that counted as over and is replayed from its middle when it goes on."""
HOUR_NS: Final = 3_600_000_000_000
REMEMBERED: Final = 30
"""After this many times those hours it also forgets that it took a connection for over."""
LOOKS: Final = 8
"""In how many parts of the hours it is looked again at a pair that is not idle yet, at most."""


class Follower(StatefulProcessor):
    """What `transformWithStateInPandas` does with the bundles of a connection in a batch of the stream.

    With `idle_hours` state expires that nothing was captured of for longer, by the times in the captures: the latest one
    that the task has seen in this batch tells how late it is.  Timers, which go by the clock on the wall, only say when to
    look: each state has one.

    Spark's workers go over the frames of this form row by row, whatever is in them: a row for each packet cost as much as the
    replay of it, a row for each bundle costs nothing that could be measured.
    """

    def __init__(self, plan: ReplayOptions, idle_hours: float = 0.0) -> None:
        self._plan: Final = plan
        self._idle_ns: Final = int(idle_hours * HOUR_NS)
        silent = f"nothing was captured of the connection for more than {idle_hours:g} h"
        self._why: Final = f"{silent}: it is taken for over, and heard from its middle if it goes on"
        self._latest = 0
        """Of the packets that this task has seen, ns since 1970 UTC."""
        self._handle: StatefulProcessorHandle | None = None
        self._state: ValueState | None = None
        self._entered: ExitStack | None = None

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Called once in each task."""
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
        """The bundles of one connection, which come in any order within a batch; gives envelopes."""
        assert self._state is not None
        slept = self._state.get() if self._state.exists() else None
        if slept is not None and slept[0]:
            replay = ConnectionReplay.restore(slept[0], self._plan)
        else:
            replay = ConnectionReplay(self._plan if slept is None else self._waking(slept[2]))
            self._look(timerValues, self._idle_ns, again=slept is not None)
        sealer = Sealer()
        # Of one that was taken for over the rows were written, and no replay knows of them.
        over = slept[1] if slept is not None and not slept[0] else None
        lateness = Lateness(replay.latest_ns if over is None else over, over is not None or replay.spoken)
        for batch in opened(in_order(rows)):
            lateness.look(batch)
            full = list(sealer.add(replay.feed(batch)))
            if full:
                yield as_frame(full)
        last = max(replay.last_ns, slept[1]) if slept is not None and self._idle_ns else replay.last_ns
        self._latest = max(self._latest, last)
        replay.latest_ns = lateness.latest_ns
        self._state.update((replay.snapshot(), last, 0) if self._idle_ns else (replay.snapshot(),))
        rest = [*sealer.add(lateness.records()), *sealer.rest()]
        if rest:
            yield as_frame(rest)

    def handleExpiredTimer(  # noqa: N802 -- Spark's name
        self,
        key: Any,
        timerValues: TimerValues,  # noqa: N803
        expiredTimerInfo: ExpiredTimerInfo,  # noqa: N803
    ) -> Iterator[pd.DataFrame]:
        """It is time to look at a state: gives envelopes of what expires with it.  Spark calls it behind the task's packets."""
        state = self._state
        assert state is not None
        slept = state.get() if state.exists() else None
        if slept is None:
            return
        snapshot, last, _ = slept
        limit = self._idle_ns if snapshot else REMEMBERED * self._idle_ns
        idle = self._latest - last
        if idle <= limit:
            left = limit - idle if self._latest else 0  # of a task without packets nobody knows how late it is
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
        """The plan for a connection that was taken for over: it is one of AMQP, also without a protocol header."""
        return attrs.evolve(self._plan, ports=(*self._plan.ports, port))

    def _look(self, now: TimerValues, pause_ns: int, again: bool = False) -> None:
        """Asks to look at this state so much later; `again`: instead of what was asked before."""
        handle = self._handle
        if not self._idle_ns or handle is None:
            return
        if again:
            for each in list(handle.listTimers()):
                handle.deleteTimer(each)
        handle.registerTimer(now.getCurrentProcessingTimeInMs() + 1 + pause_ns // 1_000_000)

    def close(self) -> None:
        """Called at the end of each task."""
        if self._entered is not None:
            self._entered.close()


def as_frame(envelopes: list[Envelope]) -> pd.DataFrame:
    """Envelopes as pandas has them."""
    import pandas as pd  # 0.4 s, which the process that Spark starts to ask for the state of a query does not need

    return pd.DataFrame(envelopes, columns=SCHEMA.names)


def awake(plan: ReplayOptions, snapshots: Iterable[bytes]) -> Iterator[Envelope]:
    """What connections that are still open would say if they ended now."""
    sealer = Sealer()
    for snapshot in filter(None, snapshots):
        yield from sealer.add(ConnectionReplay.restore(snapshot, plan).finish())
    yield from sealer.rest()
