"""Conversations drawn from an automaton: the shortest ones, random ones, and how much of the automaton they cover."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple, TypeAlias

from amqp_sansio.grammar.algebra import either
from amqp_sansio.grammar.automaton import START, Automaton, Word

Conversation: TypeAlias = tuple[Word, ...]
Below: TypeAlias = Callable[[int], int]
"""The caller's source of randomness: for n, a number from 0 to n - 1, each equally likely (`random.randrange`)."""


def shortest_to_each(language: Automaton, begun: int = START) -> dict[int, Conversation]:
    """Returns, for every reachable state, the shortest conversation that leads to it, the alphabetically first of those."""
    found: dict[int, Conversation] = {begun: ()}
    waiting = deque([begun])
    while waiting:
        state = waiting.popleft()
        for word in language.legal(state):
            to = language.moves[state][word]
            if to not in found:
                found[to] = (*found[state], word)
                waiting.append(to)
    return found


def shortest(language: Automaton) -> Conversation | None:
    """Returns the shortest conversation of the language; None when it is empty."""
    ends = [said for state, said in shortest_to_each(language).items() if state in language.finals]
    return min(ends, key=lambda said: (len(said), said), default=None)


class Difference(NamedTuple):
    """A conversation of one of two languages that is not in the other."""

    conversation: Conversation
    in_first: bool
    """Whether it is in the first language (else in the second)."""


def shortest_difference(first: Automaton, second: Automaton) -> Difference | None:
    """Returns the shortest conversation on which two languages differ; None when they are equal."""
    said = shortest(either(first, second))
    return None if said is None else Difference(said, first.accepts(said))


def transition_words(language: Automaton) -> dict[tuple[int, Word], Conversation]:
    """Returns, for every reachable move, the shortest conversation that ends with it."""
    ways = shortest_to_each(language)
    return {(state, word): (*way, word) for state, way in ways.items() for word in language.legal(state)}


class Sampler:
    """Uniform random conversations: all conversations of one length are equally likely.

    Keeps counts up to the longest length asked for: `size` numbers each.
    """

    __slots__ = ("_counts", "_language")

    def __init__(self, language: Automaton) -> None:
        self._language: Final = language
        self._counts: Final = [[int(state in language.finals) for state in range(language.size)]]

    def count(self, length: int) -> int:
        """Returns the number of conversations of exactly `length` words."""
        return self._to_go(length)[START]

    def word(self, length: int, below: Below) -> Conversation | None:
        """Returns a random conversation; None when there is none of that length."""
        if not self.count(length):
            return None
        said: list[Word] = []
        state = START
        for left in range(length - 1, -1, -1):
            counts = self._to_go(left)
            moves = self._language.moves[state]
            ticket = below(self._to_go(left + 1)[state])
            for text in sorted(moves):
                ticket -= counts[moves[text]]
                if ticket < 0:
                    said.append(text)
                    state = moves[text]
                    break
        return tuple(said)

    def _to_go(self, length: int) -> list[int]:
        """Returns, for each state, the number of ways to end after exactly `length` words."""
        while len(self._counts) <= length:
            last = self._counts[-1]
            self._counts.append([sum([last[to] for to in moves.values()]) for moves in self._language.moves])
        return self._counts[length]


class Coverage:
    """What a number of conversations has covered: states and moves of one automaton."""

    __slots__ = ("language", "moves", "refused", "states")

    def __init__(self, language: Automaton, said: Iterable[Conversation] = ()) -> None:
        self.language: Final = language
        self.states: Final[set[int]] = {START}
        self.moves: Final[set[tuple[int, Word]]] = set()
        self.refused = 0
        """The conversations with an illegal word; what came before it counts."""
        for each in said:
            self.add(each)

    def add(self, said: Conversation) -> None:
        """Follows one conversation."""
        state = START
        for text in said:
            to = self.language.step(state, text)
            if to is None:
                self.refused += 1
                return
            self.moves.add((state, text))
            self.states.add(to)
            state = to

    @property
    def missing(self) -> tuple[tuple[int, Word], ...]:
        """The reachable moves that were not taken, sorted."""
        return tuple(sorted(transition_words(self.language).keys() - self.moves))

    @property
    def complete(self) -> bool:
        """Whether every reachable move was taken."""
        return not self.missing

    def __repr__(self) -> str:
        every = len(transition_words(self.language))
        return f"<Coverage: {len(self.states)} of {self.language.size} states, {len(self.moves)} of {every} moves>"
