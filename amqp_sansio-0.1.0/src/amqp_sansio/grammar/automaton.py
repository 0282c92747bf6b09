"""Deterministic automata over words such as "client:session.attach".

An automaton reads one word after the other.  A word that has no move is refused, so every state but the dead one, which is
never stored, is useful to somebody.  All are values: no operation changes its operands.
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
    """States are the numbers 0 (the first) to `size` - 1; `moves[state]` maps each word that may come there to the next state.

    `finals` are the states in which a conversation may end.
    """

    __slots__ = ("finals", "moves")

    def __init__(self, moves: Iterable[Mapping[Word, int]], finals: Iterable[int]) -> None:
        """Raises ValueError for a move to, or a final state, that does not exist."""
        self.moves: Final = tuple([dict(each) for each in moves])
        self.finals: Final = frozenset(finals)
        size = len(self.moves)
        reached = {state for each in self.moves for state in each.values()} | self.finals
        if not size or any(not 0 <= state < size for state in reached):
            raise ValueError(f"states are the numbers 0 to {size - 1}, not {sorted(reached - set(range(size)))}")

    @property
    def size(self) -> int:
        """How many states there are, the dead one not counted."""
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
        """Whether no conversation at all is accepted."""
        return not any(state in self.finals for state in self.reachable())

    def step(self, state: int, word: Word) -> int | None:
        """The state behind `word`, None when it may not come."""
        return self.moves[state].get(word)

    def legal(self, state: int) -> tuple[Word, ...]:
        """The words that may come in `state`, sorted."""
        return tuple(sorted(self.moves[state]))

    def run(self, words: Iterable[Word], state: int = START) -> int | None:
        """Where a conversation leads, None when a word of it may not come."""
        at: int | None = state
        for word in words:
            if at is None:
                break
            at = self.moves[at].get(word)
        return at

    def accepts(self, words: Iterable[Word]) -> bool:
        """Whether the conversation is one of the language: it is legal, and may end there."""
        return self.run(words) in self.finals

    def reachable(self) -> list[int]:
        """The states that some conversation leads to, in order of the shortest."""
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
        """The language of all beginnings of its conversations: what is legal when everything may break off anywhere."""
        trimmed = self.minimal()
        return Automaton(trimmed.moves, range(trimmed.size) if not trimmed.empty else ())

    def minimal(self) -> Automaton:
        """The smallest automaton of the same language; of two automata of one language both are equal then."""
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
        """The states from which some final state can be reached."""
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
    """The automaton of all states that can be reached from `start`, numbered in the order of the shortest way there."""
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
