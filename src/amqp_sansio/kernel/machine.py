"""State tables in the third person and the machines that run them.

A row says: in this state this speaker may send this verb, which leads to that state.  The same rows serve a client, a server
and an observer that is neither; the fault of a refused word is its speaker's.  Knows no AMQP.
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
    """`speaker` may not send `verb` in any of `states`; `legal` lists the legal words of both sides there, as
    "speaker:verb"."""

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
        """Returns the verbs that `speaker` may send there."""
        return spoken_by(speaker, self.legal)


class Table:
    """A named set of rows with one initial state.  Deterministic: a second row for the same words raises ValueError.

    `final` names the states in which the dialogue may end; `states` holds every state in order of appearance.
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
        """True when the dialogue may end here: every possible state is a final one."""
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
        """True when it is in one state, in which `speaker` may send `verb` without leaving it."""
        states = self.states
        return len(states) == 1 and self.table.moves.get((states[0], speaker, verb)) == states[0]

    def step(self, speaker: str, verb: str) -> Refusal | None:
        """Takes the word `verb` of `speaker`: moves and returns None, or stays and returns what would have been legal."""
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
        """Moves to the states of a snapshot.  Raises TypeError or ValueError for anything else."""
        if not isinstance(states, tuple) or not states or not set(states) <= set(self.table.states):
            raise ValueError(f"states {states!r:.80} of {self.table.name}")
        self.states = states
        return self

    def forget(self) -> None:
        """Makes every state possible again, after a gap."""
        self.states = self.table.states

    def __repr__(self) -> str:
        return f"<Machine {self.table.name} in {self.state}>"
