"""Reads packets of capture files of any size as Arrow record batches."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from amqp_sansio.captures.columns.batch import Parsed, note_batch
from amqp_sansio.captures.columns.heads import records
from amqp_sansio.captures.layers import LeftOut
from amqp_sansio.captures.reader import Stretch
from amqp_sansio.captures.splits import SPLIT_OCTETS, Split, SplitError, over_split, reindexed, splits
from amqp_sansio.captures.tables import PACKETS, Column
from amqp_sansio.captures.walk import NO_TIME

OPERATORS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "=": pc.equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
    "in": lambda column, values: pc.is_in(column, value_set=pa.array(list(values), column.type)),
    "null": lambda column, _: pc.is_null(column),
}
"""The operators of conditions."""

FILTERED: Final = ("capture", "file_id", "offset", "ts_ns", "connection", "src", "dst", "sport", "dport", "flags", "note")
"""The columns that can be tested: the cheap ones."""


class ColumnFilter(NamedTuple):
    """A column, an operator of OPERATORS and a value (several for "in"); `negated`: it must not hold.  null matches only
    "null"."""

    column: str
    operator: str
    value: Any = None
    negated: bool = False


def chosen(filters: Sequence[ColumnFilter], column: Callable[[str], pa.Array]) -> NDArray[np.bool_]:
    """Returns which rows satisfy all filters; `column` returns a column by name."""
    masks = []
    for each in filters:
        mask = OPERATORS[each.operator](column(each.column), each.value)
        if each.negated:
            mask = pc.invert(mask)
        if each.operator != "null":
            mask = pc.and_(pc.fill_null(mask, False), pc.is_valid(column(each.column)))
        masks.append(mask.to_numpy(zero_copy_only=False))
    found: NDArray[np.bool_] = np.logical_and.reduce(masks)
    return found


BATCH_ROWS: Final = 20_000
"""The most records of one batch; they come from one stretch, so STRETCH_OCTETS bounds its octets."""


def read_split(
    split: Split,
    columns: tuple[Column, ...] = PACKETS,
    filters: Sequence[ColumnFilter] = (),
    rows: int = BATCH_ROWS,
    ports: Sequence[int] | None = None,
) -> Generator[pa.RecordBatch, None, int]:
    """Yields the packets of a split, in file order, with a row for everything in it that cannot be read; returns the latest
    time up to its end.

    All `filters` must hold for a row.  With `ports`, the server ports asked for, most packets of connections that cannot be
    AMQP are left out.  Raises SplitError at the end when the next split does not start where this one ends, or not with its
    latest time; CaptureError when the file has changed.
    """
    last: tuple[Stretch, int] | None = None
    left_out = LeftOut()
    latest = split.latest

    def before() -> int:
        return int(records(last[0].octets, last[0].walk, [last[1]]).time[0]) if last is not None else split.before

    def note(offset: int, text: str) -> Iterator[pa.RecordBatch]:
        batch = note_batch(PACKETS if filters else columns, split.path, split.file_id, offset, before(), latest, text)
        if filters:
            batch = batch.filter(pa.array(chosen(filters, batch.column))).select([column.name for column in columns])
        if batch.num_rows:
            yield batch

    def counted() -> Iterator[pa.RecordBatch]:
        for text in left_out.sentences():
            yield from note(split.start, text)

    try:
        for stretch in over_split(split):
            walk = stretch.walk
            positions = stretch.positions
            for begin in range(0, len(positions), rows):
                found = records(stretch.octets, walk, positions[begin : begin + rows], latest)
                latest = int(found.latest[-1])
                parsed = Parsed(stretch.octets, found, split.path, split.file_id, stretch.base, left_out)
                if filters and len(parsed):
                    parsed.keep(chosen(filters, parsed.column))
                if ports is not None and len(parsed):
                    strangers = parsed.strangers(ports)
                    if strangers.any():
                        parsed.keep(~strangers)
                if len(parsed):
                    yield parsed.batch(columns)
            if positions:
                last = (stretch, positions[-1])
            if stretch.problem is not None:
                yield from note(*stretch.problem)
    except SplitError as error:
        error.before, error.latest = before(), latest
        yield from counted()
        raise
    yield from counted()
    split.passed(latest)
    return latest


def read_file(
    path: str,
    file_id: int = 0,
    columns: tuple[Column, ...] = PACKETS,
    octets: int = SPLIT_OCTETS,
    resync: bool = True,
    rows: int = BATCH_ROWS,
    ports: Sequence[int] | None = None,
) -> Iterator[pa.RecordBatch]:
    """Yields the packets of one file, split after split; `ports` as in `read_split`.

    Where resynchronisation was misled, the rest of the file is read with an exact index.  Wrong packets are never returned,
    because each split starts where the one before has ended.
    """
    waiting = splits(path, file_id, octets, resync)
    latest = NO_TIME
    while waiting:
        split = waiting.pop(0)
        try:
            latest = yield from read_split(split._replace(latest=latest, reached=None), columns, (), rows, ports)
        except SplitError as error:
            latest, waiting = error.latest, reindexed(split, error, octets)
