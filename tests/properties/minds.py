"""What clients of a broker know of their own doings, and tell a ledger of what they hear."""

from __future__ import annotations

from typing import Literal

import attrs
from tests.broker.ledger import Group, Item, Ledger
from tests.broker.stage import Actor

from amqp_sansio import Session
from amqp_sansio.engine.transactions import Tx
from amqp_sansio.events import BranchAnswered, CommandsCompleted, Event, SessionAttached, SessionDetached, TransferReceived
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec.codes import XaStatus
from amqp_sansio.spec.dtx import Xid


@attrs.define(eq=False)
class Branch:
    """A branch of a distributed transaction, and how far its client has come with it."""

    xid: Xid
    stage: Literal["active", "ended", "prepared", "committing", "over"] = "active"
    group: Group = attrs.field(factory=Group)


class Mind:
    """What one actor knows of its own doings in its present session."""

    def __init__(self, kind: str, ledger: Ledger) -> None:
        self.kind = kind
        self.ledger = ledger
        self.transactional = "tx" in kind
        self.branching = "branch" in kind
        self.branch: Branch | None = None
        self.decisions: dict[int, Branch] = {}
        self.tx: Tx | None = None
        self.held: dict[int, Item] = {}
        self.publishing: dict[int, Item] = {}
        self.accepting: dict[int, list[Item]] = {}
        self.deciding: dict[int, tuple[Group, bool]] = {}
        self.group = Group()
        self.credit: dict[str, int] = {}
        self.settled_once: set[int] = set()

    def forget(self) -> None:
        """A new session."""
        self.__init__(self.kind, self.ledger)  # type: ignore[misc]

    @property
    def work(self) -> Group | None:
        """What is published and accepted now belongs to it; None: it counts at once."""
        if self.transactional:
            return self.group
        return self.branch.group if self.branch is not None and self.branch.stage == "active" else None

    def hear(self, actor: Actor, event: Event) -> None:
        """Brings the ledger up to date."""
        match event:
            case SessionAttached(resumed=False):
                assert actor.session is not None
                if self.transactional:
                    self.tx = actor.session.select_tx()
                elif self.branching:
                    actor.session.select_dtx()
            case TransferReceived(id=id, transfer=transfer, body=body):
                destination = transfer.destination or ""
                properties = event.delivery_properties
                redelivered = properties is not None and bool(properties.redelivered)
                self.held[id] = self.ledger.received(actor.name, body, destination, redelivered)
                self.credit[destination] -= 1
                assert self.credit[destination] >= 0, "delivered against credit"
            case CommandsCompleted(ids=ids):
                self.completed(ids)
            case BranchAnswered(id=id, verb=verb, status=status) if status is not None:
                assert status == XaStatus.XA_OK, f"{verb} was answered with {status.name}"
                branch = self.decisions.pop(id, None)
                if branch is not None and branch.stage == "committing":
                    branch.group.committed()
            case SessionDetached(ended=True):
                self.over()
            case _:
                pass

    def completed(self, ids: RangeSet) -> None:
        """The broker has done these."""
        for id in [id for id in self.publishing if id in ids]:
            item = self.publishing.pop(id)
            if item.where == "sent":
                item.where = "queued"
        for id in [id for id in self.accepting if id in ids]:
            for item in self.accepting.pop(id):
                item.where = "gone"
        for id in [id for id in self.deciding if id in ids]:
            group, commit = self.deciding.pop(id)
            if commit:
                group.committed()

    def over(self) -> None:
        """The session has ended: what nobody answered is in doubt, what it held goes back."""
        for item in self.publishing.values():
            if item.where == "sent":
                item.where = "maybe"
        for items in self.accepting.values():
            for item in items:
                item.where, item.holder = "maybe", None
        for group, commit in self.deciding.values():
            if commit:
                group.unknown()
        self.group.rolled_back()
        for branch in self.decisions.values():
            if branch.stage == "committing":
                branch.group.unknown()
        if self.branch is not None:  # nobody will commit it: it is rolled back, when its time is over at the latest
            self.branch.group.rolled_back()
        self.ledger.lost([item for item in self.held.values() if item.where == "held"])
        self.forget()

    def settleable(self) -> list[int]:
        """What is held and not being settled."""
        return sorted(id for id, item in self.held.items() if item.where == "held")

    def settle_credit(self, session: Session, ids: list[int]) -> None:
        """A settled transfer is complete, and moves its window."""
        for id in ids:
            name = self.held[id].queue
            if session.subscriptions[name].mode == 1 and id not in self.settled_once:
                self.credit[name] += 1
            self.settled_once.add(id)
