"""Generated conversations and the rows that they go through."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.grammar.walks import Sampler
from amqp_sansio.kernel.machine import Machine, Row, Table
from tools.docs.pages import tables
from tools.witnesses.__main__ import main
from tools.witnesses.coverage import Count, Follower, coverage, generated, paths, report, sources
from tools.witnesses.section import Section, automaton
from tools.witnesses.sections import SECTIONS

ONE_TABLE = [section for section in SECTIONS if len(section.tables) == 1 and not (section.sessions or section.rows)]


def test_every_row_of_every_table_is_gone_through() -> None:
    counts = coverage()
    assert {count.table.name for count in counts} == {table.name for table in tables()}
    assert [(count.table.name, count.missing) for count in counts if count.missing] == []
    assert all(count.taken == count.total for count in counts)


def test_the_command_tells_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--lengths", "10"]) == 0
    told = capsys.readouterr().out
    assert "  connection: the same\n" in told
    assert "96 of   96 rows" in told


# A random conversation of the grammar is taken by the machine, word by word; a word that is not legal behind it is
# refused, moves nothing, and the refusal lists what the grammar has there.
@given(st.sampled_from(ONE_TABLE), st.integers(0, 2**32), st.integers(0, 80))
def test_machines_take_what_is_legal_and_refuse_the_rest(section: Section, seed: int, length: int) -> None:
    language = section.said()
    (table,) = section.tables
    said = Sampler(language).word(length, Random(seed).randrange)
    if said is None:
        return
    machine = Machine(table)
    state: int | None = 0
    for word in said:
        speaker, _, verb = word.partition(":")
        assert state is not None
        if section.beside is None:
            assert set(machine.legal) == set(language.legal(state))
        assert machine.step(speaker, verb) is None
        state = language.step(state, word)
    assert state is not None
    before = machine.states
    for word in set(automaton(table).alphabet) - set(language.legal(state)):
        speaker, _, verb = word.partition(":")
        if section.beside is not None and machine.can(speaker, verb):
            continue  # what memory forbids
        refusal = machine.step(speaker, verb)
        assert refusal is not None
        assert machine.states == before
        assert refusal.said == word
        if section.beside is None:
            assert set(refusal.legal) == set(language.legal(state))


LAMP = Table("lamp", "off", [Row("off", "x", "press", "on"), Row("on", "x", "press", "off"), Row("broken", "x", "mend", "off")])


def test_a_follower_remembers_rows() -> None:
    follower = Follower(LAMP)
    assert follower.follow(["x:press", "x:press", "x:mend", "x:press"]) == "x:mend"
    assert follower.count() == Count(LAMP, 1, 2, (LAMP.rows[2],))
    assert sources(LAMP) == ["off", "broken"]
    assert follower.follow(["x:mend"], "broken") is None
    assert follower.count().missing == ()
    assert report([Count(LAMP, 1, 2, (LAMP.rows[2],))]).splitlines() == [
        "   2 of    3 rows in     1 conversations: lamp",
        "          not in: broken x:mend",
    ]


def test_a_table_that_refuses_a_conversation_of_its_grammar_is_named() -> None:
    (section,) = [each for each in SECTIONS if each.name == "file: publishing"]
    silent = Table("silent", "a", [Row("a", "client", "file.publish", "b"), Row("b", "server", "file.return", "b")])
    assert coverage([section])[0].missing == ()
    said = generated(paths(section, section.tables[0]), [5], Random(1))
    assert [each for each in said if Follower(silent).follow(each) == "client:file.publish"]
