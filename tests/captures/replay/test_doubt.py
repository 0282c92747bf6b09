"""What a person may have lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.captures.replay.doubt import BranchSaid, Doubt, branches_in_doubt
from amqp_sansio.captures.replay.rows import Rows, place
from amqp_sansio.captures.tables import COMMON, DTX, SESSIONS, TRANSACTIONS, TableSchema


def row(table: TableSchema, **values: object) -> list[object]:
    made: list[object] = [None] * (len(table.said) - len(COMMON))
    for name, value in values.items():
        made[place(table, name)] = value
    return made


def test_rows_are_counted_once() -> None:
    rows = Rows()
    rows.by_table["sessions"].append(row(SESSIONS, in_doubt_by_client=((1, 3),), in_doubt_by_server=((7, 7), (9, 10))))
    rows.by_table["sessions"].append(row(SESSIONS))  # unknown
    rows.by_table["transactions"].extend([row(TRANSACTIONS, outcome="in-doubt"), row(TRANSACTIONS, outcome="committed")])
    rows.by_table["dtx"].append(row(DTX, ts=5, prepare_at=8, xid="1:a:", outcome="prepared", in_doubt=True))
    doubt = Doubt().grown(rows, "b")
    assert (doubt.publishes, doubt.deliveries, doubt.commits) == (3, 3, 1)
    assert doubt.branches == (BranchSaid("b", "1:a:", 8, False, True),)
    assert doubt.with_(doubt).publishes == 6


def test_doubt_counts_the_ids_of_a_range_that_wraps() -> None:
    rows = Rows()
    wrapping = row(SESSIONS, in_doubt_by_client=((2**32 - 3, 0), (2, 3)), in_doubt_by_server=((2**32 - 2, 1),))
    rows.by_table["sessions"].append(wrapping)
    assert Doubt().grown(rows, "b") == Doubt(6, 4)


@pytest.mark.parametrize(
    ("broker", "xid", "last", "left"),
    [("b", "x", 9, 0), ("b", "x", 5, 0), ("b", "x", 4, 1), ("c", "x", 9, 1), ("b", "y", 9, 1)],
)
def test_a_later_word_about_the_same_branch_of_the_same_broker_decides_it(broker: str, xid: str, last: int, left: int) -> None:
    said = [BranchSaid("b", "x", 5, False, True), BranchSaid(broker, xid, last, True, False)]
    assert len(branches_in_doubt(said)) == left


@pytest.mark.parametrize(("decided", "left"), [([7], 1), ([9], 0), ([7, 9], 0), ([9, 7], 0), ([4, 7], 1)])
@pytest.mark.parametrize("doubted", [[5, 8], [8, 5]])
def test_the_last_connection_to_doubt_a_branch_counts_and_the_last_to_decide_it(
    doubted: list[int], decided: list[int], left: int
) -> None:
    said = [BranchSaid("b", "x", last, False, True) for last in doubted]
    said += [BranchSaid("b", "x", last, True, False) for last in decided]
    assert len(branches_in_doubt(said)) == left


@given(
    st.lists(
        st.builds(BranchSaid, st.sampled_from("ab"), st.sampled_from("xy"), st.integers(0, 5), st.booleans(), st.booleans())
    )
)
def test_the_order_in_which_connections_are_read_does_not_matter(said: list[BranchSaid]) -> None:
    """Whatever the order of what connections say of branches, the same ones are in doubt."""
    assert branches_in_doubt(said) == branches_in_doubt(said[::-1])
