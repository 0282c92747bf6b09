"""Rows that wait to be taken, by table: what `Table.said` names, without the common columns; times are ns since 1970 UTC."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from amqp_sansio.captures.schema import Table
from amqp_sansio.captures.tables import COMMON, TABLES

if TYPE_CHECKING:
    from amqp_sansio.captures.replay.message import Message

Row: TypeAlias = Sequence[object]


def place(table: Table, name: str) -> int:
    """The index of a column in a row (see `Table.said`)."""
    return table.said.index(name) - len(COMMON)


def passed(since: int, time: int) -> int | None:
    """The nanoseconds between; None where the capture's clock went back meanwhile."""
    return time - since if time >= since else None


class Rows:
    """Where rows of one connection collect.

    `messages` are those that have left; `transfers` those of which the row of the command goes out: `columns.messages` makes
    rows of both.  `by_table` holds the rows of all other tables, and of all other commands.
    """

    __slots__ = ("by_table", "commands", "connections", "controls", "credit", "dtx", "frames", "messages", "sessions",
                 "transactions", "transfers", "violations")  # fmt: skip

    def __init__(self) -> None:
        self.messages: Final[list[Message]] = []
        self.transfers: Final[list[Message]] = []
        self.by_table: Final[dict[str, list[Row]]] = {name: [] for name in TABLES if name != "messages"}
        self.connections: Final = self.by_table["connections"]
        self.sessions: Final = self.by_table["sessions"]
        self.commands: Final = self.by_table["commands"]
        self.credit: Final = self.by_table["credit"]
        self.transactions: Final = self.by_table["transactions"]
        self.dtx: Final = self.by_table["dtx"]
        self.violations: Final = self.by_table["violations"]
        self.controls: Final = self.by_table["controls"]
        self.frames: Final = self.by_table["frames"]

    def clear(self) -> None:
        """Drops all of them."""
        self.messages.clear()
        self.transfers.clear()
        for rows in self.by_table.values():
            rows.clear()

    def full(self, rows: int) -> bool:
        """Whether there are so many rows of a table that grows with the traffic."""
        return max(len(self.messages), len(self.transfers), len(self.commands), len(self.frames)) >= rows
