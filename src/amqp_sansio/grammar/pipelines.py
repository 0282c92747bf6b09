"""Questions that may be asked before the ones before them are answered, and answers that come in the order of the questions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from amqp_sansio.grammar.algebra import optional, repeated, sequence, together
from amqp_sansio.grammar.automaton import START, Automaton, Word, explore
from amqp_sansio.grammar.notation import Question

Asked: TypeAlias = tuple[Word, ...]


def in_order(questions: Iterable[Question], most: int = 2) -> Automaton:
    """What one side asks and the other answers: answers in the order of the questions, at most `most` owed at any time.

    What needs no answer may be said at any time.  With no bound it is no regular language.  Raises ValueError unless `most`
    is at least 1.
    """
    if most < 1:
        raise ValueError(f"most must be at least 1, not {most}")
    answers = {each.word: each.answers for each in questions}

    def moves(owed: Asked) -> Mapping[Word, Asked]:
        found: dict[Word, Asked] = {}
        if owed:
            found.update(dict.fromkeys(answers[owed[0]], owed[1:]))
        for ask, replies in answers.items():
            if not replies:
                found[ask] = owed
            elif len(owed) < most:
                found[ask] = (*owed, ask)
        return found

    start: Asked = ()
    return explore(start, moves, lambda owed: not owed)


def counted(ask: Word, answer: Word, most: int = 2) -> Automaton:
    """At most `most` of what was said are not answered yet, and nothing is answered that was not said; none need be answered."""
    moves: list[dict[Word, int]] = [{} for _ in range(most + 1)]
    for waiting in range(most):
        moves[waiting][ask] = waiting + 1
        moves[waiting + 1][answer] = waiting
    return Automaton(moves, range(START, most + 1))


def lives(opening: Automaton, said: Iterable[Automaton]) -> Automaton:
    """One life behind the other, each begun as `opening` says and bound by everything in `said`."""
    return repeated(together(opening, *said))


def behind(first: Word, *rest: Word) -> Automaton:
    """None of `rest` comes before `first`, which comes once."""
    return optional(sequence(first, repeated(optional_of(rest))))


def optional_of(texts: Iterable[Word]) -> Automaton:
    """One of them, or nothing."""
    return Automaton([dict.fromkeys(texts, 1), {}], (START, 1))
