"""A client's knowledge of one session, from the first attachment to the end: what it holds, asked for and granted.

Its credit is an upper bound, computed independently of the engine.
"""

from __future__ import annotations

from typing import Final, Literal

import attrs

from amqp_sansio.engine.session import Session
from amqp_sansio.kernel.serials import ById
from amqp_sansio.spec.codes import AcceptMode, AcquireMode, FlowMode
from amqp_sansio.spec.dtx import Xid
from amqp_sansio.testing.simulation.ledger import Item, MessageGroup
from amqp_sansio.testing.simulation.outcome import CREDIT, demand

ENDLESS: Final = 0xFFFFFFFF
_MESSAGES: Final = 0
_OCTETS: Final = 1
_NAMES: Final = ("messages", "octets")


class Allowance:
    """The credit of one destination in both units.  With `window`, a completion returns the credit that its message used."""

    def __init__(self, destination: str, window: bool) -> None:
        self.destination: Final = destination
        self.window: Final = window
        self.limits = [0, 0]
        self.used = [0, 0]
        self.ending: Final[dict[int, list[int]]] = {}
        """The credit granted since each pending stop or flush, by its command id."""
        self.replayed: Final[set[int]] = set()
        """Those pending at a resumption: messages sent before them may still arrive."""
        self.grace = [0, 0]
        """Credit from before a stop or flush in `replayed`, which messages sent before it may still use."""
        self.came: Final[dict[int, int]] = {}
        """The number of messages that arrived since each pending stop or flush, by its command id."""
        self.doubtful = 0
        """How many of those may have used credit granted after the stop or flush."""

    def grant(self, messages: int, octets: int = ENDLESS) -> None:
        """Adds credit that the client grants."""
        for limits in (self.limits, *self.ending.values()):
            limits[_MESSAGES] += messages
            limits[_OCTETS] = ENDLESS if ENDLESS in (octets, limits[_OCTETS]) else limits[_OCTETS] + octets

    def transfer(self, octets: int) -> None:
        """Counts a message that arrived.  Raises Fault when no credit allowed it."""
        for id in self.came:
            self.came[id] += 1
        for unit, cost in ((_MESSAGES, 1), (_OCTETS, octets)):
            limit = self.limits[unit]
            if limit == ENDLESS:
                continue
            if self.used[unit] + cost > limit and cost <= self.grace[unit]:
                self.grace[unit] -= cost
                if self.window and unit == _MESSAGES:
                    self.doubtful += 1  # the other side counts it in the window
                continue
            demand(
                self.used[unit] + cost <= limit,
                CREDIT,
                f"{self.destination!r} was sent {cost} of {_NAMES[unit]}; {max(0, limit - self.used[unit])} of {limit} left",
            )
            if self.window:
                self.used[unit] += cost
            else:
                self.limits[unit] -= cost

    def complete(self, octets: int) -> None:
        """Records that a message is complete."""
        if self.window:
            self.used[_MESSAGES] = max(0, self.used[_MESSAGES] - 1)
            self.used[_OCTETS] = max(0, self.used[_OCTETS] - octets)

    def end(self, id: int) -> None:
        """Records a stop or flush that the client sends with this command id."""
        self.ending[id] = [0, 0]
        self.came[id] = 0

    def ended(self, id: int) -> None:
        """Records the completion of that command, which voids the credit from before it."""
        limits = self.ending.pop(id, None)
        if limits is not None:
            came = self.came.pop(id)
            self.doubtful = 0 if self.window else came
            if id in self.replayed:
                self.replayed.discard(id)
                self.grace = [
                    had + max(0, now - used) for had, now, used in zip(self.grace, self.limits, self.used, strict=True)
                ]
            self.limits = [min(now, since) for now, since in zip(self.limits, limits, strict=True)]

    def resumed(self) -> None:
        """Records that the session was resumed: the other side replays what was lost."""
        self.replayed.update(self.ending)

    @property
    def left(self) -> int:
        """How many messages of any size the credit certainly allows; 0 while a stop or flush is pending."""
        if self.ending or self.limits[_OCTETS] != ENDLESS:
            return 0
        return max(0, self.limits[_MESSAGES] - self.used[_MESSAGES] - self.doubtful)


