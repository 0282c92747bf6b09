"""Rows of many connections that become batches together: a batch for each connection costs more than its few rows."""

from __future__ import annotations

from typing import Final, NamedTuple

import pyarrow as pa

from amqp_sansio.captures.columns.messages import message_batch, transfer_batch
from amqp_sansio.captures.columns.tables import Common, table_batch
from amqp_sansio.captures.replay.message import Message
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.replay.rows import Row, Rows
from amqp_sansio.captures.tables import TABLES

BATCH_ROWS: Final = 8192
"""Rows of one batch at most."""


class Records(NamedTuple):
    """Rows of one table."""

    table: str
    batch: pa.RecordBatch


class _Waiting:
    """Rows of one kind, and of which connection how many of them are."""

    __slots__ = ("commons", "rows")

    def __init__(self) -> None:
        self.rows: list[Row | Message] = []
        self.commons: list[tuple[Common, int]] = []


class Gathered:
    """`take` it the rows of connections, one after the other; `full` gives batches that are full, `rest` all there is."""

    def __init__(self, options: ReplayOptions) -> None:
        self.rows: Final = Rows()
        """Where the connection at hand puts its rows; they are taken from here."""
        self._tables: Final = frozenset(options.tables)
        self._waiting: Final[dict[str, _Waiting]] = {}
        self._made: list[Records] = []

    def take(self, common: Common) -> None:
        """Takes what stands in `rows`: it is of the connection with this capture, broker and id."""
        rows = self.rows
        for name, found in rows.by_table.items():
            if found:
                if name in self._tables:
                    self._add(name, common, found)
                found.clear()
        if rows.transfers:
            if "commands" in self._tables:
                self._add(_TRANSFERS, common, rows.transfers)
            rows.transfers.clear()
        if rows.messages:
            if "messages" in self._tables:
                self._add("messages", common, rows.messages)
            rows.messages.clear()

    def full(self) -> list[Records]:
        """The batches that are full."""
        made, self._made = self._made, []
        return made

    def rest(self) -> list[Records]:
        """All that was taken."""
        for name in self._waiting:
            self._make(name)
        return self.full()

    def damage(self, common: Common, row: Row) -> None:
        """Takes a row of `violations` that is about a file."""
        if "violations" in self._tables:
            self._add("violations", common, [row])

    def _add(self, name: str, common: Common, rows: list[Row] | list[Message]) -> None:
        waiting = self._waiting.get(name)
        if waiting is None:
            waiting = self._waiting[name] = _Waiting()
        at = 0
        while at < len(rows):
            part = rows[at : at + BATCH_ROWS - len(waiting.rows)]
            waiting.rows += part
            waiting.commons.append((common, len(part)))
            at += len(part)
            if len(waiting.rows) == BATCH_ROWS:
                self._make(name)

    def _make(self, name: str) -> None:
        waiting = self._waiting[name]
        rows, commons = waiting.rows, waiting.commons
        if not rows:
            return
        waiting.rows, waiting.commons = [], []
        if name == "messages":
            self._made.append(Records(name, message_batch(commons, rows)))  # type: ignore[arg-type]
        elif name == _TRANSFERS:
            self._made.append(Records("commands", transfer_batch(commons, rows)))  # type: ignore[arg-type]
        else:
            self._made.append(Records(name, table_batch(TABLES[name], commons, rows)))  # type: ignore[arg-type]


_TRANSFERS: Final = "transfers"
