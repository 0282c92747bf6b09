from __future__ import annotations

from tests.captures.replay.made import message

from amqp_sansio.captures.replay.rows import Rows, place
from amqp_sansio.captures.tables import MESSAGES, TABLES


def test_a_place_counts_without_the_common_columns() -> None:
    assert place(MESSAGES, "ts") == 0
    assert place(MESSAGES, "direction") == 1


def test_a_list_for_every_table() -> None:
    rows = Rows()
    assert [*rows.by_table, "messages"] == sorted([*TABLES], key=[*rows.by_table, "messages"].index)
    for name, collected in rows.by_table.items():
        assert getattr(rows, name) is collected


def test_rows_of_any_table_that_grows_with_the_traffic_fill_it() -> None:
    rows = Rows()
    assert not rows.full(1)
    rows.transfers.append(message())
    assert rows.full(1)
    assert not rows.full(2)
