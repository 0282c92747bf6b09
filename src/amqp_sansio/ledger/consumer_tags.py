"""The consumers of a channel in the older dialects, by tag: which may get deliveries, and whether those need settling."""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import Final, TypeAlias

ConsumerKey: TypeAlias = tuple[str, str]
"""Class and tag of a consumer."""


class ConsumerTags:
    """Consumers by tag, updated with consume, consume-ok, cancel and cancel-ok.  `unnamed`: there may be consumers with unknown
    tags."""

    __slots__ = ("_asked", "_count", "_leaving", "_revoked", "changes", "live", "unnamed")

    def __init__(self, unnamed: bool) -> None:
        self.live: Final[dict[ConsumerKey, bool]] = {}
        """Active ones with a known tag: whether their deliveries need no settling."""
        self.changes = 0
        """How often one of `live` may have gone, or another have its tag: what was known of one holds as long as this does."""
        self._leaving: Final[dict[ConsumerKey, Leaving]] = {}
        """The client's cancels that may be in flight."""
        self._revoked: Final[dict[ConsumerKey, None]] = {}
        """Those of them that the server has cancelled, or the previous ones with the tag: the server's cancel crossed one of
        the client."""
        self._asked: Final[dict[tuple[str, bool], deque[int]]] = {}
        """The positions, among all of them, of those that the server will name, by class, and whether their deliveries need no
        settling."""
        self._count = 0
        self.unnamed = unnamed

    def __len__(self) -> int:
        return self.held + len(self._leaving)

    @property
    def held(self) -> int:
        """How many are active."""
        return len(self.live) + sum([len(places) for places in self._asked.values()])

    @property
    def tags(self) -> tuple[ConsumerKey, ...]:
        """The active ones with a known tag."""
        return tuple(self.live)

    def drop(self, key: ConsumerKey) -> None:
        """Drops one that the client cancels, with the deliveries that follow."""
        self.changes += 1
        self.live.pop(key, None)
        self._revoked.pop(key, None)

    def taken(self, key: ConsumerKey) -> bool:
        """Whether another consumer has the tag."""
        return key in self.live and key not in self._revoked

    def consume(self, key: ConsumerKey, settled: bool, waits: bool) -> None:
        """Notes a consume by the client, with a free tag or, for "", one that the server will choose.

        `settled`: deliveries need no settling; `waits`: the client waits for the answer.
        """
        self.changes += 1
        if key[1]:
            self._revoked.pop(key, None)
            self.live[key] = settled
        elif waits:
            self._count += 1
            self._asked.setdefault((key[0], settled), deque()).append(self._count)
        else:
            self.unnamed = True

    def started(self, key: ConsumerKey, named: bool, settled: bool) -> None:
        """Notes the server's answer to a consume; `named`: the client gave it its tag."""
        if not named:
            self._named((key[0], settled))
            self.live.setdefault(key, settled)

    def _named(self, asked: tuple[str, bool]) -> None:
        """Notes that the oldest of these, if any, has its tag."""
        places = self._asked.get(asked)
        if places is not None:
            places.popleft()
            if not places:
                del self._asked[asked]

    def cancel(self, key: ConsumerKey, waits: bool) -> bool:
        """Notes a cancel by the client; returns whether there was such a consumer."""
        settled = self.live.get(key)
        self.drop(key)
        if waits or settled is not None:
            self._leaving.setdefault(key, Leaving()).cancel(settled, waits)
        return settled is not None

    def cancelled(self, key: ConsumerKey) -> bool:
        """Notes a cancel by the server; returns whether the consumer could exist.

        It may cross a cancel of the client, which may have given the tag to another consumer since.
        """
        self.changes += 1
        leaving = self._leaving.get(key)
        behind = leaving.consumers if leaving is not None else 0
        if behind + (key in self.live) > 1:  # which of them is unknown
            if key in self.live:
                self._revoked[key] = None
        elif leaving is not None and behind:
            leaving.revoke()
        elif self.live.pop(key, None) is None:
            return self.unnamed
        return True

    def left(self, key: ConsumerKey) -> None:
        """Notes that the server has executed a cancel, and everything before it."""
        leaving = self._leaving.get(key)
        if leaving is not None and leaving.answered():
            del self._leaving[key]

    def settled(self, key: ConsumerKey) -> bool | None:
        """Returns whether deliveries to a tag need no settling; None where no consumer has it."""
        settled = self.live.get(key)
        if settled is not None:
            return settled
        if key in self._leaving:
            settled = self._leaving[key].settled
        if settled is None and self._asked:  # some brokers send the first message before the tag
            oldest = [(places[0], each) for (name, each), places in self._asked.items() if name == key[0]]
            settled = min(oldest)[1] if oldest else None
        return settled

    def bound_leaving(self, tags: int) -> None:
        """Keeps at most `tags` cancelled ones; after dropping the oldest, any may exist."""
        if len(self._leaving) > tags:
            del self._leaving[next(iter(self._leaving))]
            self.unnamed = True

    def bound(self, consumers: int) -> bool:
        """Keeps at most `consumers`; returns whether it dropped the oldest, so that any may exist."""
        if len(self) <= consumers:
            return False
        if self.live:
            self.drop(next(iter(self.live)))
        elif self._leaving:
            del self._leaving[next(iter(self._leaving))]
        else:
            self._named(min([(places[0], asked) for asked, places in self._asked.items()])[1])
        self.unnamed = True
        return True


MOST: Final = 64
"""The most entries; further ones share the last one."""


class Leaving:
    """The cancels of one tag in order, each with its consumer, which the server may deliver to until it answers.

    Of consecutive cancels without answers only the last is kept; those without a consumer are counted.
    """

    __slots__ = ("_cancels", "_more")

    def __init__(self) -> None:
        self._cancels: Final[deque[tuple[int, bool | None]]] = deque()
        """How many wait for an answer; whether deliveries need no settling, None without a consumer.  No two consecutive
        entries lack a consumer."""
        self._more = False
        """Whether there were more consumers than are kept."""

    @property
    def consumers(self) -> int:
        """How many consumers there were: 0, 1, or 2 for more."""
        return len([*islice((None for _, settled in self._cancels if settled is not None), 2)])

    @property
    def settled(self) -> bool | None:
        """Returns whether deliveries need no settling; None where none may come."""
        return next((settled for _, settled in self._cancels if settled is not None), None)

    def cancel(self, settled: bool | None, waits: bool) -> None:
        """Notes a cancel by the client; `settled` is the consumer's, None where the tag has none."""
        cancels, waiting = self._cancels, int(waits)
        if not waits and settled is None:
            return
        if cancels:
            before, former = cancels[-1]
            full, again = len(cancels) >= MOST, not waits and not before
            if again or full or (settled is None and former is None):
                cancels.pop()
                waiting += before
                self._more = self._more or (settled is not None and former is not None)
                if settled is None or (full and not again and former is not None):
                    settled = former and settled is not False  # where they differ, deliveries need settling
        cancels.append((waiting, settled))

    def revoke(self) -> None:
        """Notes that the server has cancelled the only consumer kept."""
        if self._more:
            return
        waiting = sum([before for before, _ in self._cancels])
        self._cancels.clear()
        if waiting:
            self._cancels.append((waiting, None))

    def answered(self) -> bool:
        """Notes the answer to a cancel, which the server has executed with everything before it; returns whether none is
        left."""
        while self._cancels:
            waiting, settled = self._cancels.popleft()
            if waiting:
                if waiting > 1:
                    self._cancels.appendleft((waiting - 1, settled))
                break
        return not self._cancels