DRIFT: Final = 0.85
"""The least part of a broker's time span that passes by the true clock, since clocks drift."""


@attrs.define(eq=False)
class Branch:
    """A branch of a distributed transaction, and the stage that its client has reached."""

    xid: Xid
    group: MessageGroup
    stage: Literal["active", "ended", "prepared", "committing"] = "active"


class Tenure:
    """One session of a client: what it holds, and its commands that await an answer."""

    def __init__(self, name: str, client: str, session: Session) -> None:
        self.name: Final = name
        self.client: Final = client
        self.session: Final = session
        self.granted: int | None = None
        """Seconds that the broker keeps it while detached; None: no broker has promised to."""
        self.harmed_at: float | None = None
        """When its connection broke; None while it is intact."""
        self.crashed = False
        """Whether the broker has crashed since: it may not know the session any more."""
        self.brittle = False
        """Whether the broker may end it at any time: others may delete a queue that it uses, or it deletes one itself."""
        self.fleeting = False
        """Whether it subscribed to a queue that may be lost when the broker restarts."""
        self.over = False
        self.held: Final[dict[int, Item]] = {}
        """Transfers received and not settled, by command id."""
        self.shown: Final[dict[int, Item]] = {}
        """Transfers received and not acquired."""
        self.costs: Final[dict[int, tuple[str, int]]] = {}
        """Destination and octets of transfers that are not complete, by command id."""
        self.publishing: Final[ById[Item]] = ById()
        self.accepting: Final[ById[list[Item]]] = ById()
        self.acquiring: Final[dict[int, list[int]]] = {}
        self.deciding: Final[ById[MessageGroup]] = ById()
        self.syncs: Final[dict[int, None]] = {}
        self.allowances: Final[dict[str, Allowance]] = {}
        self.queues: Final[dict[str, tuple[str, bool]]] = {}
        """The queue of each destination, and whether its messages arrive acquired."""
        self.last: Final[dict[tuple[str, str, int], int]] = {}
        """The number of the message that arrived last, by destination, publisher and priority."""
        self.transactional = False
        self.group: MessageGroup | None = None
        """The open local transaction."""
        self.branching = False
        """Whether it works on branches of its own."""
        self.branch: Branch | None = None
        self.late = False
        """Whether a branch of it timed out, so that the broker refuses later commands about the branch."""
        self.asked: Final[dict[int, tuple[str, Branch]]] = {}
        """Commands about a branch that await an answer, by command id."""

    def subscribe(self, queue: str, destination: str, window: bool, browse: bool = False, accepts: bool = True) -> None:
        """Subscribes to a queue, with window or credit flow, to take messages or to `browse`."""
        made = self.session.subscribe(queue, destination, acquire_mode=AcquireMode(browse), accept_mode=AcceptMode(not accepts))
        if not window:
            made.set_mode(FlowMode.CREDIT)
        self.queues[destination] = queue, not browse
        self.allowances[destination] = Allowance(destination, window)

    def grant(self, destination: str, messages: int, octets: int = ENDLESS) -> None:
        """Grants a subscription more credit."""
        self.session.subscriptions[destination].grant(messages, octets)
        self.allowances[destination].grant(messages, octets)

    def settle(self, *ids: int) -> None:
        """Settles transfers: each becomes complete, which moves its window."""
        for id in ids:
            cost = self.costs.pop(id, None)
            if cost is not None and cost[0] in self.allowances:
                self.allowances[cost[0]].complete(cost[1])

    def harm(self, now: float) -> None:
        """Records that its connection broke, or may have."""
        if self.harmed_at is None:
            self.harmed_at = now

    def well(self) -> None:
        """Records that it is attached (again)."""
        self.harmed_at = None
        self.crashed = False

    def loose(self, now: float) -> bool:
        """Returns whether the broker may have ended it already, so that others may receive what it held."""
        if self.over or self.crashed or self.brittle:
            return True
        if self.harmed_at is None:
            return False
        return not self.granted or now - self.harmed_at >= DRIFT * self.granted

    @property
    def work(self) -> MessageGroup | None:
        """The transaction that new publishes and accepts belong to; None: they take effect at once."""
        if self.transactional:
            return self.group
        return self.branch.group if self.branch is not None and self.branch.stage == "active" else None
