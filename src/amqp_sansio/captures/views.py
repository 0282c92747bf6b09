"""Named views on the tables for interactive use: `branches`, `in_doubt`, `latency`, `redeliveries`.

They are SQL that Spark, DuckDB and SQLite accept alike.  `create` is for an engine that has the tables under their names;
`captures.columns.views` returns the rows as pandas frames, and `spark.views` adds them to a session.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from amqp_sansio.captures.replay.doubt import DECIDED
from amqp_sansio.captures.tables import FORMER_VERSION, SCHEMA_VERSION, TABLES, TableSchema, Type, former_name


class View(NamedTuple):
    """A view: its name, what a row is, the tables (or views) that it is made from, and its SQL."""

    name: str
    text: str
    of: tuple[str, ...]
    sql: str


_DECIDED: Final = ", ".join([f"'{outcome}'" for outcome in DECIDED])

BRANCHES: Final = View(
    "branches",
    "A branch over all connections to one broker: prepared on one and decided later on another, it is not in doubt.",
    ("dtx",),
    f"""
SELECT broker, xid, min(ts) AS ts, max(decided_at) AS decided_at, count(*) AS connections,
       sum(transfers) AS transfers, sum(accepts) AS accepts,
       max(CASE WHEN outcome IN ({_DECIDED}, 'heuristic') THEN outcome END) AS outcome,
       CASE WHEN max(CASE WHEN in_doubt THEN last_ns END)
                 > coalesce(max(CASE WHEN outcome IN ({_DECIDED}) THEN last_ns END), -1)
            THEN true ELSE false END AS in_doubt
FROM (SELECT broker, xid, ts, decided_at, transfers, accepts, outcome, in_doubt,
             coalesce(decided_ns, decide_ns, prepare_ns, ts_ns) AS last_ns
      FROM dtx) AS said
GROUP BY broker, xid
""",
)

IN_DOUBT: Final = View(
    "in_doubt",
    "One thing that somebody may have lost, `place` says in which order: 1 a message published and not completed, 2 a message"
    " acquired and not settled, 3 a branch prepared and not decided, 4 a commit that nobody answered.",
    ("messages", "branches", "transactions"),
    """
SELECT 1 AS place, 'publish' AS kind, broker, connection, session, channel, transfer_id AS id, destination AS name, ts
FROM messages WHERE direction = 'C' AND outcome = 'open'
UNION ALL
SELECT 2 AS place, 'delivery' AS kind, broker, connection, session, channel, transfer_id AS id,
       coalesce(queue, destination) AS name, ts
FROM messages WHERE direction = 'S' AND outcome = 'open' AND acquired_at IS NOT NULL
UNION ALL
SELECT 3 AS place, 'branch' AS kind, broker, CAST(NULL AS BIGINT) AS connection, CAST(NULL AS STRING) AS session,
       CAST(NULL AS INT) AS channel, CAST(NULL AS BIGINT) AS id, xid AS name, ts
FROM branches WHERE in_doubt
UNION ALL
SELECT 4 AS place, 'commit' AS kind, broker, connection, session, channel, CAST(NULL AS BIGINT) AS id,
       CAST(NULL AS STRING) AS name, ts
FROM transactions WHERE outcome = 'in-doubt'
""",
)

LATENCY: Final = View(
    "latency",
    "How long one thing took: complete (a command, until its completion), settle (a message, until it was settled), commit (the"
    " end of a local transaction, until it was complete).",
    ("commands", "messages", "transactions"),
    """
SELECT 'complete' AS kind, broker, connection, direction, verb AS name, ts, complete_latency_ns AS latency_ns
FROM commands WHERE complete_latency_ns IS NOT NULL
UNION ALL
SELECT 'settle' AS kind, broker, connection, direction, coalesce(queue, destination) AS name, ts,
       settle_latency_ns AS latency_ns
FROM messages WHERE settle_latency_ns IS NOT NULL
UNION ALL
SELECT 'commit' AS kind, broker, connection, 'C' AS direction, outcome AS name, ts, latency_ns
FROM transactions WHERE latency_ns IS NOT NULL
""",
)

REDELIVERIES: Final = View(
    "redeliveries",
    "A delivery that the broker marks as one that somebody may have had; `deliveries` counts all of this message-id from the"
    " queue, null where it has none.",
    ("messages",),
    """
SELECT broker, queue, destination, message_id, connection, session, ts, outcome, deliveries
FROM (SELECT broker, queue, destination, message_id, connection, session, ts, outcome, redelivered,
             CASE WHEN message_id IS NOT NULL THEN count(*) OVER (PARTITION BY broker, queue, message_id) END AS deliveries
      FROM messages WHERE direction = 'S') AS delivered
WHERE redelivered
""",
)

VIEWS: Final[dict[str, View]] = {view.name: view for view in (BRANCHES, IN_DOUBT, LATENCY, REDELIVERIES)}
"""Every view by its name; one that uses another comes after it."""


def create(name: str, temporary: bool = True) -> str:
    """Returns the statement that creates a view where the tables have their names.  Raises KeyError for a name that is not in
    VIEWS."""
    return f"CREATE {'TEMPORARY ' if temporary else ''}VIEW {name} AS{VIEWS[name].sql}"


def duckdb(folder: str, version: int = SCHEMA_VERSION) -> str:
    """Returns a script for DuckDB: the tables in a folder, and the views on them, by name.

    `version` is the schema version in the folder's manifest; the columns have today's names in any case.
    """
    quoted = folder.replace("'", "''")
    tables = sorted({table for view in VIEWS.values() for table in view.of} - set(VIEWS))
    made = [
        f"CREATE VIEW {table} AS SELECT {_from_former(TABLES[table]) if version == FORMER_VERSION else '*'}"
        f" FROM read_parquet('{quoted}/{table}/**/*.parquet', hive_partitioning = true, union_by_name = true)"
        for table in tables
    ]
    return ";\n".join([*made, *[create(name, temporary=False).strip() for name in VIEWS]]) + ";\n"


def _from_former(table: TableSchema) -> str:
    """Returns the columns of a table, derived from those of schema version 1, in DuckDB's SQL."""
    columns = []
    for column in table.columns:
        before = former_name(column.name)
        made = f'"{before}"'
        if column.type is Type.TIME:
            made = f"make_timestamp({made} // 1000) AT TIME ZONE 'UTC'"
        columns.append(made if before == column.name else f"{made} AS {column.name}")
    return ", ".join(columns)
