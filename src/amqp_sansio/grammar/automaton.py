"""Deterministic automata over words such as "client:session.attach".

An automaton reads words one by one, and refuses a word without a move; there is no stored dead state.  Automata are values: no
operation changes its operands.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Final, TypeAlias, TypeVar

Word: TypeAlias = str
State = TypeVar("State", bound=Hashable)

START: Final = 0
"""The number of the first state of every automaton."""


class Automaton:
    """States are the numbers 0 (the first) to `size` - 1; `moves[state]` maps each legal word to the next state.

    `finals` are the states in which a conversation may end.
    """

    __slots__ = ("finals", "moves")

    def __init__(self, moves: Iterable[Mapping[Word, int]], finals: Iterable[int]) -> None:
        """Raises ValueError for a move to a missing state, or a missing final state."""
        self.moves: Final = tuple([dict(each) for each in moves])
        self.finals: Final = frozenset(finals)
        size = len(self.moves)
        reached = {state for each in self.moves for state in each.values()} | self.finals
        if not size or any(not 0 <= state < size for state in reached):
            raise ValueError(f"states are the numbers 0 to {size - 1}, not {sorted(reached - set(range(size)))}")

    @property
    def size(self) -> int:
        """The number of states."""
        return len(self.moves)

    @property
    def alphabet(self) -> tuple[Word, ...]:
        """Every word that may ever come, sorted."""
        return tuple(sorted({word for each in self.moves for word in each}))

    @property
    def transitions(self) -> tuple[tuple[int, Word, int], ...]:
        """Every move as (state, word, next state), in order."""
        return tuple([(state, word, each[word]) for state, each in enumerate(self.moves) for word in sorted(each)])

    @property
    def empty(self) -> bool:
        """Whether it accepts no conversation."""
        return not any(state in self.finals for state in self.reachable())

    def step(self, state: int, word: Word) -> int | None:
        """Returns the state after `word`; None when it is illegal."""
        return self.moves[state].get(word)

    def legal(self, state: int) -> tuple[Word, ...]:
        """Returns the legal words in `state`, sorted."""
        return tuple(sorted(self.moves[state]))

    def run(self, words: Iterable[Word], state: int = START) -> int | None:
        """Returns the state after a conversation; None when one of its words is illegal."""
        at: int | None = state
        for word in words:
            if at is None:
                break
            at = self.moves[at].get(word)
        return at

    def accepts(self, words: Iterable[Word]) -> bool:
        """Returns whether a conversation is in the language: all of it is legal, and it may end there."""
        return self.run(words) in self.finals

    def reachable(self) -> list[int]:
        """Returns the reachable states, those with the shortest conversations first."""
        found = [START]
        known = {START}
        for state in found:
            for word in sorted(self.moves[state]):
                follower = self.moves[state][word]
                if follower not in known:
                    known.add(follower)
                    found.append(follower)
        return found

    def prefixes(self) -> Automaton:
        """Returns the language of all prefixes of its conversations: everything that is legal if it may break off anywhere."""
        trimmed = self.minimal()
        return Automaton(trimmed.moves, range(trimmed.size) if not trimmed.empty else ())

    def minimal(self) -> Automaton:
        """Returns the smallest automaton of the same language; it is equal for all automata of one language."""
        alive = self._alive()
        kept = [state for state in self.reachable() if state in alive]
        if not kept:
            return Automaton([{}], ())
        block = {state: int(state in self.finals) for state in kept}
        count = len(set(block.values()))
        while True:
            numbers: dict[Hashable, int] = {}
            refined: dict[int, int] = {}
            for state in kept:
                moves = frozenset([(word, block[to]) for word, to in self.moves[state].items() if to in alive])
                refined[state] = numbers.setdefault((block[state], moves), len(numbers))
            block = refined
            if len(numbers) == count:
                break
            count = len(numbers)
        return explore(
            block[START],
            {
                block[state]: {word: block[to] for word, to in self.moves[state].items() if to in alive}
                for state in kept
            }.__getitem__,
            {block[state] for state in kept if state in self.finals}.__contains__,
        )  # fmt: skip

    def _alive(self) -> set[int]:
        """Returns the states from which a final state can be reached."""
        back: dict[int, list[int]] = {}
        for state, each in enumerate(self.moves):
            for to in each.values():
                back.setdefault(to, []).append(state)
        alive = set(self.finals)
        waiting = deque(alive)
        while waiting:
            for state in back.get(waiting.popleft(), ()):
                if state not in alive:
                    alive.add(state)
                    waiting.append(state)
        return alive

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Automaton) and self.moves == other.moves and self.finals == other.finals

    def __hash__(self) -> int:
        return hash((self.finals, tuple([tuple(sorted(each.items())) for each in self.moves])))

    def __repr__(self) -> str:
        return f"<Automaton of {self.size} states, {len(self.transitions)} moves, {len(self.finals)} final>"


def explore(start: State, moves: Callable[[State], Mapping[Word, State]], final: Callable[[State], bool]) -> Automaton:
    """Returns the automaton of all states reachable from `start`, numbered in breadth-first order."""
    numbers: dict[State, int] = {start: START}
    states = [start]
    found: list[dict[Word, int]] = []
    for state in states:
        each: dict[Word, int] = {}
        to = moves(state)
        for word in sorted(to):
            follower = to[word]
            if follower not in numbers:
                numbers[follower] = len(states)
                states.append(follower)
            each[word] = numbers[follower]
        found.append(each)
    return Automaton(found, [number for number, state in enumerate(states) if final(state)])
