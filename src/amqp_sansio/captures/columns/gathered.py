"""Collects rows of many connections into common batches: a batch per connection costs more than its few rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final, Generic, NamedTuple, TypeVar

import pyarrow as pa

from amqp_sansio.captures.columns.messages import message_batch, transfer_batch
from amqp_sansio.captures.columns.tables import Common, Commons, table_batch
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.replay.rows import Row, Rows
from amqp_sansio.captures.tables import TABLES

R = TypeVar("R")

BATCH_ROWS: Final = 8192
"""The most rows of one batch."""


class Records(NamedTuple):
    """Rows of one table."""

    table: str
    batch: pa.RecordBatch


class _Waiting(Generic[R]):
    """Waiting rows of one table, with the number of rows of each connection."""

    __slots__ = ("_commons", "_make", "_rows", "_table")

    def __init__(self, table: str, make: Callable[[Commons, Sequence[R]], pa.RecordBatch]) -> None:
        self._table: Final = table
        self._make: Final = make
        self._rows: list[R] = []
        self._commons: list[tuple[Common, int]] = []

    def add(self, common: Common, rows: Sequence[R]) -> Iterator[Records]:
        """Adds rows of one connection; yields full batches."""
        at = 0
        while at < len(rows):
            part = rows[at : at + BATCH_ROWS - len(self._rows)]
            self._rows += part
            self._commons.append((common, len(part)))
            at += len(part)
            if len(self._rows) == BATCH_ROWS:
                yield from self.rest()

    def rest(self) -> Iterator[Records]:
        """Yields the waiting rows as a batch."""
        rows, commons = self._rows, self._commons
        if rows:
            self._rows, self._commons = [], []
            yield Records(self._table, self._make(commons, rows))


class Gathered:
    """Takes the rows of one connection after the other (`take`); `full` returns the full batches, `rest` everything."""

    def __init__(self, options: ReplayOptions) -> None:
        self.rows: Final = Rows()
        """Where the present connection adds its rows; `take` empties it."""
        self._tables: Final = frozenset(options.tables)
        self._plain: Final[dict[str, _Waiting[Row]]] = {
            name: _Waiting(name, partial(table_batch, TABLES[name])) for name in options.tables if name != "end_to_end"
        }
        self._transfers: Final = _Waiting("commands", transfer_batch)
        self._messages: Final = _Waiting("messages", message_batch)
        self._made: list[Records] = []

    def take(self, common: Common) -> None:
        """Takes the contents of `rows`, which belong to the connection with this capture, broker and id."""
        rows = self.rows
        for name, found in rows.by_table.items():
            if found:
                if name in self._tables:
                    self._made += self._plain[name].add(common, found)
                found.clear()
        if rows.transfers:
            if "commands" in self._tables:
                self._made += self._transfers.add(common, rows.transfers)
            rows.transfers.clear()
        if rows.messages:
            if "messages" in self._tables:
                self._made += self._messages.add(common, rows.messages)
            rows.messages.clear()

    def full(self) -> list[Records]:
        """Returns the full batches."""
        made, self._made = self._made, []
        return made

    def rest(self) -> list[Records]:
        """Returns everything that was taken."""
        for waiting in self._plain.values():
            self._made += waiting.rest()
        self._made += self._transfers.rest()
        self._made += self._messages.rest()
        return self.full()

    def damage(self, common: Common, row: Row) -> None:
        """Takes a row of `violations` about a file."""
        if "violations" in self._tables:
            self._made += self._plain["violations"].add(common, [row])
