"""Counts of connections, sessions, transactions, dtx and violations; of long lists the most important rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from amqp_sansio.captures.replay.doubt import DECIDED, LAST, BranchSaid, branches_in_doubt, ids_in
from amqp_sansio.captures.tables import TABLES
from amqp_sansio.report.bins import HeaviestKeys, first, rank
from amqp_sansio.report.folder import Folder

SHOWN: Final = 25
"""The most rows of a list on the page."""
FINDINGS: Final = 100
"""The most findings in the complete list."""
DIAGRAMS: Final = 12
"""The most violations that are drawn."""

ORDER: Final = ("ts_ns", "connection", "direction", "stream_offset", "rule", "said")
"""The columns by which findings are sorted."""


def _all_but(table: str, *names: str) -> tuple[str, ...]:
    """Returns the columns of a table, except some."""
    return tuple([column.name for column in TABLES[table].without(names)])


_CONNECTION: Final = _all_but(
    "connections", "capture_date", "opened_at", "channel_max", "frame_max", "heartbeat_s", "repeated_octets", "verbs_by_client",
    "verbs_by_server",
)  # fmt: skip
_SESSION: Final = _all_but(
    "sessions", "capture", "broker", "capture_date", "attached_at", "detach_at", "detach_by", "detach_code", "timeout_s"
)
_FINDING: Final = _all_but("violations", "broker", "capture_date", "ts")


class Overview:
    """Counts and lists, from one pass over each of the small tables."""

    def __init__(self, folder: Folder) -> None:
        self.start: int | None = None
        """The time of the first packet, in ns; None when there is no connection."""
        self.end: int | None = None
        self.sums: Final[dict[str, int]] = {}
        """Sums of the numbers of connections."""
        self.ends: Final[HeaviestKeys[str]] = HeaviestKeys()
        self.protocols: Final[HeaviestKeys[str]] = HeaviestKeys()
        self.clients: Final[HeaviestKeys[str]] = HeaviestKeys()
        """Hosts of clients: octets in both directions, messages."""
        self.captures: Final[HeaviestKeys[str]] = HeaviestKeys()
        """Captures: connections, octets."""
        self.broken: int = 0
        """Connections with violations."""
        self.not_judged: Final[HeaviestKeys[str]] = HeaviestKeys()
        """Connections in which nothing was judged, by reason; their octets."""
        self.unread: int = 0
        """Octets that were captured and not judged."""
        self.rows: Final = {name: folder.count(name) for name in folder.tables}
        self.connections: Final = first(
            self._connections(folder), SHOWN, ("-violations", "-weight", "ts_ns", "connection")
        )  # those with violations first, then by volume
        self.session_ends: Final[HeaviestKeys[str]] = HeaviestKeys()
        self.publishes_in_doubt: int = 0
        """Messages published and not completed."""
        self.deliveries_in_doubt: int = 0
        """Messages delivered and not settled."""
        self.sessions: Final[list[dict[str, Any]]] = []
        self.doubtful: Final[list[dict[str, Any]]] = []
        self._sessions(folder)
        self.levels: Final[HeaviestKeys[str]] = HeaviestKeys()
        self.rules: Final[HeaviestKeys[tuple[str, str, str]]] = HeaviestKeys()
        """(level, rule, direction): how often."""
        self._firsts: Final[dict[tuple[str, str], dict[str, Any]]] = {}
        self.findings: Final = first(self._findings(folder), FINDINGS, ("grade", *ORDER))
        self.drawn: Final = self._drawn()
        """Violations to draw: the first of each rule and speaker, then others in time order."""
        self.transactions: Final[HeaviestKeys[str]] = HeaviestKeys()
        self.hanging: Final = first(self._hanging(folder), SHOWN, ("ts_ns", "connection", "session", "transaction"))
        """Local transactions whose commit was not answered."""
        self.branches: Final[HeaviestKeys[str]] = HeaviestKeys()
        self.branches_in_doubt: int = 0
        self.branch_rows: Final = first(self._branches(folder), SHOWN, ("ts_ns", "xid", "connection"))

    @property
    def in_doubt(self) -> int:
        """The total of what is in doubt: see `captures.replay.doubt`."""
        messages = self.publishes_in_doubt + self.deliveries_in_doubt
        return messages + self.branches_in_doubt + self.transactions["in-doubt"]

    @property
    def lost(self) -> int:
        """Octets that are missing from the captures."""
        return self.sums.get("lost_by_client", 0) + self.sums.get("lost_by_server", 0)

    @property
    def perhaps_lost(self) -> int:
        """What may be lost or undecided for good.  Deliveries are excluded, because brokers redeliver them."""
        return self.publishes_in_doubt + self.branches_in_doubt + self.transactions["in-doubt"]

    def _connections(self, folder: Folder) -> Iterator[dict[str, Any]]:
        for row in folder.rows("connections", _CONNECTION):
            ended = row["ended_at"] if row["ended_at"] is not None else row["ts"]
            if row["ts"] is not None:
                self.start = row["ts"] if self.start is None else min(self.start, row["ts"])
                self.end = ended if self.end is None else max(self.end, ended)
            for name, value in row.items():
                if type(value) is int and name not in ("connection", "close_code", "ts", "ts_ns", "ended_at"):
                    self.sums[name] = self.sums.get(name, 0) + value
            octets = both(row, "octets")
            self.ends.add(row["ending"] or "unknown", 1)
            self.protocols.add(row["protocol"] or "unknown", 1)
            self.clients.add(str(row["client"]).rpartition(":")[0] or str(row["client"]), octets, both(row, "transfers"))
            self.captures.add(str(row["capture"]), 1, octets)
            self.broken += bool(row["violations"])
            if row["not_judged"] is not None and not row["violations"]:
                self.not_judged.add(row["not_judged"], 1, octets)
                self.unread += octets
            else:
                self.unread += row["opaque_octets"] or 0
            row["weight"] = octets
            yield row

    def _sessions(self, folder: Folder) -> None:
        def rows() -> Iterator[dict[str, Any]]:
            for row in folder.rows("sessions", _SESSION):
                self.session_ends.add(row["ending"] or "unknown", 1)
                self.publishes_in_doubt += _ids(row["in_doubt_by_client"])
                self.deliveries_in_doubt += _ids(row["in_doubt_by_server"])
                row["weight"] = both(row, "commands")
                for name in ("in_doubt_by_client", "in_doubt_by_server"):
                    row[name] = row[name] and row[name][:8]
                if row["in_doubt"]:
                    doubtful.append(row)
                    if len(doubtful) > 8 * SHOWN:
                        doubtful[:] = first(doubtful, SHOWN, by_doubt)
                yield row

        by_doubt = ("-in_doubt", "ts_ns", "connection", "channel")
        doubtful: list[dict[str, Any]] = []
        self.sessions.extend(first(rows(), SHOWN, ("-weight", "ts_ns", "connection", "channel")))
        self.doubtful.extend(first(doubtful, SHOWN, by_doubt))

    def _findings(self, folder: Folder) -> Iterator[dict[str, Any]]:
        for row in folder.rows("violations", _FINDING):
            level, rule, direction = row["level"] or "", row["rule"] or "", row["direction"] or ""
            self.levels.add(level, 1)
            self.rules.add((level, rule, direction), 1)
            row["grade"] = ("violation", "damage").index(level) if level in ("violation", "damage") else 2
            row["legal"] = (row["legal"] or [])[:40]
            if level == "violation":
                key = rule, direction
                if (key not in self._firsts and len(self._firsts) < 1000) or (
                    key in self._firsts and _place(row) < _place(self._firsts[key])
                ):
                    self._firsts[key] = row
            yield row

    def _drawn(self) -> list[dict[str, Any]]:
        chosen = sorted(self._firsts.values(), key=_place)[:DIAGRAMS]
        for row in self.findings:
            if len(chosen) < DIAGRAMS and row["level"] == "violation" and all(row is not each for each in chosen):
                chosen.append(row)
        return sorted(chosen, key=_place)

    def _hanging(self, folder: Folder) -> Iterator[dict[str, Any]]:
        columns = ("connection", "ts_ns", "session", "transaction", "ended_at", "outcome", "transfers", "accepts")
        for row in folder.rows("transactions", columns):
            self.transactions.add(row["outcome"], 1)
            if row["outcome"] == "in-doubt":
                yield row

    def _branches(self, folder: Folder) -> Iterator[dict[str, Any]]:
        columns = (
            "connection",
            "broker",
            "ts_ns",
            "xid",
            "outcome",
            "status",
            "in_doubt",
            "prepare_ns",
            "decide_ns",
            "decided_ns",
        )
        said = [_branch_said(row) for row in folder.rows("dtx", columns) if row["in_doubt"] or row["outcome"] in DECIDED]
        doubtful = branches_in_doubt(said)
        self.branches_in_doubt = len(doubtful)
        for row in folder.rows("dtx", columns):
            self.branches.add(row["outcome"] or "unknown", 1)
            if row["in_doubt"] and (str(row["broker"]), str(row["xid"])) in doubtful:
                yield row


def _ids(ranges: list[dict[str, int]] | None) -> int:
    return ids_in([(each["first"], each["last"]) for each in ranges or ()])


def _branch_said(row: dict[str, Any]) -> BranchSaid:
    last = next((row[name] for name in LAST if row[name] is not None), 0)
    return BranchSaid(str(row["broker"]), str(row["xid"]), last, row["outcome"] in DECIDED, bool(row["in_doubt"]))


def _place(row: dict[str, Any]) -> tuple[Any, ...]:
    return rank(row, ORDER)


def both(row: dict[str, Any], what: str) -> int:
    """Returns the sum of two numbers: the client's and the server's."""
    return (row[f"{what}_by_client"] or 0) + (row[f"{what}_by_server"] or 0)
