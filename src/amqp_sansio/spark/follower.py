"""One connection in a stream: its replay sleeps in the state store between the batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final

import pandas as pd
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle, TimerValues

from amqp_sansio.captures.columns.bundles import opened, together
from amqp_sansio.captures.columns.cycles import seldom
from amqp_sansio.captures.columns.replay import ConnectionReplay
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.spark.envelope import SCHEMA, Envelope, Sealer
from amqp_sansio.spark.ordered import in_order

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import ValueState

STATE: Final = "replay"
"""The name of the state variable."""
STATE_SCHEMA: Final = "snapshot binary"


class Follower(StatefulProcessor):
    """What `transformWithStateInPandas` does with the bundles of a connection in a batch of the stream.

    Spark's workers go over the frames of this form row by row, whatever is in them: a row for each packet cost as much as the
    replay of it, a row for each bundle costs nothing that could be measured.
    """

    def __init__(self, plan: ReplayOptions) -> None:
        self._plan: Final = plan
        self._state: ValueState | None = None
        self._entered: ExitStack | None = None

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Called once in each task."""
        self._entered = ExitStack()
        self._entered.enter_context(seldom())
        self._state = handle.getValueState(STATE, STATE_SCHEMA)

    def handleInputRows(  # noqa: N802 -- Spark's name
        self,
        key: Any,
        rows: Iterator[pd.DataFrame],
        timerValues: TimerValues,  # noqa: N803
    ) -> Iterator[pd.DataFrame]:
        """The bundles of one connection, which come in any order within a batch; gives envelopes."""
        assert self._state is not None
        slept = self._state.get() if self._state.exists() else None
        replay = ConnectionReplay(self._plan) if slept is None else ConnectionReplay.restore(slept[0], self._plan)
        sealer = Sealer()
        for _, batch in together(opened(in_order(rows))):
            full = list(sealer.add(replay.feed(batch)))
            if full:
                yield as_frame(full)
        self._state.update((replay.snapshot(),))
        rest = list(sealer.rest())
        if rest:
            yield as_frame(rest)

    def close(self) -> None:
        """Called at the end of each task."""
        if self._entered is not None:
            self._entered.close()


def as_frame(envelopes: list[Envelope]) -> pd.DataFrame:
    """Envelopes as pandas has them."""
    return pd.DataFrame(envelopes, columns=SCHEMA.names)


def awake(plan: ReplayOptions, snapshots: Iterable[bytes]) -> Iterator[Envelope]:
    """What connections that are still open would say if they ended now."""
    sealer = Sealer()
    for snapshot in snapshots:
        yield from sealer.add(ConnectionReplay.restore(snapshot, plan).finish())
    yield from sealer.rest()
