"""Conditions on rows."""

from __future__ import annotations

import pyarrow as pa
import pytest

from amqp_sansio.captures.columns.filters import FILTERED, OPERATORS, Filter, chosen
from amqp_sansio.captures.packets_schema import NAMES

COLUMNS = {"sport": pa.array([1, 2, 3], pa.int32()), "note": pa.array([None, "b", "c"])}


@pytest.mark.parametrize(
    ("filters", "want"),
    [
        ([Filter("sport", "=", 2)], [False, True, False]),
        ([Filter("sport", "=", 2, True)], [True, False, True]),
        ([Filter("sport", "<", 2)], [True, False, False]),
        ([Filter("sport", "<=", 2)], [True, True, False]),
        ([Filter("sport", ">", 2)], [False, False, True]),
        ([Filter("sport", ">=", 2)], [False, True, True]),
        ([Filter("sport", "in", (1, 3))], [True, False, True]),
        ([Filter("note", "null")], [True, False, False]),
        ([Filter("note", "null", negated=True)], [False, True, True]),
        ([Filter("note", "=", "b")], [False, True, False]),
        ([Filter("note", "=", "b", True)], [False, False, True]),
        ([Filter("note", "in", ("b",), True)], [False, False, True]),
        ([Filter("sport", ">", 1), Filter("note", "=", "c")], [False, False, True]),
    ],
)
def test_rows_of_which_all_hold(filters: list[Filter], want: list[bool]) -> None:
    assert chosen(filters, COLUMNS.__getitem__).tolist() == want


def test_what_can_be_asked_exists() -> None:
    assert set(FILTERED) < set(NAMES)
    assert len(OPERATORS) == 7
