"""A transaction manager with its own disk: it moves messages from one broker to another, each in one distributed
transaction."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

from amqp_sansio.engine.session import Session
from amqp_sansio.engine.two_phase import Ask, Decide, Decision, TwoPhase, presumed_aborts
from amqp_sansio.events import BranchAnswered, BranchesRecovered, Event, TransactionOutcome
from amqp_sansio.spec.codes import DeliveryMode, XaStatus
from amqp_sansio.spec.dtx import Xid
from amqp_sansio.spec.xids import xid
from amqp_sansio.testing.simulation.actions import begin, take
from amqp_sansio.testing.simulation.ledger import MessageGroup
from amqp_sansio.testing.simulation.outcome import ATOMICITY, demand
from amqp_sansio.testing.simulation.session_model import Branch
from amqp_sansio.testing.simulation.simulated_client import ClientLink

if TYPE_CHECKING:
    from amqp_sansio.testing.simulation.world import World

FORMAT: Final = 7
"""The format id by which the manager recognises its own branches."""
QUEUE: Final = "red"

E = TypeVar("E")
SlowTask: TypeAlias = Generator[None, None, E]
"""A task that takes time: each yield lets others act."""


class LostError(Exception):
    """The session with a broker is over, so that no answer will come."""


class Manager:
    """The transaction manager: consumes from the first broker and publishes to the second.

    All its work is one generator, which can be killed at any yield.
    """

    def __init__(self, world: World, lines: tuple[ClientLink, ClientLink]) -> None:
        self.world: Final = world
        self.lines: Final = {line.site.name: line for line in lines}
        self.origin, self.target = lines
        self.decisions: Final[dict[bytes, tuple[tuple[str, int, bytes, bytes], ...]]] = {}
        """The decisions on its disk, by global id."""
        self.groups: Final[dict[bytes, MessageGroup]] = {}
        self.life = 0
        self.closing = False
        self.transfers = 0
        self._course: SlowTask[None] | None = None
        for line in lines:
            line.tolerant = True

    # --- running --------------------------------------------------------------------------------------------------------------

    def advance(self) -> bool:
        """Advances as far as possible; returns False when its course has ended."""
        if self._course is None:
            self.life += 1
            for line in self.lines.values():
                line.heard = []
            self._course = self._live()
            self.world.tell(f"the manager begins, life {self.life}")
        try:
            next(self._course)
        except StopIteration:
            return False
        return True

    def kill(self) -> None:
        """Kills the manager: it loses all that is not on its disk, and its sockets are closed."""
        if self._course is None:
            return
        self.world.tell("the manager is killed")
        self._course.close()
        self._course = None
        self.hang_up()
        for whole, group in self.groups.items():
            if whole not in self.decisions and group.outcome in ("open", "asked"):
                group.rolled_back()  # no side remembers it

    def hang_up(self) -> None:
        """Closes its sockets."""
        for line in self.lines.values():
            line.leave()

    def _live(self) -> SlowTask[None]:
        yield from self._recover()
        while not self.closing:
            yield from self._transfer()
        yield from self._recover()  # commands of an earlier life may have reached a broker only later

    # --- waiting --------------------------------------------------------------------------------------------------------------

    def _open(self, line: ClientLink) -> SlowTask[Session]:
        """Returns the current session if it is attached, or a new one."""
        while not line.ready:
            line.come()
            yield
        return line.present.session

    def _wait(self, line: ClientLink, name: bytes, kind: type[E], which: Callable[[E], bool]) -> SlowTask[E]:
        """Waits for an event of this kind that `which` chooses, on the session of this name.  Raises LostError when the session
        ends first."""
        while True:
            heard = line.heard or []
            for at, event in enumerate(heard):
                if isinstance(event, kind) and getattr(event, "session", name) == name and which(event):
                    del heard[at]
                    return event
            tenure = line.tenure
            if tenure is None or tenure.over or tenure.session.name != name:
                raise LostError
            yield

    # --- its work -------------------------------------------------------------------------------------------------------------

    def _transfer(self) -> SlowTask[None]:
        """Moves one message from one broker to the other."""
        self.transfers += 1
        whole = f"transfer {self.life}.{self.transfers}".encode()
        branches = {name: xid(FORMAT, whole, name.encode()) for name in self.lines}
        group = self.groups[whole] = self.world.ledger.group(whole.decode())
        try:
            if not (yield from self._work(group, branches)):
                group.rolled_back()
                return
            machine = TwoPhase(branches)
        except LostError:
            machine = TwoPhase.abandon(branches)
        yield from self._carry_out(machine, whole)
        self.world.tell(f"the manager is done with {group.name}: {group.outcome}")

    def _work(self, group: MessageGroup, branches: dict[str, Xid]) -> SlowTask[bool]:
        """Takes a message in one branch and publishes it in the other; returns False when there is none and it is closing."""
        line = self.origin
        taken = yield from self._take(line)
        if taken is None:
            return False
        tenure = line.present
        session = tenure.session
        group.due = line.due()
        branch = begin(line, tenure, branches[line.site.name], group)
        started = next(reversed(tenure.asked))
        yield from self._well(line, session, started)
        item = tenure.held.pop(taken)
        tenure.settle(taken)
        take(tenure, session.accept(taken), [item], group)
        self.world.tell(f"the manager accepts {item.words} in {group.name}")
        yield from self._end(line, session, branch)

        line = self.target
        session = yield from self._open(line)
        tenure = line.present
        branch = begin(line, tenure, branches[line.site.name], group)
        yield from self._well(line, session, next(reversed(tenure.asked)))
        made = self.world.ledger.publish(line.site.name, QUEUE, item.priority, tenure.name, True, group, False, 0)
        tenure.publishing[
            session.publish(
                "", body=made.body, routing_key=QUEUE, priority=made.priority, delivery_mode=DeliveryMode.PERSISTENT
            )
        ] = made  # fmt: skip
        self.world.tell(f"the manager publishes it to {line.site.name} as {made.words} in {group.name}")
        yield from self._end(line, session, branch)
        return True

    def _end(self, line: ClientLink, session: Session, branch: Branch) -> SlowTask[None]:
        """Ends the work on a branch in the next round."""
        yield
        branch.stage = "ended"
        if session.state != "attached":
            raise LostError
        yield from self._well(line, session, session.dtx.end(branch.xid))

    def _well(self, line: ClientLink, session: Session, id: int) -> SlowTask[None]:
        """Waits for the answer to a command.  Raises LostError unless it is XA_OK."""
        answered = yield from self._wait(line, session.name, BranchAnswered, lambda event: event.id == id)
        if answered.status is not XaStatus.XA_OK or session.state != "attached":
            raise LostError

    def _take(self, line: ClientLink) -> SlowTask[int | None]:
        """Returns the id of a transfer that it holds; None when it closes before one arrives."""
        while True:
            yield from self._open(line)
            tenure = line.present
            held = [id for id, item in tenure.held.items() if item.holder is tenure]
            if self.closing:
                return None
            if held:
                return held[0]
            if QUEUE not in tenure.allowances:
                tenure.subscribe(QUEUE, QUEUE, False)
            if not tenure.allowances[QUEUE].left:
                tenure.grant(QUEUE, 1)
            yield

    def _carry_out(self, machine: TwoPhase, whole: bytes) -> SlowTask[None]:
        """Carries out the requests of the two-phase machine until it is finished."""
        group = self.groups.get(whole)
        while not machine.finished:
            if group is not None and machine.outcome is TransactionOutcome.ROLLED_BACK:
                group.rolled_back()
            asked: dict[str, bytes] = {}
            for action in machine.take():
                match action:
                    case Decide(decision=decision):
                        yield  # it may be killed before it has decided,
                        self.decisions[whole] = decision.plain
                        if group is not None:
                            group.outcome, group.decided = "asked", True
                        self.world.tell(f"the manager decides to commit {whole.decode()}")
                        yield  # or before it knows that it has
                        machine.durable()
                    case Ask(participant=name, command=command):
                        line = self.lines[name]
                        session = yield from self._open(line)
                        if session.state == "attached":
                            session.send(command, sync=True)
                            asked[name] = session.name
                            self.world.tell(f"the manager says {command.VERB} to {name}")
                        else:
                            machine.lost(name)
            for name in machine.awaited:
                yield from self._listen(machine, name, asked.get(name, b""), group)
        demand(not machine.heuristics, ATOMICITY, f"{whole.decode()}: brokers decided by themselves: {machine.heuristics}")
        if group is not None:
            if machine.outcome is TransactionOutcome.COMMITTED:
                group.decided = False
                if group.outcome == "open":
                    group.outcome = "asked"
                group.committed()
                self.world.count["moved"] += 1
            else:
                group.rolled_back()
        self.decisions.pop(whole, None)

    def _listen(self, machine: TwoPhase, name: str, session: bytes, group: MessageGroup | None) -> SlowTask[None]:
        """Waits until the machine has received the answer of one broker."""
        while name in machine.awaited:
            try:
                event: Event = yield from self._wait(
                    self.lines[name], session, BranchAnswered | BranchesRecovered, lambda event: True  # type: ignore[arg-type]
                )  # fmt: skip
            except LostError:
                if name in machine.awaited:
                    machine.lost(name)
            else:
                prepared = isinstance(event, BranchAnswered) and event.verb == "dtx.prepare"
                if machine.hear(name, event) and group is not None and prepared and machine.states[name] == "prepared":
                    group.promised.add(name)

    # --- after a kill ---------------------------------------------------------------------------------------------------------

    def _recover(self) -> SlowTask[None]:
        """Carries out the stored decisions, and rolls the rest back."""
        for whole, plain in list(self.decisions.items()):
            yield from self._carry_out(TwoPhase.recover(Decision.of(plain)), whole)
        found: dict[str, tuple[Xid, ...]] = {}
        for name, line in self.lines.items():
            while name not in found:
                session = yield from self._open(line)
                session.dtx.recover()
                try:
                    event = yield from self._wait(line, session.name, BranchesRecovered, lambda event: True)
                except LostError:
                    continue
                if event.xids is not None:
                    found[name] = event.xids
        for machine in presumed_aborts(found, [], lambda each: each.format_ == FORMAT):
            yield from self._carry_out(machine, b"")
