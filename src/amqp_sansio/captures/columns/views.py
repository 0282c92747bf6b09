"""The views of `captures.views` as pandas frames, without Spark or DuckDB."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from amqp_sansio.captures.columns.published import paths_of, rows_in
from amqp_sansio.captures.columns.tables import TIME, table_schema
from amqp_sansio.captures.locations import located
from amqp_sansio.captures.tables import TABLES, is_time
from amqp_sansio.captures.views import VIEWS, create

if TYPE_CHECKING:
    import pandas as pd

_LISTED: Final = ("list<", "map<", "date32")
_NO_TIME: Final = -(1 << 63)
"""NumPy's value for a missing time."""


def frame(folder: str, name: str) -> pd.DataFrame:
    """Returns the rows of a view on the tables in `folder`; times are datetime64[us, UTC].

    The view's tables, the files that the manifest names, are loaded into SQLite in memory, so they must fit there.  Raises
    KeyError for a name that is not in VIEWS, LocationError for a folder that cannot be opened, PipelineError for one without
    these tables.
    """
    import pandas as pd

    base = sqlite3.connect(":memory:")
    try:
        _load(base, folder, name)
        found = pd.read_sql_query(f"SELECT * FROM {name}", base)
    finally:
        base.close()
    if "in_doubt" in found:
        found["in_doubt"] = found["in_doubt"].astype(bool)
    for column in filter(is_time, found.columns):
        whole = found[column].astype("Int64").to_numpy("int64", na_value=_NO_TIME)
        found[column] = pd.Series(whole.view("datetime64[us]"), found.index).dt.tz_localize("UTC")
    return found


def _load(base: sqlite3.Connection, folder: str, name: str) -> None:
    """Creates the view, and before it what it is made from."""
    system, of = located(folder).system, VIEWS[name].of
    files = paths_of(folder, [each for each in of if each in TABLES])
    for table in of:
        if table in VIEWS:
            _load(base, folder, table)
            continue
        schema = table_schema(TABLES[table])
        plain = [field.name for field in schema if not str(field.type).startswith(_LISTED)]
        chosen = pa.schema([schema.field(name) for name in plain])
        base.execute(f"CREATE TABLE {table} ({', '.join([_quoted(each) for each in plain])})")
        for path in files[table]:
            for batch in rows_in(system, path, chosen):
                columns = [each.view(pa.int64()) if each.type == TIME else each for each in batch.columns]
                rows = zip(*[column.to_pylist() for column in columns], strict=True)
                base.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(plain))})", rows)
    base.execute(create(name))


def _quoted(name: str) -> str:
    return f'"{name}"'
