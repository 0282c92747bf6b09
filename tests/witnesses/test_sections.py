"""Tables and grammars, section by section: the same conversations, or the shortest one on which they differ."""

from __future__ import annotations

import pytest
from tests.grammar.naive import equivalent

from amqp_sansio.grammar.algebra import difference, renamed
from amqp_sansio.grammar.automaton import explore
from amqp_sansio.grammar.transactions import SESSION, branch
from amqp_sansio.grammar.walks import Difference
from amqp_sansio.kernel.machine import Table
from amqp_sansio.tables import branch as branch_rows
from amqp_sansio.tables import two_phase
from amqp_sansio.tables.session import ATTACHMENT
from tools.docs.pages import tables
from tools.witnesses import shared
from tools.witnesses.section import Section, automaton, told
from tools.witnesses.sections import ALONE, SECTIONS, TABLES_ALONE


def ids(section: Section) -> str:
    return section.name


@pytest.mark.parametrize("section", SECTIONS, ids=ids)
def test_table_and_grammar_are_the_same(section: Section) -> None:
    found = section.difference()
    assert found is None, told(found)


def test_every_table_has_a_grammar_or_a_reason() -> None:
    paired = {table.name for section in SECTIONS for table in section.tables}
    alone = {table.name for table in TABLES_ALONE}
    assert paired | alone == {table.name for table in tables()}
    assert not paired & alone
    assert all([*TABLES_ALONE.values(), *ALONE.values()])


def without(table: Table, number: int) -> Table:
    """The table without one of its rows."""
    return Table(table.name, table.initial, [row for at, row in enumerate(table.rows) if at != number])


def elsewhere(table: Table, number: int, state: str) -> Table:
    """The table with another end for one of its rows."""
    rows = [row._replace(next_state=state) if at == number else row for at, row in enumerate(table.rows)]
    return Table(table.name, table.initial, rows)


ONE_TABLE = [
    each for each in SECTIONS if len(each.tables) == 1 and not each.sessions and each.beside is None and each.rows is None
]
WHOLE_SEEN = [each for each in ONE_TABLE if each.tables[0] is not branch_rows.BRANCH]


@pytest.mark.parametrize("section", WHOLE_SEEN, ids=ids)
def test_a_row_that_is_missing_is_found(section: Section) -> None:
    (table,) = section.tables
    said = section.said()
    for number, row in enumerate(table.rows):
        assert not equivalent(automaton(without(table, number)).prefixes(), said), row


@pytest.mark.parametrize("section", WHOLE_SEEN, ids=ids)
def test_a_row_that_leads_elsewhere_is_found(section: Section) -> None:
    """Unless the other state is one in which exactly the same may be said."""
    (table,) = section.tables
    said = section.said()
    whole = automaton(table)
    behind = {state: automaton(table, state).prefixes() for state in table.states}
    assert equivalent(whole.prefixes(), said)
    for number, row in enumerate(table.rows):
        for state in table.states:
            if behind[state] != behind[row.next_state]:
                assert not equivalent(automaton(elsewhere(table, number, state)).prefixes(), said), (row, state)


def test_the_shortest_conversation_shows_a_difference() -> None:
    table = ATTACHMENT["client"]
    (number,) = [at for at, row in enumerate(table.rows) if row[:3] == ("requested", "server", "session.attached")]
    (section,) = [each for each in SECTIONS if each.tables == (table,)]
    wrong = section._replace(tables=(without(table, number),))
    found = wrong.difference()
    assert found == Difference(("client:session.attach", "server:session.attached"), False)
    assert told(found) == (
        "the grammar takes, and the table refuses:\n      client:session.attach\n      server:session.attached"
    )
    assert told(None) == "the same"


def test_a_branch_of_one_session_is_the_table_itself() -> None:
    named = renamed(shared.automaton(SESSION), lambda word: word)
    assert equivalent(named.prefixes(), automaton(branch_rows.BRANCH).prefixes())


# What a manager asks of a participant that answers as a coordinator does is legal for the coordinator.
def test_two_phase_commit_asks_what_a_coordinator_takes() -> None:
    honest = (two_phase.OK, two_phase.RDONLY, two_phase.RBROLLBACK, two_phase.RBTIMEOUT)
    table = two_phase.TWO_PHASE
    rows = [
        row
        for row in table.rows
        if row.speaker == two_phase.MANAGER
        or row.verb in honest
        or (row.state, row.verb) in ((two_phase.COMMITTING, two_phase.HEUR), (two_phase.FORGETTING, two_phase.OK))
    ]
    verbs = {
        two_phase.PREPARE: "prepare",
        two_phase.COMMIT: "commit",
        two_phase.COMMIT_ONE_PHASE: "commit(one-phase)",
        two_phase.ROLLBACK: "rollback",
        two_phase.FORGET: "forget",
    }

    def heard(word: str) -> str | None:
        speaker, _, verb = word.partition(":")
        return f"session:{verbs[verb]}" if speaker == two_phase.MANAGER else None

    asked = renamed(automaton(Table(table.name, table.initial, rows)), heard)
    assert set(asked.alphabet) == {f"session:{verb}" for verb in verbs.values()}
    taken = renamed(branch(), lambda word: word if word.startswith("session:") else None)
    at = taken.run(["session:start", "session:end"])
    assert at is not None
    rest = explore(at, taken.moves.__getitem__, taken.finals.__contains__)
    assert difference(asked, rest.prefixes()).empty
