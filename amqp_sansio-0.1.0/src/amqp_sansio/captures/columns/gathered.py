"""Rows of many connections that become batches together: a batch for each connection costs more than its few rows."""

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
"""Rows of one batch at most."""


class Records(NamedTuple):
    """Rows of one table."""

    table: str
    batch: pa.RecordBatch


class _Waiting(Generic[R]):
    """Rows of one kind that become batches of a table, and of which connection how many of them are."""

    __slots__ = ("_commons", "_make", "_rows", "_table")

    def __init__(self, table: str, make: Callable[[Commons, Sequence[R]], pa.RecordBatch]) -> None:
        self._table: Final = table
        self._make: Final = make
        self._rows: list[R] = []
        self._commons: list[tuple[Common, int]] = []

    def add(self, common: Common, rows: Sequence[R]) -> Iterator[Records]:
        """Takes rows of one connection; the batches that are full."""
        at = 0
        while at < len(rows):
            part = rows[at : at + BATCH_ROWS - len(self._rows)]
            self._rows += part
            self._commons.append((common, len(part)))
            at += len(part)
            if len(self._rows) == BATCH_ROWS:
                yield from self.rest()

    def rest(self) -> Iterator[Records]:
        """What waits, as a batch."""
        rows, commons = self._rows, self._commons
        if rows:
            self._rows, self._commons = [], []
            yield Records(self._table, self._make(commons, rows))


class Gathered:
    """`take` it the rows of connections, one after the other; `full` gives batches that are full, `rest` all there is."""

    def __init__(self, options: ReplayOptions) -> None:
        self.rows: Final = Rows()
        """Where the connection at hand puts its rows; they are taken from here."""
        self._tables: Final = frozenset(options.tables)
        self._plain: Final[dict[str, _Waiting[Row]]] = {
            name: _Waiting(name, partial(table_batch, TABLES[name])) for name in options.tables if name != "end_to_end"
        }
        self._transfers: Final = _Waiting("commands", transfer_batch)
        self._messages: Final = _Waiting("messages", message_batch)
        self._made: list[Records] = []

    def take(self, common: Common) -> None:
        """Takes what stands in `rows`: it is of the connection with this capture, broker and id."""
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
        """The batches that are full."""
        made, self._made = self._made, []
        return made

    def rest(self) -> list[Records]:
        """All that was taken."""
        for waiting in self._plain.values():
            self._made += waiting.rest()
        self._made += self._transfers.rest()
        self._made += self._messages.rest()
        return self.full()

    def damage(self, common: Common, row: Row) -> None:
        """Takes a row of `violations` that is about a file."""
        if "violations" in self._tables:
            self._made += self._plain["violations"].add(common, [row])
