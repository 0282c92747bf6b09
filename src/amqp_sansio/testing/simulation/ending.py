"""The end of a simulation: the network recovers, all clients finish, everything drains; and the invariants of that state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqp_sansio.events import BranchesRecovered
from amqp_sansio.spec import queue
from amqp_sansio.spec.dtx import Xid
from amqp_sansio.spec.xids import key_of
from amqp_sansio.testing.simulation.actions import DURABLE, QUEUES
from amqp_sansio.testing.simulation.manager import FORMAT
from amqp_sansio.testing.simulation.outcome import DEADLOCK, DOUBT, LOST, demand
from amqp_sansio.testing.simulation.plan import Persona
from amqp_sansio.testing.simulation.session_model import ENDLESS, Allowance
from amqp_sansio.testing.simulation.simulated_client import BRITTLE, KEPT, ClientLink
from amqp_sansio.testing.simulation.site import PATIENCE, SimulatedBroker

if TYPE_CHECKING:
    from amqp_sansio.testing.simulation.world import World

ROUNDS: Final = 400
"""The most rounds of delivery before a simulation must come to rest."""
_STEP: Final = 5.0
"""Seconds per round: shorter than any heartbeat interval."""


class SimulationEnds:
    """The parts of a simulation before its first and after its last step."""

    def __init__(self, world: World) -> None:
        self.world: Final = world
        self.found: Final[set[bytes]] = set()
        self.there: Final[list[ClientLink]] = []
        """The clients that ever connected."""

    # --- the beginning ------------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Declares the queues by a temporary client."""
        self.world.tick(0.0)
        for site in self.world.sites:
            line = self._visitor("the first client", site)
            for name in QUEUES:
                line.present.session.send(queue.Declare(name, durable=name in DURABLE), sync=True)
            self._rest()
            self._leave(line)
        self.world.story.lines.clear()
        self.world.tell(f"red and blue (durable), grey and {BRITTLE} are declared")

    # --- the end --------------------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Repairs everything and drains the queues.  Raises Fault when they do not drain, or when an invariant is broken
        then."""
        world = self.world
        world.tell("the network heals")
        self.there.extend([line for line in world.every_client if line.rounds or line.wire is not None])
        self._heal()
        seconds = 0.0
        while seconds < 1.3 * KEPT:  # until detached sessions that nobody resumes are given up
            world.tick(_STEP)
            seconds += _STEP
            self._rest(self.there)
        self._heal()
        for line in self.there:
            line.check_rest()
        world.tell("everybody leaves")
        self._finish()
        for _ in range(3):
            world.tick(PATIENCE)  # unprepared branches time out
            self._rest()
        world.tell("the queues are emptied")
        for site in world.sites:
            self._drain(site, f"the last client of {site.name}", False)
        world.ledger.drained(self.found)
        for site in world.sites:
            world.crash(site, False)
            self._drain(site, f"a client after a restart of {site.name}", True)

    def _heal(self) -> None:
        """Ends all stalls, and brings clients back that are away."""
        world = self.world
        for _ in range(4):
            for line in world.every:
                if line.wire is not None:
                    line.wire.up.until = line.wire.down.until = 0
            for line in self.there:
                line.come()
            self._rest(self.there)

    def _rest(self, lines: list[ClientLink] | None = None) -> None:
        """Delivers until no side has output left, with the manager at work among these lines; None: it pauses."""
        world = self.world
        for _ in range(ROUNDS):
            happened = world.breathe()
            for line in lines or ():
                happened |= world.arrive(line, 64, 1 << 20)
            for site in world.sites:
                happened |= site.sync()
                happened |= site.tell()
            if lines is not None and world.manager is not None and world.manager.life and not world.manager.closing:
                world.manager.advance()
            if not happened and not world.flow():
                return
        demand(False, DEADLOCK, f"it does not come to rest in {ROUNDS} rounds")

    def _finish(self) -> None:
        world = self.world
        manager = world.manager
        if manager is not None and manager.life:
            manager.closing = True
            for _ in range(ROUNDS):
                more = manager.advance()
                world.flow()
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
        self._rest(self.there)
        for line in self.there:
            if line.present.session.state == "attached":
                line.present.session.detach()
        self._rest(self.there)
        for line in self.there:
            self._leave(line)

    # --- visitors -------------------------------------------------------------------------------------------------------------

    def _visitor(self, name: str, site: SimulatedBroker) -> ClientLink:
        """Returns a new client with its session."""
        line = ClientLink(self.world, name, site, Persona("plain", site.number, 0, 1.0))
        self.world.lines.append(line)
        line.connect()
        line.heard = []
        self._rest()
        demand(line.ready, DEADLOCK, f"{line.name} does not get its session")
        return line

    def _leave(self, line: ClientLink) -> None:
        line.drop()
        if line.tenure is not None:
            line.over(line.tenure)
        if line in self.world.lines and line not in self.world.every_client:
            self.world.lines.remove(line)
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
                for group in self.world.ledger.groups:  # the request for its commit never arrived
                    xids = self.world.xids.get(group.name)
                    if xids is not None and key_of(xids) == key_of(each):
                        group.rolled_back()
            self._rest()
        demand(not self._recover(line), DOUBT, f"{site.name} has branches in doubt that were rolled back")
        tenure = line.present
        for queued in QUEUES:
            session.send(queue.Declare(queued, durable=queued in DURABLE))
            tenure.queues[queued] = queued, True
            allowance = tenure.allowances[queued] = Allowance(queued, True)
            session.subscribe(queued, queued).grant(ENDLESS)
            allowance.grant(ENDLESS)
        self._rest()
        items = list(tenure.held.values())
        demand(not (again and items), LOST, f"{[item.words for item in items]} came back after a restart of {site.name}")
        self.found.update([item.body for item in items])
        if tenure.held:
            said = session.accept(list(tenure.held), sync=True)
            tenure.accepting[said] = items
            for item in items:
                item.gone = "maybe"
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
