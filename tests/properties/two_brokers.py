"""Two brokers that write journals to disks, a transaction manager with a disk, links of octets between them; all can be killed.

Everything happens in steps that are counted.  At the step that it is told, the world kills whom it is told: a manager or a
broker forgets all that is not on its disk, a link loses the octets in flight.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from amqp_sansio.broker.broker import Broker, Peer
from amqp_sansio.broker.config import BrokerConfig
from amqp_sansio.broker.encoding import decode_entry, encode_entry
from amqp_sansio.broker.journal import Entry
from amqp_sansio.broker.snapshot import decode_snapshot, encode_snapshot
from amqp_sansio.engine.client import ClientConnection
from amqp_sansio.engine.session import Session
from amqp_sansio.engine.two_phase import Ask, Decide, Decision, TwoPhase, presumed_aborts
from amqp_sansio.errors import SessionDetachedError
from amqp_sansio.events import (
    BranchAnswered,
    BranchesRecovered,
    CommandsCompleted,
    ConnectionOpened,
    Event,
    SessionAttached,
    TransferReceived,
)
from amqp_sansio.spec import queue
from amqp_sansio.spec.codes import XaStatus
from amqp_sansio.spec.dtx import Xid
from amqp_sansio.spec.message import DeliveryProperties
from amqp_sansio.spec.xids import xid

FORMAT = 7  # by which the manager knows its own branches
JOURNAL = BrokerConfig(journal=True)
E = TypeVar("E")


class Killed(Exception):
    """The manager is dead."""


class Lost(Exception):
    """The session with a broker is over: whatever was asked has no answer."""


class Site:
    """A broker, its disk, and the manager's link to it."""

    def __init__(self, world: World, name: str, config: BrokerConfig = JOURNAL) -> None:
        self.world = world
        self.name = name
        self.config = config
        self.broker = Broker(config)
        self.stored: list[bytes] = []  # the disk
        self.snapshot: bytes | None = None  # likewise
        self.wrote = 0
        """The number of the entry that came to the disk last."""
        self.taken: list[Entry] = []  # in the memory of its adapter
        self.client: ClientConnection | None = None
        self.peer: Peer | None = None
        self.session: Session | None = None
        self.sessions = 0
        self.heard: list[Event] = []

    # --- what can happen to it ----------------------------------------------------------------------------------------------

    def crash(self) -> None:
        """The broker is gone, and is there again with what its disk has."""
        snapshot = None if self.snapshot is None else decode_snapshot(self.snapshot)
        self.broker = Broker.restore(snapshot, [decode_entry(each) for each in self.stored], config=self.config)
        self.broker.tick(self.world.now)
        self.taken.clear()
        self.peer = None
        self.cut()

    def cut(self) -> None:
        """The link breaks: both ends hear it, and what flies is lost."""
        if self.peer is not None:
            self.peer.receive_eof()
            self.turn()
        if self.client is not None:
            self.client.receive_eof()
            self.heard += self.client.events()
        self.client = self.peer = self.session = None

    def leave(self) -> None:
        """The manager died: the broker hears that its link has ended."""
        self.client = None
        self.cut()
        self.heard.clear()

    # --- octets -------------------------------------------------------------------------------------------------------------

    def turn(self) -> None:
        for _ in self.broker.events():
            pass

    def store(self) -> None:
        """What the adapter of the broker does, step by step; now and then it makes a new snapshot first."""
        broker = self.broker
        self.taken += broker.journal()
        while broker is self.broker:
            if self.wrote > broker._journals.done:
                broker.journalled(self.wrote)
                self.world.step(f"{self.name} knows that it wrote")
            elif self.taken:
                self.world.step(f"{self.name} writes")
                if broker is self.broker:
                    self.write(self.taken.pop(0))
            else:
                return

    def write(self, entry: Entry) -> None:
        """One entry comes to the disk, and to every third a snapshot with it."""
        self.stored.append(encode_entry(entry))
        self.wrote = entry.number
        broker = self.broker
        self.world.step(f"{self.name} wrote {entry.number}")
        if entry.number % 3 == 0 and broker is self.broker:
            self.snapshot, self.stored = encode_snapshot(broker.snapshot()), []
            self.world.step(f"{self.name} has a new snapshot")

    def carry(self) -> bool:
        """Octets go once there and back, in two parts each; whether there were any."""
        client, peer, broker = self.client, self.peer, self.broker
        if client is None or peer is None:
            return False
        moved = False
        for part in halves(client.data_to_send()):
            moved = True
            self.world.step(f"to {self.name}")
            if peer is not self.peer:
                return True
            peer.receive_data(part)
            self.turn()
            self.answers()  # before anything is stored, too
            self.store()
            if broker is not self.broker or peer is not self.peer:
                return True
        return self.answers() or moved

    def answers(self) -> bool:
        """What the broker has to say goes to the client, in two parts; whether there was anything."""
        client = self.client
        moved = False
        for ready in self.broker.ready():
            for part in halves(ready.data_to_send()):
                if ready is self.peer:
                    moved = True
                    self.world.step(f"from {self.name}")
                if ready is self.peer and client is not None:
                    client.receive_data(part)
                    self.heard += client.events()
        return moved

    # --- what the manager says ----------------------------------------------------------------------------------------------

    def wait(self, kind: type[E], which: Callable[[E], bool] = lambda event: True) -> E:
        """Until such an event came; `Lost` when the session ended before."""
        while True:
            for event in self.heard:
                if isinstance(event, kind) and which(event):
                    self.heard.remove(event)
                    return event
            if self.client is None or (self.session is not None and self.session.state == "ended"):
                raise Lost
            if not self.carry():
                raise AssertionError(f"{self.name}: nobody says anything; a {kind.__name__} is awaited among {self.heard}")

    def open(self) -> Session:
        """A session that lives: the one that there is, or a new one, if need be on a new connection."""
        while True:
            try:
                if self.client is None:
                    self.heard.clear()
                    self.client, self.peer = ClientConnection(), self.broker.connect()
                    self.session = None
                    self.wait(ConnectionOpened)
                if self.session is None or self.session.state == "ended":
                    self.heard.clear()
                    self.sessions += 1
                    self.session = self.client.session(f"{self.world.life}-{self.sessions}")
                    self.wait(SessionAttached)
            except Lost:
                continue
            return self.session

    def say(self, say: Callable[[Session], int]) -> int:
        """Says a command on the session; `Lost` when there is none any more."""
        if self.session is None:
            raise Lost
        try:
            return say(self.session)
        except SessionDetachedError:
            raise Lost from None

    def done(self, say: Callable[[Session], int]) -> None:
        """Says a command and waits until it is complete."""
        id = self.say(say)
        self.say(lambda session: session.sync())
        self.wait(CommandsCompleted, lambda event: id in event.ids)

    def answer(self, say: Callable[[Session], int]) -> XaStatus | None:
        """Says something about a branch, and waits for its status."""
        id = self.say(say)
        return self.wait(BranchAnswered, lambda event: event.id == id).status

    def on(self, name: str) -> list[bytes]:
        """What is on a queue, whether somebody has it or not."""
        return [entry.message.body for entry in self.broker.host().queues[name].all()]


