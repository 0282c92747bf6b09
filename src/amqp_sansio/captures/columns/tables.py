"""Tables as Arrow: schemas made from `captures.tables`, and batches made from rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from amqp_sansio.captures.columns.moments import TIME, moments
from amqp_sansio.captures.schema import Table, Type, in_ns
from amqp_sansio.captures.tables import COMMON

_TYPES: Final[dict[Type, pa.DataType]] = {
    Type.STRING: pa.string(),
    Type.INT: pa.int32(),
    Type.LONG: pa.int64(),
    Type.BOOL: pa.bool_(),
    Type.BINARY: pa.binary(),
    Type.DATE: pa.date32(),
    Type.TIME: TIME,
    Type.STRINGS: pa.list_(pa.string()),
    Type.RANGES: pa.list_(pa.struct([pa.field("first", pa.int64()), pa.field("last", pa.int64())])),
    Type.COUNTS: pa.map_(pa.string(), pa.int64()),
}

Common: TypeAlias = tuple[str, str, int]
"""Capture, broker and connection of a row."""
Commons: TypeAlias = Common | Sequence[tuple[Common, int]]
"""The common values of all rows, or consecutive ones, each with its number of rows."""

_DAY_NS: Final = 86_400_000_000_000


@cache
def table_schema(table: Table) -> pa.Schema:
    """Returns the Arrow schema of a table."""
    return pa.schema([pa.field(column.name, _TYPES[column.type], column.nullable) for column in table.columns])


def table_batch(table: Table, common: Commons, rows: Sequence[Sequence[object]]) -> pa.RecordBatch:
    """Converts rows (without the common columns) to a batch.

    Ranges of ids are pairs, maps lists of pairs, times ns since 1970 UTC.
    """
    schema, said = _form(table)
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(said)
    arrays = common_arrays(common, pa.array(columns[0], pa.int64()))
    for (kind, beside), values in zip(said[1:], columns[1:], strict=True):
        if kind == TIME:
            times = pa.array(values, pa.int64())
            arrays += [moments(times), times] if beside else [moments(times)]
            continue
        if pa.types.is_list(kind) and pa.types.is_struct(kind.value_type):
            values = tuple([None if each is None else [{"first": low, "last": high} for low, high in each] for each in values])
        arrays.append(pa.array(values, kind))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


@cache
def _form(table: Table) -> tuple[pa.Schema, tuple[tuple[pa.DataType, bool], ...]]:
    """Returns the schema and, for each value of a row, its type and whether a nanoseconds column repeats it."""
    schema = table_schema(table)
    names = table.said[len(COMMON) :]
    return schema, tuple([(schema.field(name).type, in_ns(name) in table.names) for name in names])


def common_arrays(common: Commons, times: pa.Array) -> list[pa.Array]:
    """Returns the first columns of every table, with `ts` and `ts_ns` from `times` in ns since 1970 UTC."""
    captures, brokers, connections = _common(common, len(times))
    return [
        captures,
        brokers,
        pc.cast(pc.divide(times, _DAY_NS), pa.int32()).view(pa.date32()),
        connections,
        moments(times),
        times,
    ]


def _common(common: Commons, count: int) -> list[pa.Array]:
    kinds = pa.string(), pa.string(), pa.int64()
    if not isinstance(common, tuple):
        if len(common) != 1:
            parts = pa.array(np.repeat(np.arange(len(common)), [each[1] for each in common]))
            values = zip(*[each[0] for each in common], strict=True)
            return [pa.array(each, kind).take(parts) for each, kind in zip(values, kinds, strict=True)]
        common = common[0][0]
    return [pa.repeat(pa.scalar(value, kind), count) for value, kind in zip(common, kinds, strict=True)]
