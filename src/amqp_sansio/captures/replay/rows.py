"""Rows that wait to be taken, by table: without the common columns, in the order of `captures.tables`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from amqp_sansio.captures.schema import Table
from amqp_sansio.captures.tables import COMMON, TABLES

Row: TypeAlias = Sequence[object]


def place(table: Table, name: str) -> int:
    """The index of a column in a row."""
    return table.names.index(name) - len(COMMON)


class Rows:
    """Where rows of one connection collect."""

    __slots__ = ("by_table", "commands", "connections", "controls", "credit", "dtx", "frames", "messages", "sessions",
                 "transactions", "violations")  # fmt: skip

    def __init__(self) -> None:
        self.by_table: Final[dict[str, list[Row]]] = {name: [] for name in TABLES}
        self.connections: Final = self.by_table["connections"]
        self.sessions: Final = self.by_table["sessions"]
        self.commands: Final = self.by_table["commands"]
        self.messages: Final = self.by_table["messages"]
        self.credit: Final = self.by_table["credit"]
        self.transactions: Final = self.by_table["transactions"]
        self.dtx: Final = self.by_table["dtx"]
        self.violations: Final = self.by_table["violations"]
        self.controls: Final = self.by_table["controls"]
        self.frames: Final = self.by_table["frames"]
