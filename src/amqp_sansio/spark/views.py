"""The tables of a folder and the views of `captures.views` in a Spark session, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from amqp_sansio.captures.tables import DEFAULT_TABLES
from amqp_sansio.captures.views import VIEWS
from amqp_sansio.spark.passes import read_tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def create_views(spark: SparkSession, folder: str) -> tuple[str, ...]:
    """Adds the default tables in `folder`, `end_to_end` and the views to the session, as temporary views; returns their
    names."""
    tables = [*DEFAULT_TABLES, "end_to_end"]
    for name, table in read_tables(spark, folder, tables).items():
        table.createOrReplaceTempView(name)
    for view in VIEWS.values():
        spark.sql(view.sql).createOrReplaceTempView(view.name)
    return (*tables, *VIEWS)
