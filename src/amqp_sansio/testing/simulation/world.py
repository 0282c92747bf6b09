"""A whole simulation: brokers, clients, a manager, the network between them and time, driven by one plan; and its story.

At the end the network recovers, all clients finish, and everything drains; then the invariants of that state are checked.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from contextlib import suppress
from traceback import extract_tb
from typing import Final, Literal, TypeAlias

from amqp_sansio.config import ClientConfig
from amqp_sansio.engine.client import ClientConnection
from amqp_sansio.errors import ConnectionClosedError, NoCredit, SessionDetachedError
from amqp_sansio.events import BranchesRecovered
from amqp_sansio.spec import queue
from amqp_sansio.spec.dtx import Xid
from amqp_sansio.spec.xids import XidKey, key_of
from amqp_sansio.testing.simulation.actions import ABLE, DOINGS, DURABLE, QUEUES, take
from amqp_sansio.testing.simulation.ledger import MessageGroup, PublishedMessages
from amqp_sansio.testing.simulation.manager import FORMAT, Manager
from amqp_sansio.testing.simulation.outcome import (
    COUNTED,
    DEADLOCK,
    DOUBT,
    LOST,
    RAISED,
    Failure,
    InvariantError,
    Outcome,
    demand,
)
from amqp_sansio.testing.simulation.plan import Persona, Plan, Step
from amqp_sansio.testing.simulation.session_model import ENDLESS
from amqp_sansio.testing.simulation.simulated_client import BRITTLE, KEPT, ClientLink
from amqp_sansio.testing.simulation.site import PATIENCE, Maker, PipePair, SimulatedBroker, model_broker
from amqp_sansio.testing.transcript import SpeakerReader

_HIDDEN: Final = ("protocol header", "connection.")
"""Verbs left out: handshakes are all alike."""


class StoryLines:
    """The lines of a story, if wanted: composing them costs as much as all the rest."""

    def __init__(self, wanted: bool) -> None:
        self.wanted: Final = wanted
        self.lines: Final[list[str]] = []
        self._ears: Final[dict[tuple[PipePair, str], SpeakerReader]] = {}

    def tell(self, at: int, text: str) -> None:
        """Adds a line about an actor in step `at`, 0 for none."""
        if self.wanted:
            self.lines.append(f"{at or '':>4} {text}")

    def said(self, wire: PipePair, speaker: str, listener: str, way: Literal["up", "down"], octets: bytes) -> None:
        """Adds the methods in octets that are sent."""
        if not self.wanted:
            return
        ear = self._ears.get((wire, way))
        if ear is None:
            ear = self._ears[wire, way] = SpeakerReader()
        for words in ear.hear(octets):
            if not words.partition("] ")[2].startswith(_HIDDEN) and not words.startswith(_HIDDEN):
                self.lines.append(f"     {'>' if way == 'up' else '<'} {speaker} to {listener}: {words}")


ClientMaker: TypeAlias = Callable[[ClientConfig], ClientConnection]
"""A function that makes the connection of a client."""

NAMES: Final = ("east", "west")
SECONDS: Final = (0.1, 1.0, 1.0, 5.0, 20.0, 60.0)
"""The durations of a tick, in seconds."""
_CHUNKS: Final = (1, 7, 64, 613, 4096, 1 << 20, 1 << 20)
_WHOLE: Final = 1 << 20
ROUNDS: Final = 400
"""The most rounds of delivery before a simulation must come to rest."""
_ROUND: Final = 5.0
"""Seconds per round: shorter than any heartbeat interval."""


class World:
    """A running simulation.  `client` and `maker` make the clients' connections and the brokers."""

    def __init__(
        self,
        plan: Plan,
        maker: Maker = model_broker,
        client: ClientMaker = ClientConnection,
        tell: bool = False,
    ) -> None:
        self.plan: Final = plan
        self.client: Final = client
        self.now = 1.0
        """The true time in seconds."""
        self.at = 0
        self.ledger: Final = PublishedMessages()
        self.story: Final = StoryLines(tell)
        self.count: Final[dict[str, int]] = dict.fromkeys(COUNTED, 0)
        self.digest = 0
        self.sites: Final = [SimulatedBroker(NAMES[number], number, rate, maker) for number, rate in enumerate(plan.rates)]
        self.lines: Final = [
            ClientLink(self, f"client {number + 1}", self.sites[persona.site % len(self.sites)], persona)
            for number, persona in enumerate(plan.personas)
        ]
        self.visitors: Final[list[ClientLink]] = []
        """Clients that are not of the plan: they prepare the queues, and empty them in the end."""
        self.there: Final[list[ClientLink]] = []
        """The clients of the plan that ever connected."""
        self.found: Final[set[bytes]] = set()
        """The bodies of the messages that are left in the end."""
        self.branches: Final[dict[XidKey, MessageGroup]] = {}
        """Transactions of clients that decide alone, by their branches."""
        self.manager: Manager | None = None
        if len(self.sites) > 1:
            both = [
                ClientLink(self, f"the manager, {site.name},", site, Persona("manager", site.number, 0, 1.0))
                for site in self.sites
            ]
            self.manager = Manager(self, (both[0], both[1]))

    def run(self) -> Outcome:
        """Runs from the first step to the end, or to the first broken invariant."""
        failure: Failure | None = None
        try:
            self.begin()
            for at, step in enumerate(self.plan.steps, 1):
                self.at = at
                self.step(step)
            self.at = 0
            self.end()
        except InvariantError as fault:
            failure = Failure(fault.rule, fault.text, self.at)
        except Exception as error:
            failure = Failure(RAISED, _where(error), self.at)
        if failure is not None:
            self.tell(f"{failure.rule}: {failure.text}")
        return Outcome(self.plan, failure, dict(self.count), self.digest, tuple(self.story.lines))

    def tell(self, text: str) -> None:
        """Adds a line to the story."""
        self.story.tell(self.at, text)

    # --- steps ----------------------------------------------------------------------------------------------------------------

    def step(self, step: Step) -> None:
        """Takes one step of the plan, and sends the output that it causes."""
        does, may = DOINGS.get(step.verb), ABLE.get(step.verb)
        able = self.lines
        if may is not None:  # clients with something to act on come first
            able = [line for line in able if line.tenure is not None and line.ready and may(line.tenure)] or able
        line = able[step.who % len(able)]
        if does is None:
            OWN[step.verb](self, line, step)
        elif line.ready:
            with suppress(ConnectionClosedError, SessionDetachedError, NoCredit):  # it lost a race with the other side
                does(line, line.present, step)
        else:
            self.approach(line)
        self.flow()

    def approach(self, line: ClientLink) -> None:
        """Takes a client that is not ready one step nearer to it."""
        line.come()
        self.flow()
        self.arrive(line, 8, _WHOLE)

    def flow(self) -> bool:
        """Sends the output of all; returns whether there was any."""
        happened = False
        for line in self.every:
            wire = line.wire
            if wire is not None:
                octets = wire.say()
                if octets:
                    happened = True
                    self._said(octets)
                    self.story.said(wire, line.name, line.site.name, "up", octets)
        for site in self.sites:
            for wire, octets in site.turn(self.now):
                happened = True
                self._said(octets)
                if self.story.wanted:
                    name = next((line.name for line in self.every if line.wire is wire), "somebody who left")
                    self.story.said(wire, site.name, name, "down", octets)
        for line in self.every:
            if line.wire is not None and line.wire.harmed:
                line.harm()
        return happened

    @property
    def every(self) -> list[ClientLink]:
        """The lines of all clients, those of the manager among them."""
        return [*self.lines, *self.visitors, *(self.manager.lines.values() if self.manager is not None else ())]

    def _said(self, octets: bytes) -> None:
        self.count["octets"] += len(octets)
        self.digest = zlib.crc32(octets, self.digest)

    def arrive(self, line: ClientLink, pieces: int, most: int) -> bool:
        """Delivers up to `pieces` pieces of up to `most` octets each way on a line; returns whether anything arrived."""
        happened = False
        for _ in range(pieces):
            wire = line.wire
            if wire is None:
                break
            moved = wire.up.arrive(most, self.at or _WHOLE)
            if moved:
                self.flow()
            if wire.down.arrive(most, self.at or _WHOLE):
                moved = True
                line.hear_all()
            if not moved:
                break
            happened = True
            self.flow()
        return happened

    def breathe(self) -> bool:
        """Delivers all octets in flight; returns whether there were any."""
        happened = self.flow()
        for line in self.every:
            happened |= self.arrive(line, 64, _WHOLE)
        for site in self.sites:
            # A wire that its client has given up still carries its end of stream.
            for wire in [wire for wire in site.wires.values() if wire.up.due]:
                if wire.up.arrive(_WHOLE, self.at or _WHOLE):
                    happened = True
                    self.flow()
        return happened

    def crash(self, site: SimulatedBroker, torn: bool) -> None:
        """Crashes a broker, which restarts from its disk."""
        site.gather()
        lost = len(site.taken)
        self.tell(
            f"{site.name} crashes and is restored; {lost} entries were not on its disk{', one torn' if torn and lost else ''}"
        )
        self._begin_anew(site, torn)

    def restart(self, site: SimulatedBroker) -> None:
        """Stops a broker in good order, with no connections and everything on its disk, and starts it again."""
        self.tell(f"{site.name} is stopped and started again")
        for wire in list(site.wires.values()):
            wire.cut()
            wire.up.arrive(_WHOLE, self.at or _WHOLE)
        site.turn(self.now)
        site.snap()
        site.sync()
        self._begin_anew(site, False)

    def _begin_anew(self, site: SimulatedBroker, torn: bool) -> None:
        self.count["crashes"] += 1
        for line in self.every:
            if line.site is site and line.tenure is not None:
                line.tenure.crashed = True
        self.ledger.crashed(site.name, self.now)
        site.crash(torn)
        site.tick(self.now)

    def tick(self, seconds: float) -> None:
        """Advances the true time, and every clock at its own rate."""
        self.now += seconds
        for site in self.sites:
            site.tick(self.now)
        for line in self.every:
            line.tick()
        self.flow()

    # --- the beginning ------------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Declares the queues by a temporary client."""
        self.tick(0.0)
        for site in self.sites:
            line = self._visitor("the first client", site)
            for name in QUEUES:
                line.present.session.send(queue.Declare(name, durable=name in DURABLE), sync=True)
            self._rest()
            self._leave(line)
        self.story.lines.clear()
        self.tell(f"red and blue (durable), grey and {BRITTLE} are declared")

    # --- the end --------------------------------------------------------------------------------------------------------------

    def end(self) -> None:
        """Repairs everything and drains the queues.  Raises Fault when they do not drain, or when an invariant is broken
        then."""
        self.tell("the network heals")
        self.there.extend([line for line in self.lines if line.rounds or line.wire is not None])
        self._heal()
        seconds = 0.0
        while seconds < 1.3 * KEPT:  # until detached sessions that nobody resumes are given up
            self.tick(_ROUND)
            seconds += _ROUND
            self._rest(managed=True)
        self._heal()
        for line in self.there:
            line.check_rest()
        self.tell("everybody leaves")
        self._finish()
        for _ in range(3):
            self.tick(PATIENCE)  # unprepared branches time out
            self._rest()
        self.tell("the queues are emptied")
        for site in self.sites:
            self._drain(site, f"the last client of {site.name}", False)
        self.ledger.drained(self.found)
        for site in self.sites:
            self.crash(site, False)
            self._drain(site, f"a client after a restart of {site.name}", True)

    def _heal(self) -> None:
        """Ends all stalls, and brings clients back that are away."""
        for _ in range(4):
            for line in self.every:
                if line.wire is not None:
                    line.wire.up.until = line.wire.down.until = 0
            for line in self.there:
                line.come()
            self._rest(managed=True)

    def _rest(self, managed: bool = False) -> None:
        """Delivers until no side has output left; with `managed`, the manager works meanwhile."""
        for _ in range(ROUNDS):
            happened = self.breathe()
            for site in self.sites:
                happened |= site.sync()
                happened |= site.tell()
            if managed and self.manager is not None and self.manager.life and not self.manager.closing:
                self.manager.advance()
            if not happened and not self.flow():
                return
        demand(False, DEADLOCK, f"it does not come to rest in {ROUNDS} rounds")

    def _finish(self) -> None:
        manager = self.manager
        if manager is not None and manager.life:
            manager.closing = True
            for _ in range(ROUNDS):
                more = manager.advance()
                self.flow()
                self._rest()
                if not more:
                    break
            else:
                demand(False, DEADLOCK, "the manager does not come to its end")
            manager.hang_up()
        for line in self.there:
            line.leaving = True
            line.harm()
            session = line.present.session
            if session.state == "attached":
                session.request_timeout(0)
        self._rest(managed=True)
        for line in self.there:
            if line.present.session.state == "attached":
                line.present.session.detach()
        self._rest(managed=True)
        for line in self.there:
            self._leave(line)

    # --- visitors -------------------------------------------------------------------------------------------------------------

    def _visitor(self, name: str, site: SimulatedBroker) -> ClientLink:
        """Returns a new client with its session."""
        line = ClientLink(self, name, site, Persona("plain", site.number, 0, 1.0))
        self.visitors.append(line)
        line.connect()
        line.heard = []
        self._rest()
        demand(line.ready, DEADLOCK, f"{line.name} does not get its session")
        return line

    def _leave(self, line: ClientLink) -> None:
        line.leave()
        if line in self.visitors:
            self.visitors.remove(line)
        self._rest()

    def _drain(self, site: SimulatedBroker, name: str, again: bool) -> None:
        """Takes all messages off the queues of a broker.  Raises Fault when they are not empty the second time (`again`)."""
        line = self._visitor(name, site)
        session = line.present.session
        for _ in range(2):
            listed = self._recover(line)
            for each in listed:
                demand(
                    each.format_ != FORMAT, DOUBT, f"{site.name} has {each.global_id!r} in doubt, and its manager is done"
                )  # fmt: skip
                session.dtx.rollback(each)
                group = self.branches.get(key_of(each))
                if group is not None:  # the request for its commit never arrived
                    group.rolled_back()
            self._rest()
        demand(not self._recover(line), DOUBT, f"{site.name} has branches in doubt that were rolled back")
        tenure = line.present
        for queued in QUEUES:
            session.send(queue.Declare(queued, durable=queued in DURABLE))
            tenure.subscribe(queued, queued, True)
            tenure.grant(queued, ENDLESS)
        self._rest()
        items = list(tenure.held.values())
        demand(not (again and items), LOST, f"{[item.words for item in items]} came back after a restart of {site.name}")
        self.found.update([item.body for item in items])
        if tenure.held:
            take(tenure, session.accept(list(tenure.held), sync=True), items, None)
        self._rest()
        demand(not tenure.accepting, DEADLOCK, f"{site.name} never completes the accept of {name}")
        self._leave(line)

    def _recover(self, line: ClientLink) -> tuple[Xid, ...]:
        line.heard = []
        line.present.session.dtx.recover()
        self._rest()
        answers = [event for event in line.heard or () if isinstance(event, BranchesRecovered)]
        demand(answers and answers[0].xids is not None, DEADLOCK, f"{line.site.name} does not answer dtx.recover")
        return answers[0].xids or ()


