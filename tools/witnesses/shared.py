"""One branch and several sessions, derived from the rows: each session's machine is in the branch's standing towards it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from amqp_sansio.grammar.automaton import Automaton, Word, explore
from amqp_sansio.tables.branch import ADMINISTRATOR, BRANCH, CLOCK, SESSION, STANDINGS, UNKNOWN, Phase, Relation, Standing

_BY_NAME: Final = {standing.name: standing for standing in STANDINGS}
_WORDS: Final = tuple(dict.fromkeys((row.speaker, row.verb) for row in BRANCH.rows))


class Shared(NamedTuple):
    """The phase of a branch, and each session's relation to it: NOBODY, HERE or SUSPENDED."""

    phase: Phase
    parts: tuple[Relation, ...]

    def standing(self, session: int) -> Standing:
        """Returns the standing of the branch towards one session."""
        own = self.parts[session]
        if own is Relation.NOBODY and any(part is not Relation.NOBODY for part in self.parts):
            own = Relation.ELSEWHERE
        return Standing(self.phase, own)

    def after(self, session: int, name: str) -> Shared:
        """Returns the result when the branch now has this standing towards one session."""
        phase, relation = _BY_NAME[name]
        if phase is Phase.UNKNOWN:
            return begin(len(self.parts))
        own = Relation.NOBODY if relation is Relation.ELSEWHERE else relation
        return Shared(phase, (*self.parts[:session], own, *self.parts[session + 1 :]))


def begin(sessions: int) -> Shared:
    """Returns the state of an unknown branch."""
    return Shared(UNKNOWN.phase, (Relation.NOBODY,) * sessions)


def moves(at: Shared, sessions: tuple[str, ...]) -> Iterator[tuple[Word, tuple[str, str, str], Shared]]:
    """Yields the legal words: the word, the row (state, speaker, verb) of the session concerned, and the result."""
    for number, session in enumerate(sessions):
        state = at.standing(number).name
        for speaker, verb in _WORDS:
            then = BRANCH.moves.get((state, speaker, verb))
            if then is not None:
                word = f"{session if speaker == SESSION else speaker}:{verb}"
                yield word, (state, speaker, verb), at.after(number, then)


def automaton(sessions: tuple[str, ...]) -> Automaton:
    """Returns the conversations that the rows accept; they may break off anywhere.

    Raises AssertionError when the clock or the administrator leads sessions to different states.
    """

    def found(at: Shared) -> dict[Word, Shared]:
        known: dict[Word, Shared] = {}
        for word, _, then in moves(at, sessions):
            assert known.setdefault(word, then) == then, f"{word} in {at}: {then} or {known[word]}"
        return known

    return explore(begin(len(sessions)), found, lambda _: True)


def rows(sessions: tuple[str, ...], said: Iterable[Word]) -> tuple[set[tuple[str, str, str]], Word | None]:
    """Returns the rows that a conversation covers for any session, and the first word that is refused."""
    at = begin(len(sessions))
    taken: set[tuple[str, str, str]] = set()
    for word in said:
        steps = [(row, then) for text, row, then in moves(at, sessions) if text == word]
        if not steps:
            return taken, word
        taken.update([row for row, _ in steps])
        at = steps[0][1]
    return taken, None


__all__ = ["ADMINISTRATOR", "CLOCK", "Shared", "automaton", "begin", "moves", "rows"]
