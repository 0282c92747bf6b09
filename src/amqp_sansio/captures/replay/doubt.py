"""What is in doubt on a connection, from its rows: the same numbers for `check`, the tables and the report.

In this order: messages published and never completed, messages delivered and never settled, branches prepared and not decided,
local transactions whose commit was never answered.  A result, an exception, or a settled message is never in doubt, completed
or not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import add
from typing import Final, NamedTuple

from amqp_sansio.captures.replay.rows import Rows, place
from amqp_sansio.captures.tables import DTX, SESSIONS, TRANSACTIONS
from amqp_sansio.kernel.serials import MODULUS

DECIDED: Final = ("committed", "rolled-back", "read-only", "timed-out", "forgotten")
"""Outcomes of a branch that need no further decision."""

PUBLISHED: Final = "message published and not completed", "messages published and not completed"
"""What may be lost, one and several of them."""
DELIVERED: Final = "message delivered and not settled", "messages delivered and not settled"
PREPARED: Final = "branch prepared and not decided", "branches prepared and not decided"
UNANSWERED: Final = "commit that nobody answered", "commits that nobody answered"
_PUBLISHES: Final = place(SESSIONS, "in_doubt_by_client")
_DELIVERIES: Final = place(SESSIONS, "in_doubt_by_server")
_OUTCOME: Final = place(TRANSACTIONS, "outcome")
_XID: Final = place(DTX, "xid")
LAST: Final = ("decided_ns", "decide_ns", "prepare_ns", "ts_ns")
"""The columns with the time of the last activity of a connection about a branch: the first that is set."""
_TIMES: Final = [place(DTX, name) for name in ("decided_at", "decide_at", "prepare_at", "ts")]
_BRANCH: Final = place(DTX, "outcome")
_IN_DOUBT: Final = place(DTX, "in_doubt")


class BranchSaid(NamedTuple):
    """What one connection shows of a branch: its broker, the time of its last activity, whether it is decided."""

    broker: str
    xid: str
    last_ns: int
    decided: bool
    in_doubt: bool


class Doubt(NamedTuple):
    """How much is in doubt.  `branches` has what each connection shows of each branch: see `branches_in_doubt`."""

    publishes: int = 0
    deliveries: int = 0
    commits: int = 0
    branches: tuple[BranchSaid, ...] = ()

    def grown(self, rows: Rows, broker: str) -> Doubt:
        """Returns it with further rows of a connection to `broker` added."""
        publishes, deliveries = [
            sum([_count(row[at]) for row in rows.by_table["sessions"]]) for at in (_PUBLISHES, _DELIVERIES)
        ]
        commits = sum([row[_OUTCOME] == "in-doubt" for row in rows.by_table["transactions"]])
        branches = [
            BranchSaid(
                broker,
                str(row[_XID]),
                next(time for place in _TIMES if isinstance(time := row[place], int)),
                row[_BRANCH] in DECIDED,
                bool(row[_IN_DOUBT]),
            )
            for row in rows.by_table["dtx"]
        ]
        return self.with_(Doubt(publishes, deliveries, commits, tuple(branches)))

    def with_(self, other: Doubt) -> Doubt:
        """Returns the sum of both."""
        return Doubt(*map(add, self, other))


def ids_in(ranges: Iterable[Sequence[int]]) -> int:
    """Counts the ids in ranges (first, last), one of which may wrap: from a high id over 0 to a low one."""
    return sum([(last - first) % MODULUS + 1 for first, last in ranges])


def _count(ranges: object) -> int:
    return ids_in(ranges) if isinstance(ranges, tuple | list) else 0


def branches_in_doubt(said: Iterable[BranchSaid]) -> set[tuple[str, str]]:
    """Returns broker and xid of the branches in doubt over all connections, without those decided later on another one."""
    doubted: dict[tuple[str, str], int] = {}
    decided: dict[tuple[str, str], int] = {}
    for each in said:
        of = doubted if each.in_doubt else decided if each.decided else None
        if of is not None:
            key = each.broker, each.xid
            of[key] = max(of.get(key, each.last_ns), each.last_ns)
    return {key for key, last in doubted.items() if key not in decided or decided[key] < last}
