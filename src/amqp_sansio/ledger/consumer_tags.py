"""The consumers of a channel in the older dialects, by their tags: who may be delivered to, and what needs settling."""

from __future__ import annotations

from collections import deque
from typing import Final, TypeAlias

from amqp_sansio.ledger.leaving import Leaving

Key: TypeAlias = tuple[str, str]
"""Class and tag of a consumer."""


class ConsumerTags:
    """Fed with consume, consume-ok, cancel and cancel-ok.  `unnamed`: there may be consumers whose tags nobody heard."""

    __slots__ = ("_asked", "_count", "_leaving", "_revoked", "live", "unnamed")

    def __init__(self, unnamed: bool) -> None:
        self.live: Final[dict[Key, bool]] = {}
        """Those that are not cancelled and have a name: whether what comes for them need not be settled."""
        self._leaving: Final[dict[Key, Leaving]] = {}
        """The cancels of the client that may be on their way."""
        self._revoked: Final[dict[Key, None]] = {}
        """Those of them that the server has cancelled, or the ones that had the tag before: it crossed a cancel of the
        client."""
        self._asked: Final[dict[tuple[str, bool], deque[int]]] = {}
        """The places, among all of them, of those that the server is to name, by class, and whether what comes for them need
        not be settled."""
        self._count = 0
        self.unnamed = unnamed

    def __len__(self) -> int:
        return self.held + len(self._leaving)

    @property
    def held(self) -> int:
        """How many are not cancelled."""
        return len(self.live) + sum([len(places) for places in self._asked.values()])

    @property
    def tags(self) -> tuple[Key, ...]:
        """Those that are not cancelled and have a name."""
        return tuple(self.live)

    def drop(self, key: Key) -> None:
        """The client cancels one, and nobody follows what comes."""
        self.live.pop(key, None)
        self._revoked.pop(key, None)

    def taken(self, key: Key) -> bool:
        """Whether another consumer has the tag."""
        return key in self.live and key not in self._revoked

    def consume(self, key: Key, settled: bool, waits: bool) -> None:
        """The client starts one, under a tag that is not taken or, "", under one that the server gives it.

        `settled`: what comes need not be settled; `waits`: for the answer.
        """
        if key[1]:
            self._revoked.pop(key, None)
            self.live[key] = settled
        elif waits:
            self._count += 1
            self._asked.setdefault((key[0], settled), deque()).append(self._count)
        else:
            self.unnamed = True

    def started(self, key: Key, named: bool, settled: bool) -> None:
        """The server answers a consume; `named`: the client gave it its tag."""
        if not named:
            self._named((key[0], settled))
            self.live.setdefault(key, settled)

    def _named(self, asked: tuple[str, bool]) -> None:
        """The oldest of these has its name, if there is one."""
        places = self._asked.get(asked)
        if places is not None:
            places.popleft()
            if not places:
                del self._asked[asked]

    def cancel(self, key: Key, waits: bool) -> bool:
        """The client cancels one; whether there was one."""
        settled = self.live.get(key)
        self.drop(key)
        if waits or settled is not None:
            self._leaving.setdefault(key, Leaving()).cancel(settled, waits)
        return settled is not None

    def cancelled(self, key: Key) -> bool:
        """The server cancels one; whether it could be there.

        It may cross a cancel of the client, who may have given the tag to another consumer since.
        """
        leaving = self._leaving.get(key)
        behind = leaving.consumers if leaving is not None else 0
        if behind + (key in self.live) > 1:  # which of them, nobody knows
            if key in self.live:
                self._revoked[key] = None
        elif leaving is not None and behind:
            leaving.revoke()
        elif self.live.pop(key, None) is None:
            return self.unnamed
        return True

    def left(self, key: Key) -> None:
        """The server has carried out a cancel, and what came before it."""
        leaving = self._leaving.get(key)
        if leaving is not None and leaving.answered():
            del self._leaving[key]

    def settled(self, key: Key) -> bool | None:
        """Whether what is delivered to a tag need not be settled; None where nobody has it."""
        settled = self.live.get(key)
        if settled is not None:
            return settled
        if key in self._leaving:
            settled = self._leaving[key].settled
        if settled is None and self._asked:  # in some brokers the first message comes before the name
            oldest = [(places[0], each) for (name, each), places in self._asked.items() if name == key[0]]
            settled = min(oldest)[1] if oldest else None
        return settled

    def bound_leaving(self, tags: int) -> None:
        """Holds those that are cancelled to so many tags; where the oldest had to go, there may be any from now on."""
        if len(self._leaving) > tags:
            del self._leaving[next(iter(self._leaving))]
            self.unnamed = True

    def bound(self, consumers: int) -> bool:
        """Keeps at most `consumers`: whether the oldest had to go, so that there may be any from now on."""
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
