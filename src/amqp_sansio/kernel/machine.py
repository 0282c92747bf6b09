"""State tables in the third person and the machines that run them.

A row says: in this state this speaker may send this verb, which leads to that state.  A word is a speaker with a verb,
"speaker:verb" in texts.  The same rows serve a client, a server and an observer that is neither; when a machine refuses a word,
the fault is its speaker's.  This module knows no AMQP.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple, Self


class Row(NamedTuple):
    """In `state`, `speaker` may send `verb`, which leads to `next_state`."""

    state: str
    speaker: str
    verb: str
    next_state: str


def spoken_by(speaker: str, words: Iterable[str]) -> tuple[str, ...]:
    """Returns the verbs of one speaker among words of the form "speaker:verb"."""
    prefix = f"{speaker}:"
    return tuple([word.removeprefix(prefix) for word in words if word.startswith(prefix)])


class Refusal(NamedTuple):
    """`speaker` may not send `verb` in any of `states` of `table`.

    `legal` lists the words that both sides may send in these states, as "speaker:verb".
    """

    table: str
    states: tuple[str, ...]
    speaker: str
    verb: str
    legal: tuple[str, ...]

    @property
    def said(self) -> str:
        """The refused word, as "speaker:verb"."""
        return f"{self.speaker}:{self.verb}"

    def legal_for(self, speaker: str) -> tuple[str, ...]:
        """Returns the verbs that `speaker` may send instead."""
        return spoken_by(speaker, self.legal)


class Table:
    """A named set of rows with one initial state.

    `final` names the states in which the conversation may end; `states` holds every state in order of appearance.  Raises
    ValueError for two rows with the same state, speaker and verb, and for a final state without a row.
    """

    __slots__ = ("_legal", "final", "initial", "moves", "name", "rows", "states")

    def __init__(self, name: str, initial: str, rows: Iterable[Row], final: Iterable[str] = ()) -> None:
        self.name: Final = name
        self.initial: Final = initial
        self.rows: Final = tuple(rows)
        self.final: Final = frozenset(final)
        moves: dict[tuple[str, str, str], str] = {}
        states: dict[str, None] = {initial: None}
        legal: dict[str, list[str]] = {}
        for state, speaker, verb, next_state in self.rows:
            if (state, speaker, verb) in moves:
                raise ValueError(f"table {name}: two rows for {speaker}:{verb} in state {state}")
            moves[state, speaker, verb] = next_state
            states[state] = states[next_state] = None
            legal.setdefault(state, []).append(f"{speaker}:{verb}")
        unknown = self.final.difference(states)
        if unknown:
            raise ValueError(f"table {name}: no row mentions the final states {sorted(unknown)}")
        self.moves: Final = moves
        """The next state, by state, speaker and verb."""
        self.states: Final = tuple(states)
        self._legal: Final = {state: tuple(words) for state, words in legal.items()}

    def legal(self, states: Iterable[str]) -> tuple[str, ...]:
        """Returns the legal words in any of `states`, as "speaker:verb", in the order of the rows."""
        words: dict[str, None] = {}
        for state in states:
            words.update(dict.fromkeys(self._legal.get(state, ())))
        return tuple(words)

    def __repr__(self) -> str:
        return f"<Table {self.name}: {len(self.states)} states, {len(self.rows)} rows>"


class Machine:
    """A position in a table: one state or, for a late observer, all states that are still possible.

    It refuses only what is legal in none of them, and a refusal does not move it.  `states` is a plain value: `Machine(table,
    machine.states)` is at the same position.
    """

    __slots__ = ("states", "table")

    def __init__(self, table: Table, states: tuple[str, ...] = ()) -> None:
        self.table: Final = table
        self.states: tuple[str, ...] = states or (table.initial,)

    @classmethod
    def unknown(cls, table: Table) -> Self:
        """Returns the machine of a late observer: every state is possible."""
        return cls(table, table.states)

    @property
    def state(self) -> str:
        """The state; several possible ones are joined by "|"."""
        return "|".join(self.states)

    @property
    def finished(self) -> bool:
        """Whether the conversation may end here: every possible state is a final one."""
        return self.table.final.issuperset(self.states)

    @property
    def legal(self) -> tuple[str, ...]:
        """The words that are legal now, as "speaker:verb"."""
        return self.table.legal(self.states)

    def can(self, speaker: str, verb: str) -> bool:
        """Whether `speaker` may send `verb` now."""
        moves = self.table.moves
        return any((state, speaker, verb) in moves for state in self.states)

    def stays(self, speaker: str, verb: str) -> bool:
        """Whether `verb` of `speaker` is legal and changes nothing; False when several states are possible."""
        states = self.states
        return len(states) == 1 and self.table.moves.get((states[0], speaker, verb)) == states[0]

    def step(self, speaker: str, verb: str) -> Refusal | None:
        """Takes the word `verb` of `speaker`: moves and returns None, or stays where it is and returns the refusal."""
        moves = self.table.moves
        states = self.states
        if len(states) == 1:
            state = moves.get((states[0], speaker, verb))
            if state is not None:
                if state is not states[0]:
                    self.states = (state,)
                return None
        else:
            reached = {moves[state, speaker, verb]: None for state in states if (state, speaker, verb) in moves}
            if reached:
                self.states = tuple(reached)
                return None
        return Refusal(self.table.name, states, speaker, verb, self.table.legal(states))

    def restore(self, states: object) -> Self:
        """Moves to the states of a snapshot.  Raises TypeError or ValueError for anything but states of the table."""
        if not isinstance(states, tuple) or not states or not set(states) <= set(self.table.states):
            raise ValueError(f"table {self.table.name} has no states {states!r:.80}")
        self.states = states
        return self

    def forget(self) -> None:
        """Makes every state possible, because words were missed."""
        self.states = self.table.states

    def __repr__(self) -> str:
        return f"<Machine {self.table.name} in {self.state}>"
