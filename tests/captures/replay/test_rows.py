from __future__ import annotations

from amqp_sansio.captures.replay.rows import Rows, place
from amqp_sansio.captures.tables import MESSAGES, TABLES


def test_a_place_counts_without_the_common_columns() -> None:
    assert place(MESSAGES, "ts_ns") == 0
    assert place(MESSAGES, "direction") == 1


def test_a_list_for_every_table() -> None:
    rows = Rows()
    assert list(rows.by_table) == list(TABLES)
    for name, collected in rows.by_table.items():
        assert getattr(rows, name) is collected
