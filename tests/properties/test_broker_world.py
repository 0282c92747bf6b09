"""Model against machine: clients, a broker and time, and a ledger that sees only what clients say and hear.

No message is ever lost, doubled without the redelivered mark, or delivered against credit; a committed transaction is whole, a
rolled back one invisible.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.broker.ledger import Group, Ledger
from tests.broker.stage import Actor, Stage
from tests.properties.minds import Branch, Mind

from amqp_sansio.broker.config import BrokerConfig
from amqp_sansio.events import BranchesRecovered, Event, TransferReceived
from amqp_sansio.spec import queue
from amqp_sansio.spec.codes import FlowMode
from amqp_sansio.spec.dtx import Xid
from amqp_sansio.spec.xids import key_of, xid

QUEUES = ("red", "blue")
PATIENCE = 3000  # seconds that a branch may take: more than pass before everybody leaves
SEEDS = st.integers(0, 2**20)
NAMES = ("plain", "lasting", "tx", "lasting tx", "branch", "lasting branch")


class World(RuleBasedStateMachine):
    """Rules are what clients and the network may do at any time."""

    def __init__(self) -> None:
        super().__init__()
        self.ledger = Ledger()
        self.stage = Stage(BrokerConfig(branch_timeout=PATIENCE, most_branch_timeout=PATIENCE))
        self.branches = 0
        self.every_branch: list[Branch] = []
        self.minds: dict[str, Mind] = {}
        self.actors: dict[str, Actor] = {}
        self.random = Random(0)

    @initialize()
    def begin(self) -> None:
        """A first client declares the queues; the others come."""
        first = self.stage.actor("first", 0, lambda actor, event: None)
        self.stage.settle()
        assert first.session is not None
        for name in QUEUES:
            first.session.send(queue.Declare(name))
        first.session.sync()
        self.stage.settle()
        for name in NAMES:
            self.minds[name] = Mind(name, self.ledger)
            self.actors[name] = self.stage.actor(name, 600 if "lasting" in name else 0, self.hear)
        self.stage.settle()
        for number, name in enumerate(NAMES):  # everybody takes something, in one way or the other
            for which in QUEUES[: 1 + number % 2]:
                self.subscribe_to(name, which, window=number < 2, credit=3)

    # --- what actors hear ----------------------------------------------------------------------------------------------------

    def hear(self, actor: Actor, event: Event) -> None:
        """Brings the ledger up to date."""
        self.minds[actor.name].hear(actor, event)

    # --- what actors do ------------------------------------------------------------------------------------------------------

    def able(self) -> list[str]:
        return [name for name in self.actors if self.actors[name].ready]

    def away(self) -> list[str]:
        return [name for name in self.actors if self.actors[name].wire is None]

    def holders(self) -> list[str]:
        return [name for name in self.able() if self.minds[name].settleable()]

    def some_held(self) -> tuple[Actor, Mind, list[int]]:
        """Somebody, and some of what they can settle."""
        name = self.random.choice(self.holders())
        ids = self.minds[name].settleable()
        return self.actors[name], self.minds[name], self.random.sample(ids, self.random.randint(1, min(len(ids), 5)))

    @rule(seed=SEEDS)
    @precondition(lambda self: self.able())
    def publish(self, seed: int) -> None:
        self.random.seed(seed)
        self.publishes()

    def publishes(self) -> None:
        actor = self.actors[self.random.choice(self.able())]
        mind = self.minds[actor.name]
        name, priority = self.random.choice(QUEUES), self.random.choice([0, 4, 9])
        assert actor.session is not None
        for _ in range(self.random.randint(1, 4)):
            group = mind.work
            item = self.ledger.published(f"{actor.name}-{actor.rounds}", name, priority, group)
            id = actor.session.publish("", body=item.body, routing_key=name, priority=priority)
            mind.publishing[id] = item

    @rule(seed=SEEDS)
    @precondition(lambda self: self.able())
    def subscribe(self, seed: int) -> None:
        self.random.seed(seed)
        self.subscribes()

    def subscribes(self) -> None:
        who, name = self.random.choice(self.able()), self.random.choice(QUEUES)
        self.subscribe_to(who, name, window=self.random.random() < 0.5, credit=self.random.randint(1, 5))

    def subscribe_to(self, who: str, name: str, window: bool, credit: int) -> None:
        session, mind = self.actors[who].session, self.minds[who]
        assert session is not None
        if name in session.subscriptions:
            return
        subscription = session.subscribe(name, name)
        if not window:
            subscription.set_mode(FlowMode.CREDIT)
        subscription.grant(credit)
        mind.credit[name] = credit

    @rule(seed=SEEDS)
    @precondition(lambda self: self.able())
    def grant(self, seed: int) -> None:
        self.random.seed(seed)
        self.grants()

    def grants(self) -> None:
        actor = self.actors[self.random.choice(self.able())]
        assert actor.session is not None
        names = sorted(actor.session.subscriptions)
        if names:
            name, credit = self.random.choice(names), self.random.randint(1, 5)
            actor.session.subscriptions[name].grant(credit)
            self.minds[actor.name].credit[name] += credit

    @rule(seed=SEEDS)
    @precondition(lambda self: self.holders())
    def accept(self, seed: int) -> None:
        self.random.seed(seed)
        self.accepts()

    def accepts(self) -> None:
        actor, mind, ids = self.some_held()
        assert actor.session is not None
        mind.settle_credit(actor.session, ids)
        said = actor.session.accept(ids)
        work = mind.work
        if work is None:
            mind.accepting[said] = [mind.held[each] for each in ids]
        for each in ids:
            item = mind.held[each]
            if work is not None:
                item.where, item.accept = "accepted back", work
                work.accepts.append(item)
            else:
                item.where, item.accept = "accepting", None
            if not mind.transactional:  # a local transaction that is rolled back leaves it with the session
                del mind.held[each]

    @rule(seed=SEEDS)
    @precondition(lambda self: self.holders())
    def release(self, seed: int) -> None:
        self.random.seed(seed)
        self.releases()

    def releases(self) -> None:
        actor, mind, ids = self.some_held()
        self.release_these(actor, mind, ids, self.random.random() < 0.5)

    def release_these(self, actor: Actor, mind: Mind, ids: list[int], mark: bool) -> None:
        assert actor.session is not None
        mind.settle_credit(actor.session, ids)
        actor.session.release(ids, mark)
        for each in ids:
            item = mind.held.pop(each)
            item.where, item.holder = "queued", None
            item.unmarked = not mark and not item.marked
            item.marked = item.marked or mark

    @rule(seed=SEEDS)
    @precondition(lambda self: self.holders())
    def reject(self, seed: int) -> None:
        self.random.seed(seed)
        self.rejects()

    def rejects(self) -> None:
        """Nobody gets it any more: the queues have no alternate exchange."""
        actor, mind, ids = self.some_held()
        assert actor.session is not None
        mind.settle_credit(actor.session, ids)
        mind.accepting[actor.session.reject(ids)] = [mind.held[each] for each in ids]
        for each in ids:
            item = mind.held.pop(each)
            item.where, item.accept = "accepting", None

    @rule(seed=SEEDS)
    @precondition(lambda self: self.branchers())
    def branch(self, seed: int) -> None:
        self.random.seed(seed)
        self.branches_out()

    def branchers(self) -> list[str]:
        return [name for name in self.able() if "branch" in name]

    def branches_out(self) -> None:
        """One step of a distributed transaction, without waiting for the answer to the one before."""
        name = self.random.choice(self.branchers())
        session, mind = self.actors[name].session, self.minds[name]
        assert session is not None
        branch = mind.branch
        if branch is None:
            self.branches += 1
            mind.branch = branch = Branch(xid(1, b"%d" % self.branches))
            self.every_branch.append(branch)
            session.dtx.start(branch.xid)
        elif branch.stage == "active":
            session.dtx.end(branch.xid)
            branch.stage = "ended"
        elif branch.stage == "ended" and (branch.group.publishes or branch.group.accepts) and self.random.random() < 0.6:
            session.dtx.prepare(branch.xid)
            branch.stage = "prepared"
        elif self.random.random() < 0.6:
            mind.decisions[session.dtx.commit(branch.xid, one_phase=branch.stage == "ended")] = branch
            branch.stage = "committing"
            branch.group.outcome = "asked"
            for item in branch.group.publishes:
                item.where = "deciding"
            for item in branch.group.accepts:
                item.where, item.holder = "accepting", None
            mind.branch = None
        else:
            session.dtx.rollback(branch.xid)
            branch.stage = "over"
            branch.group.rolled_back()  # what was accepted in it goes back to its queue, marked
            mind.branch = None

    @rule(seed=SEEDS)
    @precondition(lambda self: self.deciders())
    def decide(self, seed: int) -> None:
        self.random.seed(seed)
        self.decides()

    def deciders(self) -> list[str]:
        return [name for name in self.able() if "tx" in name]

    def decides(self) -> None:
        name = self.random.choice(self.deciders())
        actor, mind = self.actors[name], self.minds[name]
        assert mind.tx is not None
        group, mind.group = mind.group, Group()
        of_group = [id for id, item in mind.held.items() if item.accept is group]
        if self.random.random() < 0.6:
            group.outcome = "asked"
            for item in group.publishes:
                item.where = "deciding"
            for item in group.accepts:
                item.where = "accepting"
            for id in of_group:
                del mind.held[id]
            mind.deciding[mind.tx.commit()] = (group, True)
        else:
            mind.tx.rollback()
            group.rolled_back(name)
            for item in group.accepts:  # the session still holds them
                item.accept = None
            if of_group and self.random.random() < 0.5:
                self.release_these(actor, mind, sorted(of_group), False)

    # --- the network and time ------------------------------------------------------------------------------------------------

    @rule(seed=SEEDS)
    def let_arrive(self, seed: int) -> None:
        self.random.seed(seed)
        self.arrives()

    def arrives(self) -> None:
        names = [*NAMES]
        self.random.shuffle(names)
        for name in names[: self.random.randint(1, len(names))]:
            self.stage.step(self.actors[name], self.random.randint(1, 8))

    @rule(seed=SEEDS)
    def cut(self, seed: int) -> None:
        self.random.seed(seed)
        self.cuts()

    def cuts(self) -> None:
        """A connection breaks with whatever flies on it."""
        name = self.random.choice(NAMES)
        self.stage.cut(self.actors[name])
        if self.random.random() < 0.7:
            self.actors[name].connect()

    @rule(seed=SEEDS)
    @precondition(lambda self: self.away())
    def come_back(self, seed: int) -> None:
        self.random.seed(seed)
        self.comes_back()

    def comes_back(self) -> None:
        self.actors[self.random.choice(self.away())].connect()

    @rule(seconds=st.sampled_from([0.0, 1.0, 20.0]))
    def time_passes(self, seconds: float) -> None:
        self.stage.tick(seconds)

    @rule()
    def come_to_rest(self) -> None:
        self.stage.settle()

    @rule(seed=SEEDS, many=st.integers(1, 40))
    def a_while(self, seed: int, many: int) -> None:
        """Many of these things, one after the other."""
        self.random.seed(seed)
        for _ in range(many):
            does, may, weight = self.random.choice(self.doings)
            if may() and self.random.random() < weight:
                does()

    @property
    def doings(self) -> list[tuple[Callable[[], None], Callable[[], object], float]]:
        """What may be done, when, and how often of ten times."""
        return [
            (self.publishes, self.able, 1.0),
            (self.subscribes, self.able, 0.3),
            (self.grants, self.able, 0.6),
            (self.accepts, self.holders, 1.0),
            (self.releases, self.holders, 0.5),
            (self.rejects, self.holders, 0.1),
            (self.decides, self.deciders, 0.7),
            (self.branches_out, self.branchers, 1.0),
            (self.arrives, lambda: True, 1.0),
            (self.arrives, lambda: True, 1.0),
            (self.cuts, lambda: True, 0.15),
            (self.comes_back, self.away, 1.0),
            (lambda: self.stage.tick(self.random.choice([0.0, 1.0])), lambda: True, 0.3),
        ]

    @invariant()
    def counts_are_counts(self) -> None:
        """Counts of the broker never go below zero."""
        host = self.stage.broker.host("")
        for name in QUEUES:
            found = host.queues.get(name)
            assert found is None or found.available >= 0

    def undo(self, recovered: Xid) -> None:
        """It is rolled back now: whoever asked for its commit was not heard."""
        for branch in self.every_branch:
            if key_of(branch.xid) == key_of(recovered) and branch.group.outcome == "unknown":
                branch.group.rolled_back()

    def teardown(self) -> None:
        """Everybody comes back, finishes and leaves; then the queues are emptied."""
        if not self.actors:
            return
        for _ in range(2):  # a connection may have been given up while time passed
            for actor in self.actors.values():
                if actor.wire is None or actor.wire.client.finished:
                    actor.wire = None
                    actor.connect()
            self.stage.settle()
        for actor in self.actors.values():
            assert actor.session is not None
            assert actor.ready
            actor.leaving = True
            actor.session.request_timeout(0)
            self.stage.settle()
            actor.session.detach()
        self.stage.settle()
        self.stage.tick(0.0)
        self.stage.tick(2 * PATIENCE)  # branches that nobody prepared are given up
        drained: dict[bytes, bool] = {}

        def collect(actor: Actor, event: Event) -> None:
            if isinstance(event, BranchesRecovered):
                assert actor.session is not None
                for each in event.xids or ():
                    actor.session.dtx.rollback(each)
                    self.undo(each)
            elif isinstance(event, TransferReceived):
                name = event.transfer.destination or ""
                properties = event.delivery_properties
                self.ledger.received("drain", event.body, name, properties is not None and bool(properties.redelivered))
                drained[event.body] = True

        last = self.stage.actor("last", 0, collect)
        self.stage.settle()
        assert last.session is not None
        last.session.dtx.recover()
        self.stage.settle()
        for name in QUEUES:
            last.session.subscribe(name, name).grant(0xFFFFFFFF)
        self.stage.settle()
        self.ledger.drained(set(drained))
        host = self.stage.broker.host("")
        for name in QUEUES:
            assert host.queues[name].available == 0


World.TestCase.settings = settings(
    max_examples=max(30, settings().max_examples // 4), stateful_step_count=60, deadline=None,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
TestWorld: Any = World.TestCase
