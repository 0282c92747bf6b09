"""The deliveries that are not finished with."""

from __future__ import annotations

from amqp_sansio.kernel.serials import EMPTY, TOP, RangeSet
from amqp_sansio.ledger.transfers import EXPLICIT, NONE, Delivery, Transfers
from amqp_sansio.tables import transfer as rows


def some(**states: tuple[str, int]) -> Transfers[str]:
    transfers: Transfers[str] = Transfers()
    for name, (state, accept_mode) in states.items():
        transfers.deliveries[int(name[1:])] = Delivery(state, accept_mode, "to", 7, False, 7)
    return transfers


def test_a_plan_changes_nothing_until_it_is_applied() -> None:
    transfers = some(d1=(rows.ACQUIRED, EXPLICIT), d2=(rows.ACQUIRED, EXPLICIT))
    before = dict(transfers.deliveries)
    plan, _ = transfers.plan(rows.ACCEPT, RangeSet([(1, 2)]))
    assert transfers.deliveries == before
    assert transfers.apply(plan, RangeSet([(1, 2)]), True) == (RangeSet([(1, 2)]), {"to": (2, 14, 14)})
    assert transfers.deliveries == {}


def test_settled_but_not_completed_is_remembered_until_it_is() -> None:
    transfers = some(d1=(rows.ACQUIRED, EXPLICIT))
    assert transfers.apply(transfers.plan(rows.ACCEPT, RangeSet.of(1))[0], RangeSet.of(1), False) == (EMPTY, {})
    assert transfers.unsettled() == EMPTY
    assert transfers.plan(rows.RELEASE, RangeSet.of(1)) == ([], [1])
    assert transfers.complete(RangeSet.of(1)) == {"to": (1, 7, 7)}
    assert transfers.deliveries == {}


def test_a_plan_names_the_ids_for_which_it_is_illegal() -> None:
    transfers = some(d1=(rows.ACQUIRED, EXPLICIT), d2=(rows.NOT_ACQUIRED, EXPLICIT))
    for ids in (RangeSet([(1, 2)]), RangeSet([(0, 2)]), RangeSet([(1, TOP)])):
        planned, bad = transfers.plan(rows.ACCEPT, ids)
        assert ([id for id, _, _ in planned], bad) == ([1], [2])
    assert transfers.plan(rows.ACCEPT, EMPTY) == ([], [])


def test_acquired_names_some_of_those_asked_for() -> None:
    transfers = some(d1=(rows.ACQUIRING, EXPLICIT), d2=(rows.ACQUIRING, EXPLICIT), d3=(rows.ACQUIRED, EXPLICIT))
    transfers.acquired(RangeSet([(1, 9)]), RangeSet.of(2, 3))
    assert [delivery.state for delivery in transfers.deliveries.values()] == [rows.NOT_ACQUIRED, rows.ACQUIRED, rows.ACQUIRED]


def test_completion_ends_what_needs_no_accept() -> None:
    transfers = some(d1=(rows.ACQUIRED, NONE), d2=(rows.ACQUIRING, NONE), d3=(rows.NOT_ACQUIRED, NONE))
    transfers.complete(RangeSet([(0, TOP)]))
    assert list(transfers.deliveries) == [2]
    transfers.complete(RangeSet.of(2))
    transfers.acquired(RangeSet.of(2), RangeSet.of(2))
    assert transfers.deliveries == {}
