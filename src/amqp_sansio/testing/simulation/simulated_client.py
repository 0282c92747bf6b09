"""A client of one broker: one connection at a time, with a session that may outlive the connection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqp_sansio.config import ClientConfig, ServerConfig
from amqp_sansio.events import (
    BranchAnswered,
    CommandsCompleted,
    ConnectionClosed,
    ConnectionOpened,
    Event,
    ExceptionReceived,
    Origin,
    ResultReceived,
    SessionAttached,
    SessionDetached,
    TimeoutGranted,
    TransferReceived,
)
from amqp_sansio.kernel.serials import RangeSet, pick, serial_lt
from amqp_sansio.spec.codes import XaStatus
from amqp_sansio.spec.message import Acquired
from amqp_sansio.testing.simulation.outcome import ATOMICITY, DEADLOCK, LEGALITY, demand
from amqp_sansio.testing.simulation.plan import Persona
from amqp_sansio.testing.simulation.session_model import DRIFT, Branch, Tenure
from amqp_sansio.testing.simulation.site import PATIENCE, PipePair, SimulatedBroker

if TYPE_CHECKING:
    from amqp_sansio.testing.simulation.world import World

KEPT: Final = 200
"""Seconds that a lasting session asks to be kept."""
BRITTLE: Final = "brief"
"""The queue that any client may delete at any time."""


class ClientLink:
    """A client and its link to a broker."""

    def __init__(self, world: World, name: str, site: SimulatedBroker, persona: Persona) -> None:
        self.world: Final = world
        self.name: Final = name
        self.site: Final = site
        self.persona: Final = persona
        self.lasting: Final = "lasting" in persona.kind
        self.wire: PipePair | None = None
        self.tenure: Tenure | None = None
        self.rounds = 0
        self.open = False
        self.leaving = False
        self.tolerant = False
        """Whether its commands may be refused, as those of a manager about a branch that is gone."""
        self.heard: list[Event] | None = None
        """Collected events for a task that waits for one; None when none waits."""

    # --- connecting -----------------------------------------------------------------------------------------------------------

    @property
    def ready(self) -> bool:
        """Whether the session can send commands."""
        return self.tenure is not None and not self.tenure.over and self.tenure.session.state == "attached" and self.open

    @property
    def present(self) -> Tenure:
        """The session that it has."""
        assert self.tenure is not None
        return self.tenure

    def tell(self, text: str) -> None:
        """Adds a line to the story."""
        self.world.tell(text)

    def now(self) -> float:
        """Returns the time on its own clock."""
        return self.world.now * self.persona.rate

    def connect(self) -> None:
        """Opens a connection, on which a live session is resumed, or else a new one begun."""
        config = ClientConfig(heartbeat=self.persona.heartbeat)
        served = self.site.broker.connect(ServerConfig(session_timeout=KEPT))
        self.wire = PipePair(self.world.client(config), served)
        self.site.wires[served] = self.wire
        self.wire.client.tick(self.now())
        self.open = False
        self.world.count["connections"] += 1
        self.tell(f"{self.name} connects to {self.site.name}")

    def come(self) -> None:
        """Takes the next step towards being ready."""
        tenure = self.tenure
        if self.wire is None:
            self.connect()
        elif self.open and not self.leaving:
            if tenure is None or tenure.over:
                self._begin()
            elif tenure.session.state == "detached":
                self.tell(f"{self.name} resumes its session")
                self.wire.client.resume(tenure.session, force=True)

    def _begin(self) -> None:
        assert self.wire is not None
        self.rounds += 1
        name = f"{self.name}-{self.rounds}"
        session = self.wire.client.session(name, timeout=KEPT if self.lasting else 0)
        self.tenure = Tenure(name, self.name, session)

    def harm(self) -> None:
        """Records that the broker may consider the connection lost from now on."""
        if self.tenure is not None:
            self.tenure.harm(self.world.now)

    def drop(self) -> None:
        """Gives up the connection: sends the remaining output and closes the socket."""
        if self.wire is not None:
            self.harm()
            self.wire.close_from_client()
            self.wire = None
            self.open = False

    def leave(self) -> None:
        """Gives up the connection and the session."""
        self.drop()
        if self.tenure is not None:
            self.over(self.tenure)

    def tick(self) -> None:
        """Advances its clock."""
        if self.wire is not None:
            self.hear_all()
        elif self.tenure is not None and not self.tenure.over:
            self.tenure.session.tick(self.now())
            if self.tenure.session.state == "ended":
                self.over(self.tenure)

    # --- events ---------------------------------------------------------------------------------------------------------------

    def hear_all(self) -> None:
        """Handles all pending events."""
        wire = self.wire
        if wire is None:
            return
        wire.client.tick(self.now())
        for event in wire.client.events():
            self.hear(event)

    def hear(self, event: Event) -> None:
        """Updates the client's knowledge by an event, and raises Fault for an impossible one."""
        match event:
            case TransferReceived():
                self._received(self.present, event)
            case CommandsCompleted():
                self._completed(self.present, event.ids)
            case BranchAnswered():
                self._answered(self.present, event)
            case ResultReceived() if isinstance(event.value, Acquired):
                self._acquired(self.present, event.id, event.value.transfers)
            case ConnectionOpened():
                self.open = True
                self.come()
            case SessionAttached():
                self._attached(self.present, event.resumed)
            case TimeoutGranted():
                self.present.granted = event.seconds
            case SessionDetached():
                demand(event.violation is None, LEGALITY, f"{self.name} on {self.site.name}: {event.violation}")
                demand(event.origin is not Origin.VIOLATION, LEGALITY, f"{self.name}: the session is detached: {event.text}")
                if event.ended:
                    self.over(self.present)
                else:
                    self.harm()
            case ConnectionClosed():
                self._closed(event)
            case ExceptionReceived():
                tenure = self.present
                excused = self.tolerant or tenure.brittle
                if tenure.branching and (self.site.crashes or tenure.late):
                    excused = True  # its branch was lost in a crash, or timed out
                if tenure.fleeting and self.site.crashes and event.error_code == 404:
                    excused = True  # the queue was deleted before its subscribe arrived
                demand(excused, LEGALITY, f"{self.site.name} refuses what {self.name} says: {event.description}")
            case _:
                pass
        if self.heard is not None:
            self.heard.append(event)

    def _closed(self, event: ConnectionClosed) -> None:
        demand(
            event.origin in (Origin.EOF, Origin.TIMEOUT, Origin.LOCAL) or (event.origin is Origin.PEER and event.code == 320),
            LEGALITY,
            f"the connection of {self.name} to {self.site.name} is closed: {event.origin} {event.code} {event.text}",
        )
        self.open = False
        if self.wire is not None:
            self.harm()
            self.wire.say()
            self.wire.close_from_client()
            self.wire = None

    def _attached(self, tenure: Tenure, resumed: bool) -> None:
        tenure.well()
        if resumed:
            self.world.count["resumed"] += 1
            for allowance in tenure.allowances.values():
                allowance.resumed()
            for item in tenure.held.values():
                if item.holder is not tenure and item.accept is None and not tenure.brittle:
                    demand(False, LEGALITY, f"{self.name} resumes with {item.words}, which went to others meanwhile")
        elif self.persona.kind.endswith("tx") and not tenure.transactional:
            tenure.session.select_tx()
            tenure.transactional = True
            tenure.group = self.world.ledger.group(f"transaction 1 of {tenure.name}")
        elif "branch" in self.persona.kind or self.persona.kind == "manager":
            tenure.session.select_dtx()
            tenure.branching = not self.tolerant

    def _received(self, tenure: Tenure, event: TransferReceived) -> None:
        destination = event.transfer.destination or ""
        properties = event.delivery_properties
        redelivered = properties is not None and bool(properties.redelivered)
        octets = len(event.header) + len(event.body)
        allowance = tenure.allowances.get(destination)
        demand(
            allowance is not None, LEGALITY, f"{self.name} was sent a message to {destination!r}, which it never subscribed to"
        )
        assert allowance is not None
        allowance.transfer(octets)
        queue, acquired = tenure.queues[destination]
        item = self.world.ledger.find(event.body, self.site.name, queue)
        self.world.count["delivered"] += 1
        explicit = not event.transfer.accept_mode
        if not acquired:
            self.world.ledger.shown(item)
            if explicit:
                tenure.shown[event.id] = item
        else:
            self.world.ledger.received(tenure, item, redelivered, self.world.now, destination)
            if explicit:
                tenure.held[event.id] = item
            else:
                item.holder, item.gone = None, "maybe"
        if explicit:
            tenure.costs[event.id] = destination, octets
        else:
            allowance.complete(octets)

    def _completed(self, tenure: Tenure, ids: RangeSet) -> None:
        for item in tenure.publishing.take(ids):
            if item.publish is None:
                item.born = "yes"
        for items in tenure.accepting.take(ids):
            for item in items:
                item.gone, item.holder = "yes", None
        for group in tenure.deciding.take(ids):
            self.world.count["committed"] += 1
            group.committed()
        for allowance in tenure.allowances.values():
            for id in pick(ids, allowance.ending):
                allowance.ended(id)
        for id in pick(ids, tenure.syncs):
            del tenure.syncs[id]
            for name, waiting in (("publish", tenure.publishing), ("accept", tenure.accepting), ("commit", tenure.deciding)):
                early = [each for each in waiting if serial_lt(each, id)]
                demand(not early, LEGALITY, f"{self.site.name} completes a sync of {self.name} before its {name} {early}")

    def _acquired(self, tenure: Tenure, id: int, ids: RangeSet | None) -> None:
        asked = tenure.acquiring.pop(id, [])
        mine = ids or RangeSet()
        for each in asked:
            item = tenure.shown.get(each)
            if item is not None and each in mine:
                del tenure.shown[each]
                tenure.held[each] = item
                self.world.ledger.received(tenure, item, True, self.world.now, None)

    def _answered(self, tenure: Tenure, event: BranchAnswered) -> None:
        asked = tenure.asked.pop(event.id, None)
        if asked is None:
            return
        verb, branch = asked
        group, status = branch.group, event.status
        if verb == "rollback":
            if status is None:
                _in_doubt(branch)
            return
        if status is None:
            return  # it is over: `over` handles it
        if status is XaStatus.XA_OK:
            if verb == "prepare":
                group.promised.add(self.site.name)
            elif verb == "commit":
                self.world.count["committed"] += 1
                group.committed()
            return
        tenure.late = True
        late = group.due is not None and self.world.now >= group.due
        demand(
            late and status is XaStatus.XA_RBTIMEOUT,
            ATOMICITY,
            f"{self.site.name} answers {verb} of {group.name} with {status.name}",
        )
        demand(
            self.site.name not in group.promised, ATOMICITY, f"{self.site.name} gives up {group.name}, which it had prepared"
        )
        group.rolled_back()
        if tenure.branch is branch:
            tenure.branch = None

    def over(self, tenure: Tenure) -> None:
        """Records the end of the session: unanswered commands have an unknown outcome, and held messages are requeued."""
        if tenure.over:
            return
        tenure.over = True
        for group in tenure.deciding.values():
            group.lost()
        if tenure.group is not None:
            tenure.group.lost()
        for verb, branch in tenure.asked.values():
            if verb == "rollback":
                _in_doubt(branch)
        branches = [branch for _, branch in tenure.asked.values()]
        if tenure.branch is not None:
            branches.append(tenure.branch)
        if not self.tolerant:  # else a manager decides
            for branch in branches:
                if branch.stage == "prepared" and branch.group.outcome == "open":
                    branch.group.outcome = "asked"  # the broker may have prepared it: then it stays until it is decided
                branch.group.lost()
        for item in [*tenure.held.values(), *[each for items in tenure.accepting.values() for each in items]]:
            if item.holder is tenure:
                item.holder = None  # it is back on its queue, marked
        tenure.held.clear()

    # --- at rest --------------------------------------------------------------------------------------------------------------

    def check_rest(self) -> None:
        """Checks that none of its commands is unanswered when no side has output left."""
        demand(self.ready, DEADLOCK, f"{self.name} does not come to {self.site.name}, although nothing is in its way")
        tenure = self.present
        doubt = tenure.session.in_doubt
        demand(not doubt, DEADLOCK, f"{self.site.name} never completes the commands {doubt} of {self.name}")
        for destination, allowance in tenure.allowances.items():
            queue, acquired = tenure.queues[destination]
            subscription = tenure.session.subscriptions.get(destination)
            if subscription is not None and not subscription.cancelled and acquired and allowance.left:
                waiting = [
                    item.words
                    for item in self.world.ledger.items.values()
                    if item.queue == queue and item.site == self.site.name
                    and item.certain and item.holder is None and item.accept is None
                ]  # fmt: skip
                demand(
                    not waiting, DEADLOCK,
                    f"{self.name} has credit for {allowance.left} messages of {queue}, and is not sent {', '.join(waiting)}",
                )  # fmt: skip

    def due(self) -> float:
        """Returns the time until which a branch that begins now cannot time out."""
        return self.world.now + DRIFT * PATIENCE


def _in_doubt(branch: Branch) -> None:
    """Records that a rollback may not have arrived: until a decision, the broker may keep what was accepted in the branch."""
    for item in branch.group.accepts:
        item.brittle = True
