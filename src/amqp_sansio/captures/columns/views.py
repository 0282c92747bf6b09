"""The views of `captures.views` as pandas frames, for whoever has neither Spark nor DuckDB."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Final

from amqp_sansio.captures.columns.tables import table_schema
from amqp_sansio.captures.tables import TABLES
from amqp_sansio.captures.views import VIEWS, create

if TYPE_CHECKING:
    import pandas as pd

_LISTED: Final = ("list<", "map<", "date32")


def frame(folder: str, name: str) -> pd.DataFrame:
    """The rows of a view on the tables in `folder`.  KeyError for another name than those of VIEWS.

    Its tables go through SQLite in memory: for folders whose tables of that view fit there.
    """
    import pandas as pd

    base = sqlite3.connect(":memory:")
    try:
        _load(base, folder, name)
        found = pd.read_sql_query(f"SELECT * FROM {name}", base)
    finally:
        base.close()
    for column in ("in_doubt",):
        if column in found:
            found[column] = found[column].astype(bool)
    return found


def _load(base: sqlite3.Connection, folder: str, name: str) -> None:
    """Makes the view, and before it what it is made of."""
    import pyarrow.dataset as ds

    for table in VIEWS[name].of:
        if table in VIEWS:
            _load(base, folder, table)
            continue
        schema = table_schema(TABLES[table])
        plain = [field.name for field in schema if not str(field.type).startswith(_LISTED)]
        found = ds.dataset(f"{folder}/{table}", partitioning="hive", schema=schema)
        base.execute(f"CREATE TABLE {table} ({', '.join([_quoted(each) for each in plain])})")
        for batch in found.to_batches(columns=plain):
            rows = zip(*[column.to_pylist() for column in batch.columns], strict=True)
            base.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(plain))})", rows)
    base.execute(create(name))


def _quoted(name: str) -> str:
    return f'"{name}"'
