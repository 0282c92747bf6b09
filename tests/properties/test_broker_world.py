"""Model against machine: clients, a broker and time, and a ledger that sees only what clients say and hear.

No message is ever lost, doubled without the redelivered mark, or delivered against credit; a committed transaction is whole, a
rolled back one invisible.
"""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.broker.ledger import Group, Item, Ledger
from tests.broker.stage import Actor, Stage

from amqp_sansio.engine.tx import Tx
from amqp_sansio.events import CommandsCompleted, Event, SessionAttached, SessionDetached, TransferReceived
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec import message, queue

QUEUES = ("red", "blue")
NAMES = ("plain", "lasting", "tx", "lasting tx")


class Mind:
    """What one actor knows of its own doings in its present session."""

    def __init__(self, transactional: bool) -> None:
        self.transactional = transactional
        self.tx: Tx | None = None
        self.held: dict[int, Item] = {}
        self.publishing: dict[int, Item] = {}
        self.accepting: dict[int, list[Item]] = {}
        self.deciding: dict[int, tuple[Group, bool]] = {}
        self.group = Group()
        self.group_ids: dict[int, Item] = {}
        self.credit: dict[str, int] = {}

    def forget(self) -> None:
        """A new session."""
        self.__init__(self.transactional)  # type: ignore[misc]


