"""Who wants to be called when."""

from __future__ import annotations

from collections.abc import Callable

from tests.steps import assert_linear

from amqp_sansio.kernel.agenda import FEW, Agenda


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


def test_what_was_forgotten_costs_no_memory_however_late_its_moment_is() -> None:
    """A session that is kept for years, resumed, and ended: nothing must hold on to it."""
    agenda: Agenda[str] = Agenda()
    agenda.note("b", 2.0)
    for number in range(1000):
        for moment in (1e9, 1e9 + number, 1e9):
            agenda.note(f"a{number}", moment)
            agenda.forget(f"a{number}")
            agenda.note("c", 3.0 + 1000 - number)
    assert len(agenda._heap) <= 2 * FEW
    assert agenda.due(2.5) == ["b"]
    assert agenda.next == 4.0
    assert agenda.due(4.0) == ["c"]
    assert agenda.next is None


def test_many_that_stay_are_not_looked_through_each_time() -> None:
    agenda: Agenda[int] = Agenda()
    for number in range(1000):
        agenda.note(number, float(number))
    for number in range(600):
        agenda.forget(number)
    assert 400 <= len(agenda._heap) <= 1000
    assert agenda.due(1000.0) == list(range(600, 1000))


def test_noting_many_costs_what_they_are() -> None:
    def noted(count: int) -> Callable[[], None]:
        agenda: Agenda[int] = Agenda()

        def note() -> None:
            for number in range(count):
                agenda.note(number, float(number))

        return note

    assert_linear(noted, 500)
