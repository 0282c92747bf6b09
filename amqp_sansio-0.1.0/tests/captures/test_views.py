"""Views that a person asks by name, as SQL: what they say of branches, doubts, latencies and redeliveries."""

from __future__ import annotations

import sqlite3

from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.captures.replay.doubt import BranchSaid, branches_in_doubt
from amqp_sansio.captures.tables import TABLES
from amqp_sansio.captures.views import VIEWS, create, duckdb

Row = dict[str, object]


def ask(name: str, **tables: list[Row]) -> list[Row]:
    """The rows of a view on these rows of tables; what a row lacks is null."""
    base = sqlite3.connect(":memory:")
    base.row_factory = sqlite3.Row
    needed = [name, *VIEWS[name].of]
    for table in [each for view in needed if view in VIEWS for each in VIEWS[view].of if each not in VIEWS]:
        names = [f'"{each}"' for each in TABLES[table].names]
        base.execute(f"CREATE TABLE IF NOT EXISTS {table} ({', '.join(names)})")
        for row in tables.pop(table, []):
            base.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", list(row.values()))
    for view in VIEWS:
        if view in needed:
            base.execute(create(view))
    found = [dict(row) for row in base.execute(f"SELECT * FROM {name}")]
    base.close()
    return found


def test_a_branch_that_was_decided_elsewhere_is_not_in_doubt() -> None:
    prepared: Row = {"broker": "b", "xid": "x", "ts_ns": 1, "prepare_ns": 2, "outcome": "prepared", "in_doubt": True}
    decided: Row = {"broker": "b", "xid": "x", "ts_ns": 5, "decided_ns": 6, "outcome": "committed", "in_doubt": False}
    (row,) = ask("branches", dtx=[prepared, decided])
    assert (row["connections"], row["outcome"], row["in_doubt"]) == (2, "committed", 0)
    assert [row["in_doubt"] for row in ask("branches", dtx=[prepared, decided | {"broker": "c"}])] == [1, 0]


SAID = st.builds(
    BranchSaid, st.sampled_from("ab"), st.sampled_from("xy"), st.integers(0, 5), st.booleans(), st.booleans()
).filter(lambda each: not (each.decided and each.in_doubt))


@given(st.lists(SAID, max_size=8))
def test_the_view_and_check_say_the_same_of_branches(said: list[BranchSaid]) -> None:
    """Whatever connections say of branches, those in doubt by the view are those that `check` and the report count."""
    rows: list[Row] = [
        {"broker": each.broker, "xid": each.xid, "ts_ns": each.last_ns, "in_doubt": each.in_doubt,
         "outcome": "committed" if each.decided else "prepared"}
        for each in said
    ]  # fmt: skip
    found = {(row["broker"], row["xid"]) for row in ask("branches", dtx=rows) if row["in_doubt"]}
    assert found == branches_in_doubt(said)


def test_what_may_be_lost_in_the_order_of_what_it_costs() -> None:
    message: Row = {"broker": "b", "connection": 1, "outcome": "open", "transfer_id": 7, "destination": "d", "ts": 1}
    found = ask(
        "in_doubt",
        transactions=[{"broker": "b", "outcome": "in-doubt", "ts": 1}, {"broker": "b", "outcome": "committed"}],
        dtx=[{"broker": "b", "xid": "x", "ts_ns": 1, "prepare_ns": 2, "outcome": "prepared", "in_doubt": True}],
        messages=[
            message | {"direction": "S", "acquired_at": 3, "queue": "q"},
            message | {"direction": "S"},  # looked at, and never anybody's
            message | {"direction": "C"},
            message | {"direction": "C", "outcome": "completed"},
        ],
    )
    assert sorted((row["place"], row["kind"], row["name"]) for row in found if row["place"] != 4) == [
        (1, "publish", "d"), (2, "delivery", "q"), (3, "branch", "x"),
    ]  # fmt: skip
    assert [row["kind"] for row in found if row["place"] == 4] == ["commit"]


def test_how_long_things_took_leaves_out_what_nobody_knows() -> None:
    found = ask(
        "latency",
        commands=[{"verb": "queue.declare", "complete_latency_ns": 5}, {"verb": "queue.delete"}],
        messages=[{"direction": "S", "queue": "q", "settle_latency_ns": 6}, {"direction": "S", "queue": "q"}],
        transactions=[{"outcome": "committed", "latency_ns": 7}, {"outcome": "in-doubt"}],
    )
    assert [(row["kind"], row["name"], row["latency_ns"]) for row in found] == [
        ("complete", "queue.declare", 5), ("settle", "q", 6), ("commit", "committed", 7),
    ]  # fmt: skip


def test_redeliveries_are_counted_by_message_and_queue() -> None:
    one: Row = {"broker": "b", "direction": "S", "queue": "q", "message_id": "m", "redelivered": False}
    again = one | {"redelivered": True}
    found = ask("redeliveries", messages=[one, again, again | {"message_id": None}, again | {"queue": "r"}])
    assert sorted((str(row["message_id"]), str(row["queue"]), row["deliveries"]) for row in found) == [
        ("None", "q", None), ("m", "q", 2), ("m", "r", 1),
    ]  # fmt: skip


def test_a_script_for_duckdb_names_every_table_and_view() -> None:
    script = duckdb("it's/tables")
    for name in ("commands", "dtx", "messages", "transactions", *VIEWS):
        assert f"CREATE VIEW {name} AS" in script
    assert "read_parquet('it''s/tables/dtx/**/*.parquet'" in script
