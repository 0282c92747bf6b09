"""Generates the page of the grammars: their sizes, what they are compared with, and why some have no counterpart."""

from __future__ import annotations

from typing import Final

from amqp_sansio.grammar import assembly, commands, message, session
from amqp_sansio.grammar.automaton import Automaton
from amqp_sansio.kernel.machine import Row, Table
from tools.docs.diagrams import svg
from tools.witnesses.section import told
from tools.witnesses.sections import ALONE, SECTIONS, TABLES_ALONE

DRAWN: Final = 12
"""The largest automaton that is drawn, in states."""

UNPAIRED: Final = {
    "execution": commands.execution("client"),
    "exchange": commands.exchange(),
    "queue": commands.queue(),
    "message: subscription": message.subscription_with_credit(),
    "session: life of a command id": session.life("sender", "receiver", result=True),
    "assembly": assembly.commands("sender"),
}


def table_of(name: str, language: Automaton) -> Table:
    """Returns an automaton as a table with numbers as states, so that it can be drawn."""
    rows: list[Row] = []
    for state, word, to in language.transitions:
        speaker, _, verb = word.partition(":")
        rows.append(Row(str(state), speaker, verb, str(to)))
    return Table(name, "0", rows, final=[str(state) for state in language.finals])


def _size(language: Automaton) -> tuple[str, str, str]:
    smallest = language.minimal()
    return str(smallest.size), str(len(smallest.transitions)), str(len(smallest.alphabet))


def _table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [f"| {' | '.join(each)} |" for each in (heads, ("---",) * len(heads), *rows)]
    return "\n".join(lines) + "\n"


def grammars_page() -> str:
    """Returns every section: the size of its grammar, and that it equals the tables.  Raises ValueError when one does not."""
    rows: list[tuple[str, ...]] = []
    for section in SECTIONS:
        difference = section.difference()
        if difference is not None:
            raise ValueError(f"{section.name}: {told(difference)}")
        tables = "; ".join([table.name for table in section.tables]) or "the words of the methods"
        rows.append((section.name, *_size(section.said()), tables, section.reason))
    alone: list[tuple[str, ...]] = [(name, *_size(UNPAIRED[name]), reason) for name, reason in ALONE.items()]
    parts = [
        "# Grammars\n\nThe conversations of the specification as minimal automata, compared with the tables when this\n"
        "page was made: both accept the same conversations, of any length. Sizes are those of the language of all prefixes,\n"
        "since a conversation may break off anywhere. See [what they are for](../topics/grammars.md).\n\n",
        _table(("section", "states", "moves", "words", "the same as the tables", "what is left to memory"), rows),
        "\n## Without a table\n\n",
        _table(("section", "states", "moves", "words", "why"), alone),
        "\n## Tables without a grammar\n\n",
        _table(("table", "why"), [(table.name, reason) for table, reason in TABLES_ALONE.items()]),
        "\n## Drawings\n\nNumbers identify states; in a state with a dashed border the conversation may end.\n",
    ]
    for name, language in UNPAIRED.items():
        smallest = language.minimal()
        if 1 < smallest.size <= DRAWN:
            parts.append(f"\n### {name}\n\n{svg(table_of(name, smallest))}\n")
    return "".join(parts)
