"""A message moves from one broker to another, and whoever takes part is killed at every step in turn."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Final

import pytest
from tests.broker.harness import Client, World

from amqp_sansio import RangeSet, Session
from amqp_sansio.broker import Broker, BrokerConfig, Entry, decode_entry, encode_entry
from amqp_sansio.engine.two_phase import Ask, Decide, Decision, TwoPhase
from amqp_sansio.events import BranchAnswered, BranchesRecovered, TransferReceived
from amqp_sansio.spec import dtx, message
from amqp_sansio.spec.base import Command
from amqp_sansio.spec.message import DeliveryProperties
from amqp_sansio.spec.xids import xid

CONFIG: Final = BrokerConfig(journal=True)
BRANCHES: Final = {"from": xid(1, b"transfer", b"from"), "to": xid(1, b"transfer", b"to")}


class Killed(Exception):
    """Somebody dies here."""


class Steps:
    """Counts the steps, and kills at one of them."""

    def __init__(self, deadly: int | None) -> None:
        self.deadly = deadly
        self.taken = 0

    def __call__(self) -> None:
        self.taken += 1
        if self.taken == self.deadly:
            self.deadly = None
            raise Killed


class Node:
    """A broker with its disk.  Between any two things that it does it may be killed."""

    def __init__(self, step: Callable[[], None]) -> None:
        self.step = step
        self.disk: list[bytes] = []
        self.taken: list[Entry] = []
        self.sessions = 0
        self.world = World(CONFIG)
        self.world.broker.host().declare_queue("q", durable=True)
        self.store(lambda: None)

    def store(self, step: Callable[[], None]) -> None:
        """What an adapter does; killed in the middle, the entries are on the disk or they are not."""
        self.taken += self.world.broker.journal()
        if self.taken:
            step()
            self.disk += [encode_entry(entry) for entry in self.taken]
            self.taken.clear()
            step()
        self.world.broker.journalled(self.world.broker._journals.last)

    def restart(self) -> None:
        """Another broker, from the disk."""
        self.taken.clear()
        entries = [decode_entry(octets) for octets in self.disk]
        self.world = World(broker=Broker.restore(None, entries, config=CONFIG))

    def session(self) -> tuple[Client, Session]:
        self.sessions += 1
        client = self.world.connect()
        return client, client.session(b"%d" % self.sessions)

    def say(self, client: Client, session: Session, *commands: Command) -> None:
        for command in commands:
            self.step()
            session.send(command)
            self.world.run()
            self.store(self.step)
            self.step()
            self.world.run()

    @property
    def messages(self) -> list[bytes]:
        """What can be had."""
        queue = self.world.broker.host().queues["q"]
        assert (queue.acquired, queue.held) == (0, 0)
        return [entry.message.body for entry in queue.all()]


class Manager:
    """The transaction manager; `log` is its disk."""

    def __init__(self, nodes: dict[str, Node], step: Callable[[], None]) -> None:
        self.nodes = nodes
        self.step = step
        self.log: Decision | None = None
        self.machine: TwoPhase | None = None
        self.deciding: Decision | None = None

    def work(self) -> None:
        """Takes the message here and publishes it there."""
        source, target = self.nodes["from"], self.nodes["to"]
        client, session = source.session()
        subscribe = (message.Subscribe("q", "d", 0, 0), message.Flow("d", 0, 1), message.Flow("d", 1, 0xFFFFFFFF))
        source.say(client, session, dtx.Select(), dtx.Start(BRANCHES["from"]), *subscribe)
        (got,) = client.take(TransferReceived)
        source.say(client, session, message.Accept(RangeSet.of(got.id)), message.Cancel("d"), dtx.End(BRANCHES["from"]))
        client, session = target.session()
        target.say(client, session, dtx.Select(), dtx.Start(BRANCHES["to"]))
        session.send(message.Transfer("", 1, 0), DeliveryProperties(routing_key="q", delivery_mode=2), body=got.body)
        target.say(client, session, dtx.End(BRANCHES["to"]))

    def finish(self, machine: TwoPhase) -> None:
        self.machine = machine
        for _ in range(100):
            for action in machine.take():
                if isinstance(action, Decide):
                    self.deciding = action.decision
                self.step()
                if isinstance(action, Decide):
                    self.log = action.decision
                    self.step()
                    machine.durable()
                else:
                    self.ask(machine, action)
            if machine.finished:
                return
        raise AssertionError(f"never finished: {machine}")

    def ask(self, machine: TwoPhase, action: Ask) -> None:
        node = self.nodes[action.participant]
        client, session = node.session()
        node.say(client, session, action.command)
        for event in client.events:
            if isinstance(event, BranchAnswered | BranchesRecovered) and machine.hear(action.participant, event):
                return
        machine.lost(action.participant)


def transfer(deadly: int | None, dead: tuple[str, ...]) -> int:
    """One transfer, with somebody killed at a step; how many steps it took."""
    step = Steps(deadly)
    nodes = {"from": Node(step), "to": Node(step)}
    source = nodes["from"].world.broker.host()
    properties = DeliveryProperties(routing_key="q", delivery_mode=2)
    _, session = nodes["from"].session()
    session.send(message.Transfer("", 1, 0), properties, body=b"the message")
    nodes["from"].world.run()
    nodes["from"].store(lambda: None)
    assert source.queues["q"].available == 1
    manager = Manager(nodes, step)
    with suppress(Killed):
        manager.work()
        manager.finish(TwoPhase(BRANCHES))
    for name, node in nodes.items():
        if name in dead:
            node.restart()
        else:
            node.store(lambda: None)  # it lives, and goes on where it was
            node.world.run()
    if deadly is not None:
        machine = manager.machine
        if machine is None or "manager" in dead:  # who died with its memory has its log
            for node in nodes.values():
                for each in node.world.clients:
                    each.cut()
            machine = TwoPhase.abandon(BRANCHES) if manager.log is None else TwoPhase.recover(manager.log)
        else:
            for name in machine.awaited:
                machine.lost(name)
            if machine.outcome is None and manager.deciding is not None:  # it lives, and goes on where it was
                manager.log = manager.deciding
                machine.durable()
        manager.finish(machine)
    assert manager.machine is not None
    assert manager.machine.heuristics == {}
    sides = [node.messages for node in nodes.values()]
    assert sides in ([[b"the message"], []], [[], [b"the message"]])
    if manager.log is not None:
        assert sides[1] == [b"the message"]
    for node in nodes.values():
        assert node.world.broker.coordinator().branches == {}
    return step.taken


STEPS: Final = transfer(None, ())


def test_a_transfer_takes_many_steps() -> None:
    assert STEPS > 40


@pytest.mark.parametrize("dead", [("from",), ("to",), ("manager",), ("from", "to"), ("from", "to", "manager")], ids="+".join)
@pytest.mark.parametrize("deadly", range(1, STEPS + 1))
def test_the_message_is_on_exactly_one_side(deadly: int, dead: tuple[str, ...]) -> None:
    """Whoever dies, and at whichever step, the message is on one side when all is recovered, and nothing waits any more."""
    transfer(deadly, dead)
