"""Tables and machines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.kernel.machine import Machine, Row, Table

DOOR = Table(
    "door",
    "shut",
    [
        Row("shut", "guest", "knock", "knocked"),
        Row("knocked", "host", "open", "open"),
        Row("knocked", "guest", "knock", "knocked"),
        Row("knocked", "host", "refuse", "shut"),
        Row("open", "guest", "enter", "inside"),
        Row("open", "host", "shut", "shut"),
    ],
    final=["inside"],
)


def test_a_machine_walks_its_rows() -> None:
    machine = Machine(DOOR)
    assert machine.step("guest", "knock") is None
    assert machine.step("host", "open") is None
    assert not machine.finished
    assert machine.can("guest", "enter")
    assert machine.step("guest", "enter") is None
    assert machine.state == "inside"
    assert machine.finished


def test_a_refusal_lists_what_was_legal_and_changes_nothing() -> None:
    machine = Machine(DOOR)
    machine.step("guest", "knock")
    refusal = machine.step("guest", "enter")
    assert refusal is not None
    assert refusal.legal == ("host:open", "guest:knock", "host:refuse")
    assert refusal.legal_for("host") == ("open", "refuse")
    assert refusal.said == "guest:enter"
    assert refusal.states == ("knocked",)
    assert machine.states == ("knocked",)


def test_the_speaker_matters() -> None:
    assert Machine(DOOR).step("host", "knock") is not None


def test_a_late_observer_reports_a_violation_only_when_no_state_is_left() -> None:
    machine = Machine.unknown(DOOR)
    assert machine.step("guest", "knock") is None
    assert machine.states == ("knocked",)
    late = Machine.unknown(DOOR)
    assert late.step("host", "shut") is None
    assert late.step("host", "open") is not None
    assert late.state == "shut"


def test_several_states_stay_possible_until_words_decide() -> None:
    table = Table("two", "a", [Row("a", "x", "go", "b"), Row("c", "x", "go", "d"), Row("b", "x", "end", "b")])
    machine = Machine.unknown(table)
    assert machine.step("x", "go") is None
    assert machine.state == "b|d"
    assert machine.step("x", "end") is None
    assert machine.state == "b"
    machine.forget()
    assert machine.states == table.states


def test_states_are_a_plain_value_that_makes_the_same_machine_again() -> None:
    machine = Machine.unknown(DOOR)
    machine.step("guest", "knock")
    assert Machine(DOOR, machine.states).state == "knocked"


def test_two_rows_for_the_same_words_are_a_mistake() -> None:
    with pytest.raises(ValueError, match="two rows for x:go in state a"):
        Table("t", "a", [Row("a", "x", "go", "b"), Row("a", "x", "go", "c")])


def test_an_unknown_final_state_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="nowhere"):
        Table("t", "a", [Row("a", "x", "go", "b")], final=["nowhere"])


# Whatever is said, one who knows the state accuses whenever one who came late does.
@given(st.lists(st.sampled_from(sorted({(row.speaker, row.verb) for row in DOOR.rows})), max_size=12))
def test_a_late_observer_never_reports_more_violations(words: list[tuple[str, str]]) -> None:
    knows = Machine(DOOR)
    late = Machine.unknown(DOOR)
    for speaker, verb in words:
        legal = knows.can(speaker, verb)
        refused = late.step(speaker, verb)
        if legal:
            assert refused is None
            assert knows.step(speaker, verb) is None
            assert knows.state in late.states
        else:
            return


def test_states_of_a_snapshot() -> None:
    assert Machine(DOOR).restore(("open", "shut")).states == ("open", "shut")
    for bad in ((), ("nowhere",), "open", None):
        with pytest.raises(ValueError, match="states"):
            Machine(DOOR).restore(bad)
