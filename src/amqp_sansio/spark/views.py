"""The tables of a folder in a Spark session, and the views of `captures.views` on them, by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from amqp_sansio.captures.columns.place import Place
from amqp_sansio.captures.columns.published import paths_of, rows_in
from amqp_sansio.captures.columns.tables import table_schema
from amqp_sansio.captures.locations import located
from amqp_sansio.captures.tables import DEFAULT_TABLES, END_TO_END, SCHEMA_VERSION, TABLES, TableSchema
from amqp_sansio.captures.views import VIEWS
from amqp_sansio.spark.session import in_tasks

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

READING_TASKS: Final = 64
"""The most tasks that read a table back."""


def create_views(spark: SparkSession, folder: str) -> tuple[str, ...]:
    """Adds the default tables in `folder`, `end_to_end` and the views to the session, as temporary views; returns their
    names."""
    tables = [*DEFAULT_TABLES, "end_to_end"]
    for name, table in read_tables(spark, folder, tables).items():
        table.createOrReplaceTempView(name)
    for view in VIEWS.values():
        spark.sql(view.sql).createOrReplaceTempView(view.name)
    return (*tables, *VIEWS)


def read_tables(spark: SparkSession, folder: str, tables: Iterable[str]) -> Mapping[str, DataFrame]:
    """Returns tables published in `folder`, with the documented columns: the files that the manifest names.

    On this machine Spark reads them itself; elsewhere, and where the columns have the names of schema version 1, its tasks read
    them through pyarrow.
    """
    names, place = tuple(tables), Place(folder)
    files, is_plain = paths_of(folder, names), place.is_local and place.version == SCHEMA_VERSION
    found = {}
    for name in names:
        table = TABLES.get(name, END_TO_END)
        if is_plain:
            reader = spark.read.schema(table.ddl).option("basePath", f"file://{place.root}/{name}")
            found[name] = reader.parquet(*[f"file://{path}" for path in files[name]]).select(*table.names)
        else:
            found[name] = _by_arrow(spark, folder, files[name], table)
    return found


def _by_arrow(spark: SparkSession, folder: str, paths: Sequence[str], table: TableSchema) -> DataFrame:
    def read(number: int) -> Iterator[pa.RecordBatch]:
        return rows_in(located(folder).system, paths[number], table_schema(table))

    return in_tasks(spark, read, len(paths), table.ddl, READING_TASKS)
