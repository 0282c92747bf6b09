"""Rows of many connections in one batch: each with its own capture, broker and connection, none lost, none too many."""

from __future__ import annotations

import pytest
from tests.captures.packets import gathered as tables

from amqp_sansio.captures.columns import gathered as module
from amqp_sansio.captures.columns.gathered import Gathered
from amqp_sansio.captures.columns.tables import table_batch
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.replay.rows import Row
from amqp_sansio.captures.tables import TABLES

ROW: Row = (5, "C", "note", "rule", "said", [], "text", None, None, 7, 0, 24)


@pytest.mark.parametrize("most", [1, 4, 5, 100])
def test_rows_of_connections_stand_in_one_batch(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same rows as in batches of single connections, in their order, in as few batches as can be."""
    monkeypatch.setattr(module, "BATCH_ROWS", most)
    found = Gathered(ReplayOptions())
    made, expected = [], []
    for number, count in enumerate((3, 1, 0, 6, 2)):
        common = f"{number % 2}.pcap", f"broker {number}", number
        found.rows.by_table["violations"].extend([ROW] * count)
        found.take(common)
        assert not found.rows.by_table["violations"]
        made += found.full()
        expected += table_batch(TABLES["violations"], common, [ROW] * count).to_pylist()
    made += found.rest()
    assert tables(made) == {"violations": expected}
    assert [each.batch.num_rows for each in made] == [most] * (12 // most) + [12 % most] * (12 % most > 0)
    assert found.rest() == []


def test_tables_that_nobody_wants_are_dropped() -> None:
    found = Gathered(ReplayOptions(tables=("messages",)))
    found.rows.by_table["violations"].append(ROW)
    found.take(("a", "b", 1))
    found.damage(("a", "b", 1), ROW)
    assert found.rest() == []
    assert not found.rows.by_table["violations"]
