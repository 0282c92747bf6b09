"""What one side asked on a channel of the older dialects and the other one has not answered."""

from __future__ import annotations

from collections import deque
from typing import Final, Generic, NamedTuple, TypeVar

from amqp_sansio.tables.channel_words import ANY_TIME, REPLIES

T = TypeVar("T")


class Answered(NamedTuple, Generic[T]):
    """The question of an answer: its verb and what was kept of it; `passed`: the oldest one that had to be answered before."""

    verb: str
    kept: T
    passed: str


class PendingReplies(Generic[T]):
    """Methods that want an answer, each with what is kept of it; answers come in the order of `tables.channel_words`."""

    __slots__ = ("_count", "_places", "waiting")

    def __init__(self) -> None:
        self._places: Final[dict[str, deque[tuple[int, T]]]] = {}
        """By verb the place of each among all of them, and what is kept of it."""
        self._count = 0
        self.waiting = 0
        """How many wait."""

    def ask(self, verb: str, kept: T) -> None:
        """A method is sent that wants an answer."""
        self._count += 1
        self.waiting += 1
        self._places.setdefault(verb, deque()).append((self._count, kept))

    def answer(self, verb: str) -> Answered[T] | None:
        """An answer is sent: to what.  None where no question waits for it."""
        answered = self.find(verb)
        if answered is not None:
            self.take(answered.verb)
        return answered

    def take(self, verb: str) -> None:
        """The oldest question with this verb waits no longer."""
        places = self._places[verb]
        places.popleft()
        if not places:
            del self._places[verb]
        self.waiting -= 1

    def bound(self, most: int) -> bool:
        """Keeps at most `most` that wait: whether the oldest had to go, so that what comes as an answer may be one to it."""
        excess = self.waiting > most
        if excess:
            self.take(self.oldest)
        return excess

    def find(self, verb: str) -> Answered[T] | None:
        """What this would answer; changes nothing."""
        order = self._order()
        at = next((at for at, each in enumerate(order) if verb in REPLIES[each]), None)
        if at is None:
            return None
        found = order[at]
        passed = "" if found in ANY_TIME else next((each for each in order[:at] if each not in ANY_TIME), "")
        return Answered(found, self._places[found][0][1], passed)

    def _order(self) -> list[str]:
        """The verbs of what waits, that of the oldest first."""
        if len(self._places) < 2:
            return list(self._places)
        return [each for _, each in sorted([(places[0][0], each) for each, places in self._places.items()])]

    def waits(self, verb: str) -> bool:
        """Whether this was asked and is not answered."""
        return verb in self._places

    @property
    def oldest(self) -> str:
        """The verb that has waited longest; "" where nothing waits."""
        order = self._order()
        return order[0] if order else ""

    @property
    def kept(self) -> list[T]:
        """What is kept of those that wait, the oldest first."""
        return [kept for _, kept in sorted([each for places in self._places.values() for each in places], key=_place)]

    def clear(self) -> None:
        """Nobody waits any more."""
        self._places.clear()
        self.waiting = 0


def _place(entry: tuple[int, object]) -> int:
    return entry[0]