def _where(error: Exception) -> str:
    """Returns what was raised, and the innermost place."""
    last = extract_tb(error.__traceback__)[-1]
    place = last.filename.rpartition("amqp_sansio/")[2].rpartition("/tests/")[2]
    return f"{type(error).__name__}: {error} ({place}:{last.name})"


# --- verbs of the network, of time and of brokers --------------------------------------------------------------------------


def _arrive(world: World, line: ClientLink, step: Step) -> None:
    if world.arrive(line, 1 + step.a % 8, _CHUNKS[step.b % len(_CHUNKS)]):
        world.tell(f"octets arrive between {line.name} and {line.site.name}")


def _breathe(world: World, line: ClientLink, step: Step) -> None:
    world.breathe()
    world.tell("everything that flies arrives")


def _come(world: World, line: ClientLink, step: Step) -> None:
    if not line.ready:
        world.approach(line)


def _harm(world: World, line: ClientLink, told: str, how: Callable[[PipePair], None]) -> None:
    if line.wire is not None and not line.wire.harmed:
        world.count["cuts"] += 1
        world.tell(told)
        how(line.wire)


def _stall(world: World, line: ClientLink, step: Step) -> None:
    if line.wire is not None:
        world.count["stalls"] += 1
        until = world.at + 5 + step.b % 40
        for pipe in (line.wire.up, line.wire.down)[step.a % 3 % 2 : 1 + (step.a % 3 > 0)]:
            pipe.until = until
        world.tell(f"the connection of {line.name} stalls until step {until}")


