"""Reads the rows of published files: the columns of a table, with the values in the folder names."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from amqp_sansio.captures.columns.place import Place
from amqp_sansio.captures.columns.tables import TIME, moments, table_schema
from amqp_sansio.captures.errors import PipelineError
from amqp_sansio.captures.locations import located
from amqp_sansio.captures.tables import END_TO_END, PARTITIONS, TABLES, former_name, refusal

BATCH_ROWS = 65536
"""Rows held at a time."""
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


def tables_in(folder: str) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yields the rows of all tables in the manifest of `folder`, in batches of one table, with the documented columns."""
    system = located(folder).system
    for file in Place(folder).published():
        for batch in rows_in(system, file.path, table_schema(TABLES.get(file.table, END_TO_END))):
            yield file.table, batch


def paths_of(folder: str, tables: Iterable[str]) -> dict[str, list[str]]:
    """Returns the paths of the files of these tables, by the manifest of `folder`.

    Raises PipelineError when it does not name one of the tables, or is of a schema version that is not read here.
    """
    place = Place(folder)
    version = place.version
    if version is not None and (refused := refusal(version)) is not None:
        raise PipelineError(f"{folder}: {refused}")
    files: dict[str, list[str]] = {}
    for file in place.published():
        files.setdefault(file.table, []).append(file.path)
    for name in tables:
        if name not in files:
            raise PipelineError(f"{folder}: its manifest names no table {name}")
    return files


def partitions_of(path: str) -> dict[str, str | None]:
    """Parses the values in the folder names of a path: name=value, the value percent-encoded."""
    said: dict[str, str | None] = {}
    for part in path.split("/")[:-1]:
        name, equals, value = part.partition("=")
        if equals and name in PARTITIONS:
            said[name] = None if value == _NO_VALUE else unquote(value)
    return said


def shaped(batch: pa.RecordBatch, schema: pa.Schema, said: dict[str, str | None]) -> pa.Table:
    """Returns the batch with exactly the columns of `schema`; a missing one comes from the folder names, or is null.

    A batch of schema version 1 has their former names (see `captures.tables`).
    """
    arrays = []
    for field in schema:
        place = batch.schema.get_field_index(field.name)
        before = batch.schema.get_field_index(former_name(field.name))
        if place >= 0:
            column = batch.column(place)
            arrays.append(column if column.type == field.type else column.cast(field.type))
        elif before >= 0:
            column = batch.column(before)
            arrays.append(moments(column.cast(pa.int64())) if field.type == TIME else column.cast(field.type))
        elif field.name in said:
            arrays.append(pa.repeat(pa.scalar(said[field.name], pa.string()), batch.num_rows).cast(field.type))
        else:
            arrays.append(pa.nulls(batch.num_rows, field.type))
    return pa.Table.from_arrays(arrays, schema=schema)


def needed(schema: pa.Schema, there: Collection[str]) -> list[str]:
    """Returns the columns of a file from which `shaped` makes those of `schema`."""
    named = [name if name in there else former_name(name) for name in schema.names]
    return [name for name in dict.fromkeys(named) if name in there]


def rows_in(system: fs.FileSystem, path: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yields the rows of a published file in batches."""
    with system.open_input_file(path) as stream, pq.ParquetFile(stream) as file:
        names = needed(schema, file.schema_arrow.names)
        for batch in file.iter_batches(BATCH_ROWS, columns=names, use_threads=False):
            yield from shaped(batch, schema, partitions_of(path)).to_batches()
