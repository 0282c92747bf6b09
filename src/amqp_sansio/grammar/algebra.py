"""Operations on languages: concatenation, union and interleaving."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import reduce
from operator import ne, or_
from typing import Final, TypeAlias, TypeVar

from amqp_sansio.grammar.automaton import START, Automaton, Word, explore

World = TypeVar("World", bound=Hashable)
Pair: TypeAlias = tuple[int | None, int | None]

NOTHING: Final = Automaton([{}], ())
"""The empty language: it accepts no conversation."""

SILENCE: Final = Automaton([{}], (START,))
"""The language of the empty conversation."""


def word(text: Word) -> Automaton:
    """Returns the language of one word, said once."""
    return Automaton([{text: 1}, {}], (1,))


def words(*texts: Word) -> Automaton:
    """Returns the language of these words in this order, each said once."""
    return Automaton([*[{text: number + 1} for number, text in enumerate(texts)], {}], (len(texts),))


def one_of(*choices: Automaton | Word) -> Automaton:
    """Returns the conversations of any of them (union)."""
    return reduce(lambda one, other: _pairs(one, other, or_), map(_of, choices), NOTHING)


def sequence(*parts: Automaton | Word) -> Automaton:
    """Returns the conversations of all parts one after the other (concatenation)."""
    return reduce(_concatenated, map(_of, parts), SILENCE)


def repeated(part: Automaton | Word) -> Automaton:
    """Returns any number of conversations of `part`, including none (star)."""
    inner = _of(part)

    def after(at: int | None) -> Iterator[tuple[Word, int]]:
        if at is not None:
            yield from inner.moves[at].items()
        if ends(at):
            yield from inner.moves[START].items()

    def ends(at: int | None) -> bool:
        return at is None or at in inner.finals

    return any_of(None, after, ends)  # None: nothing said, which is not the first state where words lead back to that


def optional(part: Automaton | Word) -> Automaton:
    """Returns the conversations of `part`, and the empty one."""
    return one_of(SILENCE, part)


def interleaved(*parts: Automaton | Word) -> Automaton:
    """Returns all interleavings of one conversation of each part (shuffle)."""
    return reduce(_shuffled, map(_of, parts), SILENCE)


def without(language: Automaton, *left_out: Word) -> Automaton:
    """Returns the conversations that contain none of these words."""
    moves = [{word: to for word, to in each.items() if word not in left_out} for each in language.moves]
    return Automaton(moves, language.finals).minimal()


def together(*parts: Automaton) -> Automaton:
    """Returns the conversations whose every word is legal in each part that knows it.

    A part knows a word that occurs in it anywhere, even where the other parts forbid it.
    """
    known = [frozenset(part.alphabet) for part in parts]
    every = sorted(frozenset().union(*known))

    def moves(at: tuple[int, ...]) -> dict[Word, tuple[int, ...]]:
        found: dict[Word, tuple[int, ...]] = {}
        for text in every:
            to = [
                part.step(state, text) if text in own else state for part, state, own in zip(parts, at, known, strict=True)
            ]  # fmt: skip
            reached = tuple([state for state in to if state is not None])
            if len(reached) == len(parts):
                found[text] = reached
        return found

    start = (START,) * len(parts)
    return explore(
        start, moves, lambda at: all(state in part.finals for part, state in zip(parts, at, strict=True))
    ).minimal()  # fmt: skip


def answered(ask: Word, *answers: Word, most: int = 1) -> Automaton:
    """Returns any number of questions, each answered by one of `answers`, with at most `most` unanswered at a time.

    Without a bound it would have to count, and would not be a regular language.  Raises ValueError unless `most` is at least 1.
    """
    if most < 1:
        raise ValueError(f"most must be at least 1, not {most}")
    moves: list[dict[Word, int]] = [{} for _ in range(most + 1)]
    for waiting in range(most):
        moves[waiting][ask] = waiting + 1
        moves[waiting + 1].update(dict.fromkeys(answers, waiting))
    return Automaton(moves, (START,))


def difference(left: Automaton, right: Automaton) -> Automaton:
    """Returns the conversations of `left` that are not in `right`."""
    return _pairs(left, right, lambda one, other: one and not other)


def either(left: Automaton, right: Automaton) -> Automaton:
    """Returns the conversations of exactly one of the two (symmetric difference)."""
    return _pairs(left, right, ne)


def renamed(language: Automaton, name: Callable[[Word], Word | None]) -> Automaton:
    """Returns the language with renamed words; a word that becomes None is dropped."""

    def silently(at: int) -> list[int]:
        """Returns the state, and those that dropped words lead to from there."""
        known = [at]
        for state in known:
            dropped = [to for text, to in language.moves[state].items() if name(text) is None]
            known += [to for to in dict.fromkeys(dropped) if to not in known]
        return known

    def after(at: int) -> Iterator[tuple[Word, int]]:
        for state in silently(at):
            for text, to in language.moves[state].items():
                new = name(text)
                if new is not None:
                    yield new, to

    return any_of(START, after, lambda at: not language.finals.isdisjoint(silently(at)))


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


def _of(part: Automaton | Word) -> Automaton:
    return word(part) if isinstance(part, str) else part


def _pairs(left: Automaton, right: Automaton, wanted: Callable[[bool, bool], bool]) -> Automaton:
    """Runs both side by side, over both alphabets; a side that refused a word is dead (None) from there on."""

    def moves(at: Pair) -> dict[Word, Pair]:
        ours = left.moves[at[0]] if at[0] is not None else {}
        theirs = right.moves[at[1]] if at[1] is not None else {}
        return {text: (ours.get(text), theirs.get(text)) for text in ours.keys() | theirs.keys()}

    start: Pair = (START, START)
    return explore(start, moves, lambda at: wanted(at[0] in left.finals, at[1] in right.finals)).minimal()


def _concatenated(left: Automaton, right: Automaton) -> Automaton:
    def after(at: tuple[bool, int]) -> Iterator[tuple[Word, tuple[bool, int]]]:
        over, state = at  # whether the left part is over
        if not over:
            yield from [(text, (False, to)) for text, to in left.moves[state].items()]
        if over or state in left.finals:
            yield from [(text, (True, to)) for text, to in right.moves[state if over else START].items()]

    def ends(at: tuple[bool, int]) -> bool:
        over, state = at
        return state in right.finals if over else state in left.finals and START in right.finals

    return any_of((False, START), after, ends)


def _shuffled(left: Automaton, right: Automaton) -> Automaton:
    def after(at: tuple[int, int]) -> Iterator[tuple[Word, tuple[int, int]]]:
        one, other = at
        yield from [(text, (to, other)) for text, to in left.moves[one].items()]
        yield from [(text, (one, to)) for text, to in right.moves[other].items()]

    return any_of((START, START), after, lambda at: at[0] in left.finals and at[1] in right.finals)