def halves(octets: bytes) -> list[bytes]:
    """Two parts; nothing of nothing."""
    return [part for part in (octets[: len(octets) // 2], octets[len(octets) // 2 :]) if part]


class World:
    """All of it.  `kill`: at which step, and what then; it may be called again for further ones."""

    def __init__(self, bodies: tuple[bytes, ...] = (b"one", b"two")) -> None:
        self.now = 0.0
        self.life = 1
        """Of the manager; it is on its disk."""
        self.decisions: dict[bytes, tuple[tuple[str, int, bytes, bytes], ...]] = {}
        """On the manager's disk, by global id."""
        self.told: list[str] = []
        """The steps, in words."""
        self.steps = 0
        self.counting = False
        self.kills: dict[int, str] = {}
        self.on_step: Callable[[str], None] = lambda label: None
        self.bodies = bodies
        self.east, self.west = Site(self, "east"), Site(self, "west")
        self.sites = {"east": self.east, "west": self.west}
        self.transfers = 0
        for site, name in ((self.east, "from"), (self.west, "to")):
            site.broker.tick(self.now)
            site.open()
            site.done(lambda session, name=name: session.send(queue.Declare(name, durable=True)))  # type: ignore[misc]
        for body in bodies:
            self.east.done(lambda session, body=body: publish(session, "from", body))  # type: ignore[misc]
        self.counting = True

    # --- fate ---------------------------------------------------------------------------------------------------------------

    def step(self, label: str) -> None:
        """One moment; fate may strike."""
        self.on_step(label)
        if not self.counting:
            return
        self.steps += 1
        self.told.append(label)
        victim = self.kills.pop(self.steps, None)
        if victim is not None:
            self.strike(victim)

    def strike(self, victim: str) -> None:
        """Kills."""
        counting, self.counting = self.counting, False
        for name, site in self.sites.items():
            if victim in (name, "all"):
                site.crash()
            elif victim == f"link {name}":
                site.cut()
            elif victim == "manager":
                site.leave()
        self.counting = counting
        if victim in ("manager", "all"):
            raise Killed

    def pass_time(self, seconds: float) -> None:
        """Branches that nobody prepared time out."""
        self.now += seconds
        for site in self.sites.values():
            site.broker.tick(self.now)
            site.turn()
            site.store()

    # --- the manager --------------------------------------------------------------------------------------------------------

    def live(self) -> None:
        """The manager carries out its work, through all of its deaths."""
        while True:
            try:
                self.recover()
                self.check()
                while self.transfer():
                    self.check()
                return
            except Killed:
                for site in self.sites.values():
                    site.leave()
                self.life += 1

    def transfer(self) -> bool:
        """One message from east to west; whether there was one, or anything went wrong."""
        self.transfers += 1
        whole = f"transfer {self.life}.{self.transfers}".encode()
        branches = {name: xid(FORMAT, whole, name.encode()) for name in self.sites}
        try:
            if not self.work(branches):
                return False
            machine = TwoPhase(branches)
        except Lost:
            machine = TwoPhase.abandon(branches)
        self.carry_out(machine, whole)
        if machine.outcome == "rolled back":
            self.settle_doomed()
        return True

    def work(self, branches: dict[str, Xid]) -> bool:
        """Takes a message in one branch and publishes it in the other; False when there is none."""
        east, west = self.east, self.west
        east.open()
        east.say(select)
        east.say(lambda session: session.subscribe("from", "in").grant(1))
        mark = east.say(lambda session: session.subscriptions["in"].flush(sync=True))
        east.wait(CommandsCompleted, lambda event: mark in event.ids)
        found = [event for event in east.heard if isinstance(event, TransferReceived)]
        east.heard.clear()
        east.say(lambda session: session.subscriptions["in"].cancel())
        if not found:
            return False
        (taken,) = found
        demand(east.answer(lambda session: session.dtx.start(branches["east"])))
        east.say(lambda session: session.accept(taken.id))
        demand(east.answer(lambda session: session.dtx.end(branches["east"])))
        west.open()
        west.say(select)
        demand(west.answer(lambda session: session.dtx.start(branches["west"])))
        west.say(lambda session: publish(session, "to", taken.body))
        demand(west.answer(lambda session: session.dtx.end(branches["west"])))
        return True

    def carry_out(self, machine: TwoPhase, whole: bytes) -> None:
        """Does what the machine asks for, until it is finished."""
        while not machine.finished:
            for action in machine.take():
                match action:
                    case Decide(decision=decision):
                        self.step("the manager decides")
                        self.decisions[whole] = decision.plain
                        self.step("the manager has decided")
                        machine.durable()
                        self.step("the machine knows that it is durable")
                    case Ask(participant=name, command=command):
                        site = self.sites[name]
                        site.open()
                        self.step(f"{command.VERB} of {name} is to be said")
                        try:
                            site.say(lambda session, command=command: session.send(command, sync=True))  # type: ignore[misc]
                        except Lost:
                            machine.lost(name)
            for name in machine.awaited:
                self.listen(machine, name)
        self.step("it is finished")
        self.decisions.pop(whole, None)
        self.step("it is forgotten")

    def listen(self, machine: TwoPhase, name: str) -> None:
        """Until the machine has heard the answer of one participant."""
        site = self.sites[name]
        while name in machine.awaited:
            try:
                event: Event = site.wait(BranchAnswered | BranchesRecovered)  # type: ignore[arg-type]
            except Lost:
                if name in machine.awaited:
                    machine.lost(name)
            else:
                machine.hear(name, event)
                self.step(f"{name} has answered")

    def recover(self) -> None:
        """What a manager does that begins again: stored decisions are carried out, the rest is rolled back."""
        for site in self.sites.values():
            site.store()
        kept = {whole: Decision.of(plain) for whole, plain in self.decisions.items()}
        for whole, decision in kept.items():
            self.carry_out(TwoPhase.recover(decision), whole)
        for machine in presumed_aborts(self.in_doubt(), [], lambda each: each.format_ == FORMAT):
            self.carry_out(machine, b"")
        self.settle_doomed()

    def in_doubt(self) -> dict[str, tuple[Xid, ...]]:
        """What each broker lists."""
        found = {}
        for name, site in self.sites.items():
            while name not in found:
                site.open()
                try:
                    site.say(lambda session: session.dtx.recover())
                    event = site.wait(BranchesRecovered)
                except Lost:
                    continue
                if event.xids is not None:
                    found[name] = event.xids
        return found

    def settle_doomed(self) -> None:
        """What was not even ended is rolled back when its time is over."""
        self.pass_time(0.0)  # their time begins
        self.pass_time(100.0)

    # --- what must hold -----------------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Nothing is in doubt, and each message is on exactly one side."""
        assert self.doubtful == 0
        assert sorted([*self.east.on("from"), *self.west.on("to")]) == sorted(self.bodies)

    @property
    def doubtful(self) -> int:
        """Branches in doubt, everywhere."""
        return sum([len(site.broker.coordinator().in_doubt) for site in self.sites.values()])


def publish(session: Session, key: str, body: bytes) -> int:
    """A persistent message."""
    return session.publish("", DeliveryProperties(routing_key=key, delivery_mode=2), body=body)


def select(session: Session) -> int:
    """The session may work on branches; saying so twice does no harm."""
    return session.select_dtx().session.sync()


def demand(status: XaStatus | None) -> None:
    """The work goes on when this is ok; else it is lost."""
    if status is not XaStatus.XA_OK:
        raise Lost
