"""A client's knowledge of its actions in one session, from the first attachment to the end."""

from __future__ import annotations

from typing import Final, Literal

import attrs

from amqp_sansio.engine.session import Session
from amqp_sansio.spec.dtx import Xid
from amqp_sansio.testing.simulation.credit_oracle import Allowance
from amqp_sansio.testing.simulation.item import Group, Item

DRIFT: Final = 0.85
"""The least part of a broker's time span that passes by the true clock, since clocks drift."""


@attrs.define(eq=False)
class Branch:
    """A branch of a distributed transaction, and the stage that its client has reached."""

    xid: Xid
    group: Group
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
        self.publishing: Final[dict[int, Item]] = {}
        self.accepting: Final[dict[int, list[Item]]] = {}
        self.acquiring: Final[dict[int, list[int]]] = {}
        self.deciding: Final[dict[int, Group]] = {}
        self.syncs: Final[dict[int, None]] = {}
        self.allowances: Final[dict[str, Allowance]] = {}
        self.queues: Final[dict[str, tuple[str, bool]]] = {}
        """The queue of each destination, and whether its messages arrive acquired."""
        self.last: Final[dict[tuple[str, str, int], int]] = {}
        """The number of the message that arrived last, by destination, publisher and priority."""
        self.transactional = False
        self.group: Group | None = None
        """The open local transaction."""
        self.branching = False
        """Whether it works on branches of its own."""
        self.branch: Branch | None = None
        self.late = False
        """Whether a branch of it timed out, so that the broker refuses later commands about the branch."""
        self.asked: Final[dict[int, tuple[str, Branch]]] = {}
        """Commands about a branch that await an answer, by command id."""

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
    def work(self) -> Group | None:
        """The transaction that new publishes and accepts belong to; None: they take effect at once."""
        if self.transactional:
            return self.group
        return self.branch.group if self.branch is not None and self.branch.stage == "active" else None
