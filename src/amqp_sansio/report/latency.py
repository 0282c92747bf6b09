"""Latencies: of commands until completion, of messages until settlement, and end to end."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from amqp_sansio.captures.columns.end_to_end import COLUMNS, end_to_end
from amqp_sansio.report.bins import MOST_NAMES, Axis, HeaviestKeys, Latencies, first, grouped
from amqp_sansio.report.folder import Folder
from amqp_sansio.report.overview import SHOWN

JOINED: Final = 1_000_000
"""The most messages with a message-id that are joined; of more, every second, third, ... id is."""


class Commands:
    """Statistics of commands, read once."""

    def __init__(self, folder: Folder) -> None:
        self.latency: Final = {"C": Latencies(), "S": Latencies()}
        """Until complete, by the side that sent the command."""
        self.by_verb: Final[dict[str, Latencies]] = {}
        self.verbs: Final[HeaviestKeys[tuple[str, str]]] = HeaviestKeys()
        self.sums: Final = {"C": 0, "S": 0}
        """Commands by sender."""
        self.totals: Final[Counter[str]] = Counter()
        """Commands by verb."""
        self.outcomes: Final[HeaviestKeys[str]] = HeaviestKeys()
        self.errors: Final[HeaviestKeys[tuple[str, int]]] = HeaviestKeys()
        """(verb, code) of refused commands."""
        self.open: list[dict[str, Any]] = []
        """Commands in doubt by session, sender and verb: the first of each and how many, the oldest first."""
        self._doubt: Final[dict[tuple[Any, ...], dict[str, Any]]] = {}
        self.forgot = False
        """Whether there were too many groups in doubt to keep them all."""
        columns = (
            "direction",
            "verb",
            "outcome",
            "error_code",
            "complete_latency_ns",
            "connection",
            "session",
            "channel",
            "command_id",
            "ts_ns",
        )
        for batch in folder.batches("commands", columns):
            for direction, verb, number in grouped(batch, ("direction", "verb")):
                self.verbs.add((str(direction), str(verb)), number)
                self.totals[str(verb)] += number
                if direction in self.sums:
                    self.sums[direction] += number
            for outcome, number in grouped(batch, ("outcome",)):
                self.outcomes.add(str(outcome), number)
            for verb, code, number in grouped(batch.filter(pc.equal(batch["outcome"], "refused")), ("verb", "error_code")):
                self.errors.add((str(verb), code or 0), number)
            timed = batch.filter(pc.is_valid(batch["complete_latency_ns"]))
            for name, held in self.latency.items():
                held.add(_whole(timed.filter(pc.equal(timed["direction"], name)), "complete_latency_ns"))
            for verb in sorted(str(each) for each in pc.unique(timed["verb"]).to_pylist()):
                if verb in self.by_verb or len(self.by_verb) < 500:
                    found = self.by_verb.setdefault(verb, Latencies())
                    found.add(_whole(timed.filter(pc.equal(timed["verb"], verb)), "complete_latency_ns"))
            self._open(batch.filter(pc.equal(batch["outcome"], "open")))
        self.groups: Final = len(self._doubt)
        self.open = first(self._doubt.values(), SHOWN, ("ts_ns", "connection", "direction", "channel", "verb", "session"))

    def _open(self, rows: pa.Table) -> None:
        keys = ["connection", "session", "channel", "direction", "verb"]
        sums = [([], "count_all"), ("ts_ns", "min"), ("command_id", "min"), ("command_id", "max")]
        for row in rows.group_by(keys).aggregate(sums).to_pylist():
            key = tuple([row[name] for name in keys])
            found = self._doubt.get(key)
            if found is None:
                if len(self._doubt) >= MOST_NAMES:
                    self.forgot = True
                    continue
                row["ts_ns"] = row["ts_ns_min"]
                self._doubt[key] = row
                continue
            found["count_all"] += row["count_all"]
            for name, better in (("ts_ns", min), ("command_id_min", min), ("command_id_max", max)):
                there = [each for each in (found[name], row["ts_ns_min" if name == "ts_ns" else name]) if each is not None]
                found[name] = better(there) if there else None


class Messages:
    """Statistics of messages, read once, and once more for the ids, if there are any."""

    def __init__(self, folder: Folder, axis: Axis) -> None:
        self.settle: Final = {"C": Latencies(), "S": Latencies()}
        """From the last octet until settled, by sender."""
        self.outcomes: Final[HeaviestKeys[tuple[str, str]]] = HeaviestKeys()
        self.octets: Final = {"C": 0, "S": 0}
        """Octets of bodies."""
        self.sums: Final = {"C": 0, "S": 0}
        """Messages by sender."""
        self.routes: Final[HeaviestKeys[tuple[str, str]]] = HeaviestKeys()
        """(exchange, routing key) of published messages: messages, octets."""
        self.queues: Final[HeaviestKeys[str]] = HeaviestKeys()
        """Queues that messages were delivered from: messages, octets."""
        self.sent: Final = {name: np.zeros(axis.steps, dtype=np.int64) for name in "CS"}
        """Messages sent in each step."""
        changes: Final = {name: np.zeros(axis.steps + 1, dtype=np.int64) for name in "CS"}
        self.with_id = 0
        self._unsettled: Final[dict[str, HeaviestKeys[int]]] = {name: HeaviestKeys() for name in "CS"}
        columns = (
            "direction",
            "ts",
            "last_octet_at",
            "settled_at",
            "settle_latency_ns",
            "outcome",
            "body_octets",
            "exchange",
            "destination",
            "routing_key",
            "queue",
            "message_id",
            "connection",
        )
        for batch in folder.batches("messages", columns):
            self.with_id += len(batch) - batch["message_id"].null_count
            for direction, outcome, number in grouped(batch, ("direction", "outcome")):
                self.outcomes.add((str(direction), str(outcome)), number)
            batch = batch.append_column("to", pc.coalesce(batch["exchange"], batch["destination"]))
            for name in "CS":
                part = batch.filter(pc.equal(batch["direction"], name))
                self.sums[name] += len(part)
                self.octets[name] += pc.sum(part["body_octets"]).as_py() or 0
                timed = part.filter(pc.is_valid(part["settle_latency_ns"]))
                self.settle[name].add(_whole(timed, "settle_latency_ns"))
                self.sent[name] += axis.count(_whole(part.filter(pc.is_valid(part["ts"])), "ts"))
                known = part.filter(pc.and_(pc.is_valid(part["last_octet_at"]), pc.not_equal(part["outcome"], "unknown")))
                changes[name][:-1] += axis.count(_whole(known, "last_octet_at"))
                for connection, number in grouped(known.filter(pc.is_null(known["settled_at"])), ("connection",)):
                    self._unsettled[name].add(connection or 0, number)
                settled = known.filter(pc.is_valid(known["settled_at"]))
                changes[name][:-1] -= axis.count(_whole(settled, "settled_at"))
                if name == "C":
                    for to, key, number, size in grouped(part, ("to", "routing_key"), "body_octets"):
                        self.routes.add((to or "", key or ""), number, size or 0)
                else:
                    for queue, number, size in grouped(part, ("queue",), "body_octets"):
                        self.queues.add(queue or "", number, size or 0)
        self._end(folder, axis, changes)
        self.in_flight: Final = {name: np.cumsum(changes[name][:-1]) for name in "CS"}
        """Messages sent and not settled at the end of each step, while their connection exists; those with an unknown fate do
        not count."""
        self.every = max(1, -(-self.with_id // JOINED))
        """One in this many ids was joined."""
        self.end_to_end: Final = Latencies()
        self.early = 0
        """Deliveries with a joined id that, by the recorded times, ended before their publication began."""
        if self.with_id:
            found, self.early = joined(folder, self.every)
            self.end_to_end.add(found)

    def _end(self, folder: Folder, axis: Axis, changes: dict[str, Any]) -> None:
        """Removes unsettled messages from those in flight when their connection ends."""
        for batch in folder.batches("connections", ("connection", "ended_at")):
            for name, held in self._unsettled.items():
                if not len(held):
                    continue
                for row in batch.filter(pc.is_valid(batch["ended_at"])).to_pylist():
                    number = held[row["connection"]]
                    if number:
                        at = int(axis.places(np.array([row["ended_at"]]))[0])
                        changes[name][at + 1] -= number


def joined(folder: Folder, every: int) -> tuple[Any, int]:
    """Returns end-to-end latencies in ns (see `captures.tables`) of every id, or of one in `every` (by a hash of the id), and
    the number of deliveries without one, because all publications of their id began later."""
    parts: list[pa.Table] = []
    for batch in folder.batches("messages", COLUMNS):
        batch = batch.filter(pc.is_valid(batch["message_id"]))
        if every > 1:
            ids = batch["message_id"].to_pylist()
            batch = batch.filter(pa.array([crc32(each.encode()) % every == 0 for each in ids], pa.bool_()))
        parts.append(batch)
    latencies = end_to_end(pa.concat_tables(parts))["latency_ns"]
    return latencies.drop_null().to_numpy(), latencies.null_count


def _whole(rows: pa.Table, name: str) -> Any:
    return rows[name].to_numpy().astype(np.int64)
