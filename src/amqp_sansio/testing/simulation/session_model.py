"""What a client knows of its actions in one session, from its first attachment to its end."""

from __future__ import annotations

from typing import Final, Literal

import attrs

from amqp_sansio.engine.session import Session
from amqp_sansio.spec.dtx import Xid
from amqp_sansio.testing.simulation.credit_oracle import Allowance
from amqp_sansio.testing.simulation.item import Group, Item

DRIFT: Final = 0.85
"""Of a time that a broker counts by its own clock, what has passed by ours at least."""


@attrs.define(eq=False)
class Branch:
    """A branch of a distributed transaction, and how far its client has come with it."""

    xid: Xid
    group: Group
    stage: Literal["active", "ended", "prepared", "committing"] = "active"


class Tenure:
    """One session of a client: what it holds, and what it has said and is not answered."""

    def __init__(self, name: str, client: str, session: Session) -> None:
        self.name: Final = name
        self.client: Final = client
        self.session: Final = session
        self.granted: int | None = None
        """Seconds that the broker keeps it while it is detached; None: nobody said that it would."""
        self.harmed_at: float | None = None
        """When its connection broke; None while it is well."""
        self.crashed = False
        """Whether the broker crashed since: it may not know the session any more."""
        self.brittle = False
        """Whether the broker may end it at any time: it subscribed to a queue that somebody may delete, or deletes that."""
        self.fleeting = False
        """Whether it subscribed to a queue that may go when the broker is begun anew."""
        self.over = False
        self.held: Final[dict[int, Item]] = {}
        """By command id: what was transferred and is not settled."""
        self.shown: Final[dict[int, Item]] = {}
        """What was transferred and is not acquired."""
        self.costs: Final[dict[int, tuple[str, int]]] = {}
        """By command id: destination and octets of transfers that are not complete."""
        self.publishing: Final[dict[int, Item]] = {}
        self.accepting: Final[dict[int, list[Item]]] = {}
        self.acquiring: Final[dict[int, list[int]]] = {}
        self.deciding: Final[dict[int, Group]] = {}
        self.syncs: Final[dict[int, None]] = {}
        self.allowances: Final[dict[str, Allowance]] = {}
        self.queues: Final[dict[str, tuple[str, bool]]] = {}
        """By destination: the queue, and whether messages come acquired."""
        self.last: Final[dict[tuple[str, str, int], int]] = {}
        """By destination, publisher and priority: the number of the message that came last."""
        self.transactional = False
        self.group: Group | None = None
        """The local transaction that is open."""
        self.branching = False
        """Whether it works on branches of its own."""
        self.branch: Branch | None = None
        self.late = False
        """Whether a branch of it timed out, so that the broker refuses what it has sent about it since."""
        self.asked: Final[dict[int, tuple[str, Branch]]] = {}
        """By command id: commands about a branch without an answer."""

    def harm(self, now: float) -> None:
        """Its connection broke, or may have."""
        if self.harmed_at is None:
            self.harmed_at = now

    def well(self) -> None:
        """It is attached (again)."""
        self.harmed_at = None
        self.crashed = False

    def loose(self, now: float) -> bool:
        """Whether the broker may have ended it already, so that what it held comes to others."""
        if self.over or self.crashed or self.brittle:
            return True
        if self.harmed_at is None:
            return False
        return not self.granted or now - self.harmed_at >= DRIFT * self.granted

    @property
    def work(self) -> Group | None:
        """What is published and accepted now belongs to it; None: it counts at once."""
        if self.transactional:
            return self.group
        return self.branch.group if self.branch is not None and self.branch.stage == "active" else None
