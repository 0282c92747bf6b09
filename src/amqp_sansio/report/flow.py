"""Credit over time: which subscriptions stalled for how long, and the credit of those that stalled longest."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow.compute as pc

from amqp_sansio.report.bins import Axis, HeaviestKeys, grouped
from amqp_sansio.report.folder import Folder

DRAWN: Final = 6
"""Subscriptions that are drawn."""
CHANGES: Final = 4000
"""The most changes of one subscription's credit that are drawn; of the rest, the first of each following step of the axis."""
WITHOUT_LIMIT: Final = 2**32 - 1


class SubscriptionKey(NamedTuple):
    """The subscription that the credit belongs to."""

    connection: int
    session: str
    channel: int
    destination: str
    direction: str


class Change(NamedTuple):
    """A row of credit."""

    ts_ns: int
    credit: int | None
    """Messages; None if unknown or without limit."""
    stalled_ns: int


class CreditHistory:
    """The changes of one subscription's credit, and the deliveries to it."""

    def __init__(self, of: SubscriptionKey, stalls: int, stalled_ns: int) -> None:
        self.of: Final = of
        self.stalls: Final = stalls
        self.stalled_ns: Final = stalled_ns
        self.queue = ""
        self.changes: list[Change] = []
        self.left_out = 0
        """Changes that are not drawn."""
        self.without_limit = False
        self.axis: Axis
        """From the first change that is drawn to the last, with a margin on either side."""
        self.flying: Any
        """Delivered and not settled, at the end of each step of `axis`."""


class CreditReader:
    """Reads credit twice, and messages once for the subscriptions that are drawn."""

    def __init__(self, folder: Folder, axis: Axis) -> None:
        self.stalled: Final[HeaviestKeys[SubscriptionKey]] = HeaviestKeys()
        """Total stall in ns, and the number of stalls."""
        self.busy: Final = np.zeros(axis.steps + 1, dtype=np.int64)
        """Subscriptions without credit at some time in each step."""
        self.stalled_ns = 0
        self.stalls = 0
        everyone: Final[HeaviestKeys[SubscriptionKey]] = HeaviestKeys()
        for batch in folder.batches("credit", (*SubscriptionKey._fields, "ts_ns", "stalled_ns")):
            for *of, number in grouped(batch, SubscriptionKey._fields):
                everyone.add(_of(*of), number)
            stalls = batch.filter(pc.greater(pc.fill_null(batch["stalled_ns"], 0), 0))
            for *of, number, ns in grouped(stalls, SubscriptionKey._fields, "stalled_ns"):
                self.stalled.add(_of(*of), ns, number)
                self.stalled_ns += ns
                self.stalls += number
            if len(stalls):
                ends = stalls["ts_ns"].to_numpy()
                first, last = axis.places(ends - stalls["stalled_ns"].to_numpy()), axis.places(ends)
                self.busy[:] += np.bincount(first, minlength=axis.steps + 1)
                self.busy[:] -= np.bincount(last + 1, minlength=axis.steps + 1)
        self.busy[:] = np.cumsum(self.busy)
        self.subscriptions: Final = len(everyone)
        self.uncounted: Final = everyone.forgot
        chosen = [(of, stalls, ns) for of, ns, stalls in self.stalled.top(DRAWN)]
        taken = {of for of, _, _ in chosen}
        chosen += [(of, 0, 0) for of, _, _ in everyone.top(2 * DRAWN) if of not in taken][: DRAWN - len(chosen)]
        self.lines: Final = {of: CreditHistory(of, stalls, ns) for of, stalls, ns in chosen}
        if self.lines:
            self._changes(folder, axis)
            self._deliveries(folder)

    def _changes(self, folder: Folder, axis: Axis) -> None:
        steps: dict[SubscriptionKey, int] = {}
        columns = (*SubscriptionKey._fields, "ts_ns", "message_credit", "stalled_ns", "queue")
        for batch in folder.of("credit", columns, [of.connection for of in self.lines]):
            for row in batch.to_pylist():
                line = self.lines.get(_of(*[row[name] for name in SubscriptionKey._fields]))
                if line is None:
                    continue
                line.queue = line.queue or row["queue"] or ""
                credit = row["message_credit"]
                if credit is not None and credit >= WITHOUT_LIMIT:
                    line.without_limit, credit = True, None
                if len(line.changes) >= CHANGES:
                    step = (row["ts_ns"] - axis.start) // axis.step
                    if step <= steps.get(line.of, -1):
                        line.left_out += 1
                        continue
                    steps[line.of] = step
                line.changes.append(Change(row["ts_ns"], credit, row["stalled_ns"] or 0))
        for line in self.lines.values():
            line.changes.sort(key=lambda change: change.ts_ns)
            first, last = line.changes[0].ts_ns, line.changes[-1].ts_ns
            spare = max((last - first) // 20, 1000)
            line.axis = Axis(first - spare, last + spare)
            line.flying = np.zeros(line.axis.steps + 1, dtype=np.int64)

    def _deliveries(self, folder: Folder) -> None:
        columns = ("connection", "session", "channel", "destination", "direction", "last_octet_at", "settled_at", "outcome")
        for near in folder.of("messages", columns, [of.connection for of in self.lines]):
            if not len(near):
                continue
            for line in self.lines.values():
                of = line.of
                same = pc.and_(pc.equal(near["connection"], of.connection), pc.equal(near["channel"], of.channel))
                # Messages flow the other way: the `direction` of credit is the subscriber's.
                same = pc.and_(same, pc.equal(near["direction"], "S" if of.direction == "C" else "C"))
                same = pc.and_(same, pc.equal(pc.fill_null(near["destination"], ""), of.destination))
                same = pc.and_(same, pc.equal(pc.fill_null(near["session"], ""), of.session))
                part = near.filter(pc.and_(same, pc.not_equal(near["outcome"], "unknown")))
                settled = part.filter(pc.is_valid(part["settled_at"]))
                line.flying[:-1] += line.axis.count(part["last_octet_at"].to_numpy())
                line.flying[:-1] -= line.axis.count(settled["settled_at"].to_numpy())
        for line in self.lines.values():
            line.flying = np.cumsum(line.flying[:-1])


def _of(
    connection: int | None, session: str | None, channel: int | None, destination: str | None, direction: str | None
) -> SubscriptionKey:
    return SubscriptionKey(connection or 0, session or "", channel or 0, destination or "", direction or "")
