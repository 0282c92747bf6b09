"""Requests that may be sent before earlier ones are answered, with answers in the order of the requests."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from typing import TypeAlias, TypeVar

from amqp_sansio.grammar.automaton import Automaton, Word, explore
from amqp_sansio.grammar.notation import Question

World = TypeVar("World", bound=Hashable)
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


def any_of(start: World, after: Callable[[World], Iterable[tuple[Word, World]]], final: Callable[[World], bool]) -> Automaton:
    """Returns the conversations that are possible in at least one of the worlds that `after` derives for each word.

    An observer between two speakers does not know what either has received yet, nor which of several questions is answered.
    """

    def moves(at: frozenset[World]) -> Mapping[Word, frozenset[World]]:
        found: dict[Word, set[World]] = {}
        for world in at:
            for text, then in after(world):
                found.setdefault(text, set()).add(then)
        return {text: frozenset(then) for text, then in found.items()}

    return explore(frozenset([start]), moves, lambda at: any(final(world) for world in at)).minimal()