class World(RuleBasedStateMachine):
    """Rules are what clients and the network may do at any time."""

    def __init__(self) -> None:
        super().__init__()
        self.ledger = Ledger()
        self.stage = Stage()
        self.minds: dict[str, Mind] = {}
        self.actors: dict[str, Actor] = {}
        self.windows: dict[tuple[str, str], int] = {}

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
            self.minds[name] = Mind("tx" in name)
            self.actors[name] = self.stage.actor(name, 600 if "lasting" in name else 0, self.hear)
        self.stage.settle()

    # --- what actors hear ----------------------------------------------------------------------------------------------------

    def hear(self, actor: Actor, event: Event) -> None:
        """Brings the ledger up to date."""
        mind = self.minds[actor.name]
        match event:
            case SessionAttached(resumed=False):
                if mind.transactional:
                    assert actor.session is not None
                    mind.tx = actor.session.select_tx()
            case TransferReceived(id=id, transfer=transfer, body=body):
                destination = transfer.destination or ""
                properties = event.delivery_properties
                redelivered = properties is not None and bool(properties.redelivered)
                mind.held[id] = self.ledger.received(actor.name, body, destination, redelivered)
                mind.credit[destination] -= 1
                assert mind.credit[destination] >= 0, "delivered against credit"
            case CommandsCompleted(ids=ids):
                self.completed(actor, mind, ids)
            case SessionDetached(ended=True):
                self.over(mind)
            case _:
                pass

    def completed(self, actor: Actor, mind: Mind, ids: RangeSet) -> None:
        for id in [id for id in mind.publishing if id in ids]:
            item = mind.publishing.pop(id)
            if item.where == "sent":
                item.where = "queued"
        for id in [id for id in mind.accepting if id in ids]:
            for item in mind.accepting.pop(id):
                if item.accept is None:
                    item.where = "gone"
        for id in [id for id in mind.deciding if id in ids]:
            group, commit = mind.deciding.pop(id)
            if commit:
                group.committed()

    def over(self, mind: Mind) -> None:
        for item in mind.publishing.values():
            if item.where == "sent":
                item.where = "maybe"
        for items in mind.accepting.values():
            for item in items:
                if item.accept is None:
                    item.where, item.holder = "maybe", None
        for group, commit in mind.deciding.values():
            if commit:
                group.unknown()
        mind.group.rolled_back()
        self.ledger.lost([item for item in mind.held.values() if item.where == "held"])
        mind.forget()

    # --- what actors do ------------------------------------------------------------------------------------------------------

    def able(self) -> list[str]:
        return [name for name in self.actors if self.actors[name].ready]

    def pick(self, data: st.DataObject) -> tuple[Actor, Mind]:
        name = data.draw(st.sampled_from(self.able()), label="who")
        return self.actors[name], self.minds[name]

    @rule(data=st.data(), name=st.sampled_from(QUEUES), priority=st.sampled_from([0, 4, 9]), many=st.integers(1, 4))
    @precondition(lambda self: self.able())
    def publish(self, data: st.DataObject, name: str, priority: int, many: int) -> None:
        actor, mind = self.pick(data)
        assert actor.session is not None
        for _ in range(many):
            group = mind.group if mind.transactional else None
            publisher = f"{actor.name}-{actor.rounds}"
            item = self.ledger.published(publisher, name, priority, group)
            id = actor.session.publish("", body=item.body, routing_key=name, priority=priority)
            mind.publishing[id] = item

    @rule(data=st.data(), name=st.sampled_from(QUEUES), window=st.booleans(), credit=st.integers(1, 5))
    @precondition(lambda self: self.able())
    def subscribe(self, data: st.DataObject, name: str, window: bool, credit: int) -> None:
        actor, mind = self.pick(data)
        session = actor.session
        assert session is not None
        if name in session.subscriptions:
            return
        subscription = session.subscribe(name, name)
        if not window:
            subscription.set_mode(0)
        subscription.grant(credit)
        mind.credit[name] = credit

    @rule(data=st.data(), credit=st.integers(1, 5))
    @precondition(lambda self: self.able())
    def grant(self, data: st.DataObject, credit: int) -> None:
        actor, mind = self.pick(data)
        assert actor.session is not None
        names = sorted(actor.session.subscriptions)
        if names:
            name = data.draw(st.sampled_from(names))
            actor.session.subscriptions[name].grant(credit)
            mind.credit[name] += credit

    def held(self, data: st.DataObject, mind: Mind) -> list[int]:
        """Some of what is held and not being settled."""
        ids = sorted(id for id, item in mind.held.items() if item.where == "held")
        return data.draw(st.lists(st.sampled_from(ids), unique=True, max_size=5)) if ids else []

    def settle_credit(self, actor: Actor, mind: Mind, ids: list[int]) -> None:
        """A settled transfer is complete, and moves its window."""
        assert actor.session is not None
        for id in ids:
            name = mind.held[id].queue
            if actor.session.subscriptions[name].mode == 1:
                mind.credit[name] += 1

    @rule(data=st.data())
    @precondition(lambda self: self.able())
    def accept(self, data: st.DataObject) -> None:
        actor, mind = self.pick(data)
        ids = self.held(data, mind)
        if not ids:
            return
        assert actor.session is not None
        self.settle_credit(actor, mind, ids)
        id = actor.session.accept(ids)
        items = [mind.held[each] for each in ids]
        mind.accepting[id] = items
        for each in ids:
            item = mind.held[each]
            if mind.transactional:
                item.where, item.accept = "accepted back", mind.group
                mind.group.accepts.append(item)
            else:
                item.where, item.accept = "accepting", None
                del mind.held[each]

    @rule(data=st.data(), mark=st.booleans())
    @precondition(lambda self: self.able())
    def release(self, data: st.DataObject, mark: bool) -> None:
        actor, mind = self.pick(data)
        ids = self.held(data, mind)
        if not ids:
            return
        assert actor.session is not None
        self.settle_credit(actor, mind, ids)
        actor.session.release(ids, mark)
        for each in ids:
            item = mind.held.pop(each)
            item.where, item.holder = "queued", None
            item.unmarked = not mark

    @rule(data=st.data(), commit=st.booleans())
    @precondition(lambda self: [name for name in self.able() if "tx" in name])
    def decide(self, data: st.DataObject, commit: bool) -> None:
        name = data.draw(st.sampled_from([name for name in self.able() if "tx" in name]))
        mind = self.minds[name]
        assert mind.tx is not None
        group, mind.group = mind.group, Group()
        if commit:
            group.outcome = "asked"
            for item in group.publishes:
                item.where = "deciding"
            for item in group.accepts:
                item.where = "accepting"
            for id in [id for id, item in mind.held.items() if item.accept is group]:
                del mind.held[id]
            mind.deciding[mind.tx.commit()] = (group, True)
        else:
            mind.tx.rollback()
            group.rolled_back(name)
            for item in group.accepts:  # still held by the session, which must release them
                item.accept = None
            ids = [id for id, item in mind.held.items() if item in group.accepts]
            if ids:
                session = self.actors[name].session
                assert session is not None
                session.release(ids)
                for id in ids:
                    item = mind.held.pop(id)
                    item.where, item.holder, item.unmarked = "queued", None, True

    # --- the network and time -------------------------------------------------------------------------------------------------

    @rule(name=st.sampled_from(NAMES), chunks=st.integers(1, 8))
    def let_arrive(self, name: str, chunks: int) -> None:
        self.stage.step(self.actors[name], chunks)

    @rule(name=st.sampled_from(NAMES))
    @precondition(lambda self: any(actor.wire for actor in self.actors.values()))
    def cut(self, name: str) -> None:
        self.stage.cut(self.actors[name])

    @rule(name=st.sampled_from(NAMES))
    def come_back(self, name: str) -> None:
        if self.actors[name].wire is None:
            self.actors[name].connect()

    @rule(seconds=st.sampled_from([0.0, 1.0, 30.0]))
    def time_passes(self, seconds: float) -> None:
        self.stage.tick(seconds)

    @rule()
    def come_to_rest(self) -> None:
        self.stage.settle()

    @invariant()
    def nobody_waits_for_what_is_there(self) -> None:
        """Counts of the broker never go below zero."""
        host = self.stage.broker.host("")
        for name in QUEUES:
            found = host.queues.get(name)
            assert found is None or found.available >= 0

    def teardown(self) -> None:
        """Everybody comes back, finishes and leaves; then the queues are emptied."""
        if not self.actors:
            return
        for actor in self.actors.values():
            if actor.wire is None:
                actor.connect()
        self.stage.settle()
        for actor in self.actors.values():
            assert actor.session is not None
            assert actor.ready
            actor.session.request_timeout(0)
            self.stage.settle()
            actor.session.detach()
        self.stage.settle()
        drained: dict[bytes, bool] = {}

        def collect(actor: Actor, event: Event) -> None:
            if isinstance(event, TransferReceived):
                name = event.transfer.destination or ""
                properties = event.delivery_properties
                self.ledger.received("drain", event.body, name, properties is not None and bool(properties.redelivered))
                drained[event.body] = True

        last = self.stage.actor("last", 0, collect)
        self.stage.settle()
        assert last.session is not None
        for name in QUEUES:
            last.session.subscribe(name, name).grant(0xFFFFFFFF)
        self.stage.settle()
        self.ledger.drained(set(drained))
        host = self.stage.broker.host("")
        for name in QUEUES:
            assert host.queues[name].available == 0


World.TestCase.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)
TestWorld: Any = World.TestCase
_ = message
