"""Operations on languages: concatenation, union and interleaving."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

from amqp_sansio.grammar.automaton import START, Automaton, Word, explore

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
    result = NOTHING
    for choice in choices:
        result = _pairs(result, _of(choice), lambda left, right: left or right)
    return result


def sequence(*parts: Automaton | Word) -> Automaton:
    """Returns the conversations of all parts one after the other (concatenation)."""
    result = SILENCE
    for part in parts:
        result = _concatenated(result, _of(part))
    return result


def repeated(part: Automaton | Word) -> Automaton:
    """Returns any number of conversations of `part`, including none (star)."""
    inner = _of(part)
    # A state is a set of states of `inner`; it contains the first one wherever a new round may begin.
    start = frozenset([START])

    def moves(at: frozenset[int]) -> dict[Word, frozenset[int]]:
        followers = _followers(inner, at)
        return {
            text: frozenset(states | {START}) if states & inner.finals else frozenset(states)
            for text, states in followers.items()
        }  # fmt: skip

    # Wherever a round may begin, the conversation may end; but a first state that words lead back to must not count.
    marked = explore(
        (start, True),
        lambda at: {text: (states, bool(states & inner.finals)) for text, states in moves(at[0]).items()},
        lambda at: at[1],
    )
    return marked.minimal()


def optional(part: Automaton | Word) -> Automaton:
    """Returns the conversations of `part`, and the empty one."""
    return one_of(SILENCE, part)


def interleaved(*parts: Automaton | Word) -> Automaton:
    """Returns all interleavings of one conversation of each part (shuffle)."""
    result = SILENCE
    for part in parts:
        result = _shuffled(result, _of(part))
    return result


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

    Without a bound it would have to count, and be no regular language.  Raises ValueError unless `most` is at least 1.
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
    return _pairs(left, right, lambda one, other: one != other)


def renamed(language: Automaton, name: Callable[[Word], Word | None]) -> Automaton:
    """Returns the language with renamed words; a word that becomes None is dropped."""

    def closed(states: Iterable[int]) -> frozenset[int]:
        known = set(states)
        waiting = list(known)
        while waiting:
            for text, to in language.moves[waiting.pop()].items():
                if name(text) is None and to not in known:
                    known.add(to)
                    waiting.append(to)
        return frozenset(known)

    def moves(at: frozenset[int]) -> dict[Word, frozenset[int]]:
        found: dict[Word, set[int]] = {}
        for state in at:
            for text, to in language.moves[state].items():
                new = name(text)
                if new is not None:
                    found.setdefault(new, set()).add(to)
        return {text: closed(states) for text, states in found.items()}

    return explore(closed([START]), moves, lambda at: bool(at & language.finals)).minimal()


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


def _followers(language: Automaton, at: frozenset[int]) -> dict[Word, set[int]]:
    found: dict[Word, set[int]] = {}
    for state in at:
        for text, to in language.moves[state].items():
            found.setdefault(text, set()).add(to)
    return found


def _concatenated(left: Automaton, right: Automaton) -> Automaton:
    def entered(state: int) -> frozenset[int]:
        return frozenset([START]) if state in left.finals else frozenset()

    def moves(at: tuple[int | None, frozenset[int]]) -> dict[Word, tuple[int | None, frozenset[int]]]:
        ours = left.moves[at[0]] if at[0] is not None else {}
        theirs = _followers(right, at[1])
        found: dict[Word, tuple[int | None, frozenset[int]]] = {}
        for text in ours.keys() | theirs.keys():
            to = ours.get(text)
            states = frozenset(theirs.get(text, ()))
            found[text] = (to, states if to is None else states | entered(to))
        return found

    start: tuple[int | None, frozenset[int]] = (START, entered(START))
    return explore(start, moves, lambda at: bool(at[1] & right.finals)).minimal()


def _shuffled(left: Automaton, right: Automaton) -> Automaton:
    def moves(at: frozenset[tuple[int, int]]) -> dict[Word, frozenset[tuple[int, int]]]:
        found: dict[Word, set[tuple[int, int]]] = {}
        for one, other in at:
            for text, to in left.moves[one].items():
                found.setdefault(text, set()).add((to, other))
            for text, to in right.moves[other].items():
                found.setdefault(text, set()).add((one, to))
        return {text: frozenset(states) for text, states in found.items()}

    start = frozenset([(START, START)])
    return explore(
        start, moves, lambda at: any(one in left.finals and other in right.finals for one, other in at)
    ).minimal()  # fmt: skip
