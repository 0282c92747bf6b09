"""Who wants to be called when."""

from __future__ import annotations

from amqp_sansio.broker.peer.agenda import Agenda


def test_things_are_due_in_the_order_of_their_moments() -> None:
    agenda: Agenda[str] = Agenda()
    agenda.note("b", 2.0)
    agenda.note("a", 1.0)
    agenda.note("never", None)
    assert agenda.next == 1.0
    assert agenda.due(0.5) == []
    assert agenda.due(2.0) == ["a", "b"]
    assert len(agenda) == 0


def test_a_thing_stands_under_its_earliest_moment_once() -> None:
    agenda: Agenda[str] = Agenda()
    agenda.note("a", 5.0)
    agenda.note("a", 9.0)
    agenda.note("a", 3.0)
    assert agenda.next == 3.0
    assert agenda.due(3.0) == ["a"]
    assert agenda.due(10.0) == []


def test_what_is_forgotten_is_not_due() -> None:
    agenda: Agenda[str] = Agenda()
    agenda.note("a", 1.0)
    agenda.note("b", 2.0)
    agenda.forget("a")
    assert agenda.next == 2.0
    assert agenda.due(5.0) == ["b"]


def test_telling_a_later_moment_again_and_again_costs_no_memory() -> None:
    agenda: Agenda[str] = Agenda()
    for moment in range(1000):
        agenda.note("a", 1000.0 + moment)
    assert len(agenda._heap) == 1
