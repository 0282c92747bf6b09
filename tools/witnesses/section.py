"""A section: tables and the grammar that must be the same language, and how several tables are combined."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import NamedTuple

from amqp_sansio.grammar import connection
from amqp_sansio.grammar.algebra import together
from amqp_sansio.grammar.automaton import Automaton, Word, explore
from amqp_sansio.grammar.walks import Difference, shortest_difference
from amqp_sansio.kernel.machine import Table
from amqp_sansio.tables import connection as connection_rows
from tools.witnesses import shared


def automaton(table: Table, start: str = "") -> Automaton:
    """Returns the conversations that a table accepts from its initial state (or `start`) on; they may break off anywhere."""
    rows: dict[str, dict[Word, str]] = {}
    for row in table.rows:
        rows.setdefault(row.state, {})[f"{row.speaker}:{row.verb}"] = row.next_state
    return explore(start or table.initial, lambda state: rows.get(state, {}), lambda _: True)


def spread(language: Automaton, word: Word, over: Iterable[Word]) -> Automaton:
    """Returns the language with any of `over` wherever it has `word`, for a machine that distinguishes fewer words."""
    texts = tuple(over)
    moves = [
        {text: to for said, to in each.items() for text in (texts if said == word else (said,))} for each in language.moves
    ]  # fmt: skip
    return Automaton(moves, language.finals)


@cache
def _beginnings(grammar: Callable[[], Automaton]) -> Automaton:
    """Returns the prefixes of a grammar's language; cached, because it takes long and has many callers."""
    return grammar().prefixes()


class Section(NamedTuple):
    """`tables` together must accept the prefixes of the conversations of `grammar`, where `beside` allows them.

    `beside` is what the tables leave to memory; `reason` explains why.
    """

    name: str
    tables: tuple[Table, ...]
    grammar: Callable[[], Automaton]
    beside: Callable[[], Automaton] | None = None
    reason: str = ""
    rows: Callable[[], Automaton] | None = None
    """How the tables become one automaton, where that is not their product."""
    sessions: tuple[str, ...] = ()
    """The speakers, where several sessions follow one table at the same time (`shared`)."""

    def run(self) -> Automaton:
        """Returns the language of the tables."""
        if self.sessions:
            language = shared.automaton(self.sessions)
        else:
            language = self.rows() if self.rows else together(*[automaton(table) for table in self.tables])
        return (together(language, self.beside()) if self.beside else language).prefixes()

    def said(self) -> Automaton:
        """Returns the language of the grammar, which may break off anywhere."""
        return _beginnings(self.grammar)

    def heard(self, table: Table, word: Word) -> Word | None:
        """Returns a word of the grammar as one of the tables knows it; None: not at all."""
        known = {f"{row.speaker}:{row.verb}" for row in table.rows}
        other = f"{word.partition(':')[0]}:{connection_rows.OTHER}"
        return word if word in known else other if other in known else None

    def difference(self) -> Difference | None:
        """Returns the shortest conversation on which they differ; `in_first`: the tables accept it."""
        return shortest_difference(self.run(), self.said())


def told(difference: Difference | None) -> str:
    """Describes a difference: which of the two accepts the conversation, and the conversation, one word per line."""
    if difference is None:
        return "the same"
    one, other = ("table", "grammar") if difference.in_first else ("grammar", "table")
    words = "".join(f"\n      {word}" for word in difference.conversation)
    return f"the {one} takes, and the {other} refuses:{words}"


def dialogue(rows: Table) -> Automaton:
    """Returns the three machines of a connection as `ConnectionDialogue` joins them; `rows` are the handshake's."""
    handshake = automaton(rows)
    closes: list[Automaton] = []
    for table in (connection_rows.CLOSE_BY_CLIENT, connection_rows.CLOSE_BY_SERVER):
        language = automaton(table)
        for speaker in (connection_rows.CLIENT, connection_rows.SERVER):
            own = [word for word in handshake.alphabet if word.startswith(f"{speaker}:") and word not in connection.closes()]
            language = spread(language, f"{speaker}:{connection_rows.OTHER}", own)
        closes.append(language)
    return together(handshake, *closes)
