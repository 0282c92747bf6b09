"""Unanswered methods of one side on a channel of the older dialects."""

from __future__ import annotations

from collections import deque
from operator import itemgetter
from typing import Final, Generic, NamedTuple, TypeVar

from amqp_sansio.tables.channel import ANY_TIME, REPLIES

T = TypeVar("T")


class AnsweredRequest(NamedTuple, Generic[T]):
    """The request that was answered: its verb, its data, and in `passed` the oldest verb that was due before; "" for none."""

    verb: str
    kept: T
    passed: str


class PendingReplies(Generic[T]):
    """Methods that require an answer, with data of the caller; `tables.channel` has their answers and the order of these."""

    __slots__ = ("_count", "_places", "waiting")

    def __init__(self) -> None:
        self._places: Final[dict[str, deque[tuple[int, T]]]] = {}
        """By verb the position of each among all of them, and its data."""
        self._count = 0
        self.waiting = 0
        """How many wait."""

    def ask(self, verb: str, kept: T) -> None:
        """Notes a method that requires an answer."""
        self._count += 1
        self.waiting += 1
        self._places.setdefault(verb, deque()).append((self._count, kept))

    def answer(self, verb: str) -> AnsweredRequest[T] | None:
        """Notes an answer; returns its request.  None where no request waits for it."""
        answered = self.find(verb)
        if answered is not None:
            self.take(answered.verb)
        return answered

    def take(self, verb: str) -> None:
        """Removes the oldest request with this verb."""
        places = self._places[verb]
        places.popleft()
        if not places:
            del self._places[verb]
        self.waiting -= 1

    def bound(self, most: int) -> bool:
        """Keeps at most `most` requests; returns whether it dropped the oldest, whose answer may still come."""
        excess = self.waiting > most
        if excess:
            self.take(self.oldest)
        return excess

    def find(self, verb: str) -> AnsweredRequest[T] | None:
        """Returns the request that this would answer; changes nothing."""
        order = self._order()
        at = next((at for at, each in enumerate(order) if verb in REPLIES[each]), None)
        if at is None:
            return None
        found = order[at]
        passed = "" if found in ANY_TIME else next((each for each in order[:at] if each not in ANY_TIME), "")
        return AnsweredRequest(found, self._places[found][0][1], passed)

    def _order(self) -> list[str]:
        """Returns the verbs that wait, that of the oldest first."""
        if len(self._places) < 2:
            return list(self._places)
        return [each for _, each in sorted([(places[0][0], each) for each, places in self._places.items()])]

    def waits(self, verb: str) -> bool:
        """Whether this was requested and is not answered."""
        return verb in self._places

    def count(self, verb: str) -> int:
        """Returns how many requests with this verb have no answer yet."""
        return len(self._places.get(verb, ()))

    @property
    def oldest(self) -> str:
        """The verb that has waited longest; "" where none waits."""
        order = self._order()
        return order[0] if order else ""

    @property
    def kept(self) -> list[T]:
        """The data of all requests, the oldest first."""
        return [kept for _, kept in sorted([each for places in self._places.values() for each in places], key=itemgetter(0))]

    def clear(self) -> None:
        """Drops all requests."""
        self._places.clear()
        self.waiting = 0
