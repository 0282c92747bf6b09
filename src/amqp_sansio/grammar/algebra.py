"""Operations on languages: concatenation, union and interleaving."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

from amqp_sansio.grammar.automaton import START, Automaton, Word, explore

Pair: TypeAlias = tuple[int | None, int | None]

NOTHING: Final = Automaton([{}], ())
"""The language of no conversation at all."""

SILENCE: Final = Automaton([{}], (START,))
"""The language of the empty conversation."""


def word(text: Word) -> Automaton:
    """The language of one word, said once."""
    return Automaton([{text: 1}, {}], (1,))


def words(*texts: Word) -> Automaton:
    """The language of these words, each said once, in this order."""
    return Automaton([*[{text: number + 1} for number, text in enumerate(texts)], {}], (len(texts),))


def one_of(*choices: Automaton | Word) -> Automaton:
    """The conversations of any of them (union)."""
    result = NOTHING
    for choice in choices:
        result = _pairs(result, _of(choice), lambda left, right: left or right)
    return result


def sequence(*parts: Automaton | Word) -> Automaton:
    """A conversation of each, one behind the other (concatenation)."""
    result = SILENCE
    for part in parts:
        result = _concatenated(result, _of(part))
    return result


def repeated(part: Automaton | Word) -> Automaton:
    """Any number of its conversations, none included, one behind the other (star)."""
    inner = _of(part)
    # A set of states of `inner`; its first state is in it wherever a new round may begin.
    start = frozenset([START])

    def moves(at: frozenset[int]) -> dict[Word, frozenset[int]]:
        followers = _followers(inner, at)
        return {
            text: frozenset(states | {START}) if states & inner.finals else frozenset(states)
            for text, states in followers.items()
        }  # fmt: skip

    # Where a round may begin the conversation may end; a first state that words lead back to must not count as one.
    marked = explore(
        (start, True),
        lambda at: {text: (states, bool(states & inner.finals)) for text, states in moves(at[0]).items()},
        lambda at: at[1],
    )
    return marked.minimal()


def optional(part: Automaton | Word) -> Automaton:
    """One of its conversations, or nothing."""
    return one_of(SILENCE, part)


def interleaved(*parts: Automaton | Word) -> Automaton:
    """One conversation of each at the same time: the words of each in their order, mixed in any way (shuffle)."""
    result = SILENCE
    for part in parts:
        result = _shuffled(result, _of(part))
    return result


def without(language: Automaton, *left_out: Word) -> Automaton:
    """The conversations without these words."""
    moves = [{word: to for word, to in each.items() if word not in left_out} for each in language.moves]
    return Automaton(moves, language.finals).minimal()


def together(*parts: Automaton) -> Automaton:
    """All of them at once: every word is legal for each that knows it.

    A part knows a word when it has it anywhere, on a way that the others do not allow too.
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
    """Any number of questions, each answered by one of `answers`, at most `most` of them unanswered at any time.

    With no bound that is counting and no regular language.  Raises ValueError unless `most` is at least 1.
    """
    if most < 1:
        raise ValueError(f"most must be at least 1, not {most}")
    moves: list[dict[Word, int]] = [{} for _ in range(most + 1)]
    for waiting in range(most):
        moves[waiting][ask] = waiting + 1
        moves[waiting + 1].update(dict.fromkeys(answers, waiting))
    return Automaton(moves, (START,))


def difference(left: Automaton, right: Automaton) -> Automaton:
    """The conversations of `left` that are none of `right`."""
    return _pairs(left, right, lambda one, other: one and not other)


def either(left: Automaton, right: Automaton) -> Automaton:
    """The conversations of exactly one of the two (symmetric difference)."""
    return _pairs(left, right, lambda one, other: one != other)


def renamed(language: Automaton, name: Callable[[Word], Word | None]) -> Automaton:
    """The language with other words; a word that becomes None is skipped."""

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
    """Both side by side, over both alphabets; a side that refused a word is dead (None) from there on."""

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