def _tick(world: World, line: ClientLink, step: Step) -> None:
    seconds = SECONDS[step.a % len(SECONDS)]
    world.tell(f"{seconds} s pass")
    world.tick(seconds)


def _store(world: World, line: ClientLink, step: Step) -> None:
    site = line.site
    if site.sync(None if step.a % 3 else 1 + step.b % 4):
        world.tell(f"entries up to {site.synced} are on the disk of {site.name}")
    if step.c % 4:
        site.tell()


def _snapshot(world: World, line: ClientLink, step: Step) -> None:
    world.tell(f"{line.site.name} makes a snapshot")
    line.site.snap()


def _crash(world: World, line: ClientLink, step: Step) -> None:
    if step.a % 2:
        line.site.gather()
        line.site.sync(1 + step.b % 4)
    world.crash(line.site, bool(step.c % 2))


def _manage(world: World, line: ClientLink, step: Step) -> None:
    if world.manager is not None:
        for each in world.manager.lines.values():
            world.arrive(each, 1 + step.a % 4, _WHOLE)
        for _ in range(1 + step.b % 3):
            world.manager.advance()
            world.flow()


def _kill(world: World, line: ClientLink, step: Step) -> None:
    if world.manager is not None:
        world.manager.kill()


OWN: Final[dict[str, Callable[[World, ClientLink, Step], None]]] = {
    "arrive": _arrive, "breathe": _breathe, "come": _come, "stall": _stall, "tick": _tick, "store": _store,
    "snapshot": _snapshot, "crash": _crash, "manage": _manage, "kill": _kill,
    "cut": lambda world, line, _: _harm(world, line, f"the connection of {line.name} is cut", PipePair.cut),
    "half-close": lambda world, line, _: _harm(
        world, line, f"{line.name} closes its half of the connection", PipePair.half_close
    ),
    "restart": lambda world, line, _: world.restart(line.site),
}  # fmt: skip
