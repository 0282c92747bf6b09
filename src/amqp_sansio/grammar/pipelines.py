"""Requests that may be sent before earlier ones are answered, with answers in the order of the requests."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TypeAlias

from amqp_sansio.grammar.algebra import any_of
from amqp_sansio.grammar.automaton import Automaton, Word
from amqp_sansio.grammar.notation import Question

_Owed: TypeAlias = tuple[tuple[Word, ...], tuple[Word, ...]]
"""The questions whose answers come in order, and those that may be answered at any time, sorted."""


def in_order(questions: Iterable[Question], most: int = 2, any_time: Collection[str] = ()) -> Automaton:
    """Returns questions and answers: answers come in the order of the questions, those to `any_time` (verbs) at any time.

    At most `most` of each kind are unanswered; methods without an answer may come at any time.  Without a bound it would not be
    a regular language.  Raises ValueError unless `most` is at least 1.
    """
    if most < 1:
        raise ValueError(f"most must be at least 1, not {most}")
    answers = {each.word: each.answers for each in questions}
    free = {ask for ask in answers if ask.partition(":")[2] in any_time}

    def after(owed: _Owed) -> Iterable[tuple[Word, _Owed]]:
        first, loose = owed
        if first:
            yield from [(reply, (first[1:], loose)) for reply in answers[first[0]]]
        for number, ask in enumerate(loose):
            yield from [(reply, (first, (*loose[:number], *loose[number + 1 :]))) for reply in answers[ask]]
        for ask, replies in answers.items():
            if not replies:
                yield ask, owed
            elif ask in free and len(loose) < most:
                yield ask, (first, tuple(sorted([*loose, ask])))
            elif ask not in free and len(first) < most:
                yield ask, ((*first, ask), loose)

    nothing: _Owed = ((), ())
    return any_of(nothing, after, lambda owed: owed == nothing)
