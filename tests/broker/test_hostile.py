"""Clients that say anything at a broker: it never raises, what it keeps stays within its limits, and others are served."""

from __future__ import annotations

import pickle
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.broker.harness import front
from tests.broker.words import BEGIN, END, Act, acts, bits

from amqp_sansio import ClientConnection, ServerConfig
from amqp_sansio.broker.broker import Broker, Peer
from amqp_sansio.broker.config import BrokerConfig
from amqp_sansio.dialects import AMQP_0_10
from amqp_sansio.events import TransferReceived
from amqp_sansio.kernel.serials import TOP, RangeSet
from amqp_sansio.limits import BrokerLimits
from amqp_sansio.spec import dtx, exchange, execution, message, queue, tx
from amqp_sansio.spec import session as c
from amqp_sansio.spec.base import Control
from amqp_sansio.spec.codes import AcceptMode
from amqp_sansio.spec.connection import Open, StartOk, TuneOk
from amqp_sansio.spec.message import DeliveryProperties
from amqp_sansio.wire.layouts.layout import encode_headers
from amqp_sansio.wire.segments import frame_command, frame_control

LAYOUT = AMQP_0_10.codec
LIMITS = BrokerLimits(
    virtual_hosts=2,
    exchanges=8,
    queues=4,
    bindings=6,
    binding_words=8,
    subscribers=4,
    queue_messages=8,
    queue_octets=2000,
    throttle_messages=4,
    branches=3,
    transaction_messages=4,
    transaction_octets=500,
    held_messages=7,
    held_octets=700,
    outbox_octets=3000,
    unaccepted_transfers=5,
    kept_sessions=2,
)


class Hostile:
    """Somebody who says whatever comes to his mind."""

    def __init__(self, broker: Broker, name: bytes = b"s") -> None:
        self.peer: Peer = broker.connect(ServerConfig(session_timeout=30))
        self.over = False
        self.name = name
        self.say(AMQP_0_10.header)
        handshake: tuple[Control, ...] = (StartOk({}, "ANONYMOUS", b"", "en_US"), TuneOk(0, 4096, 0), Open(""))
        for control in handshake:
            self.say(frame_control(0, LAYOUT.encode_control(control)))
        self.attach(name)

    def attach(self, name: bytes) -> None:
        said: tuple[Control, ...] = (c.Attach(name, True), c.RequestTimeout(20), c.CommandPoint(0, 0))
        for control in said:
            self.say(frame_control(1, LAYOUT.encode_control(control)))

    def say(self, octets: bytes) -> None:
        if not self.over:
            self.peer.receive_data(octets)

    def do(self, kind: str, what: Any) -> None:
        if kind == "control":
            self.say(frame_control(1, LAYOUT.encode_control(what)))
        elif kind == "command":
            self.say(b"".join(frame_command(1, LAYOUT.encode_command(what, True))))
        elif kind == "good":
            for each, command in what:
                self.do(each, command)
        elif kind == "scene":
            name, accept_mode, acquire_mode, transactions, count, then = what
            self.say(frame_control(1, LAYOUT.encode_control(c.Detached(b"", 0))))
            self.say(frame_control(1, LAYOUT.encode_control(c.Detach(b""))))
            self.attach(name)
            for command in (
                queue.Declare("q"),
                queue.Declare("r", "amq.fanout"),
                exchange.Bind("q", "amq.fanout", ""),
                *BEGIN[transactions],
                message.Subscribe("q", "d", 0 if transactions == "tx" else accept_mode, acquire_mode),
                message.Flow("d", 0, 10),
                message.Flow("d", 1, TOP),
                *END[transactions],
            ):
                self.do("command", command)
            for _ in range(count):
                self.do("publish", ("amq.fanout", 1, b"", 10))
            self.do("good", then)
        elif kind == "publish":
            destination, accept_mode, header, size = what
            payload = LAYOUT.encode_command(message.Transfer(destination, accept_mode), False)
            self.say(b"".join(frame_command(1, payload, header or None, bytes(size) or None)))
        elif kind == "attach":
            self.say(frame_control(1, LAYOUT.encode_control(c.Detached(b"", 0))))  # to whatever exception was said
            self.attach(what)
        elif kind == "octets":
            self.say(what)
        elif kind == "take":
            self.peer.data_to_send()
        elif kind == "eof" and not self.over:
            self.over = True
            self.peer.receive_eof()


class Honest:
    """A client who keeps to the protocol, on a queue of its own."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.client = ClientConnection()
        self.peer = broker.connect()
        self.received = 0
        self.carry()
        self.session = self.client.session(b"honest")
        self.carry()
        self.session.send(queue.Declare("own", exclusive=True))
        self.session.subscribe("own", "d", accept_mode=AcceptMode.NONE).grant(TOP)
        self.carry()

    def carry(self) -> None:
        while (octets := self.client.data_to_send()) or self.peer.bytes_to_send:
            if octets:
                self.peer.receive_data(octets)
            for _ in self.broker.events():
                pass
            self.client.receive_data(self.peer.data_to_send())
            self.received += sum(isinstance(event, TransferReceived) for event in self.client.events())


def check(broker: Broker) -> None:
    """What must hold whatever was said."""
    assert len(broker._hosts) <= LIMITS.virtual_hosts
    for host in broker._hosts.values():
        assert len(host.queues) <= LIMITS.queues
        assert host.bindings <= LIMITS.bindings
        bound = [each for exchange in host.exchanges.values() for each in exchange]
        words = [binding.exchange.words(binding.key, binding.arguments) for binding in bound]
        assert (host.bindings, host.binding_words) == (len(bound), sum(words))
        assert host.binding_words <= LIMITS.binding_words
        works = [holder.tx for holder in front(broker).sessions.values() if holder.tx is not None and holder.host is host]
        works += [branch.work for branch in host.coordinator.branches.values()]
        copies = [len(queues) for work in works for _, queues in work.published]
        assert host.held_messages == sum(copies) <= LIMITS.held_messages
        assert host.held_octets == sum(work.octets for work in works) <= LIMITS.held_octets
        assert len(host.coordinator.branches) <= LIMITS.branches
        assert host.subscribers <= LIMITS.subscribers
        assert host.subscribers == sum(each.subscribers for each in host.queues.values())
        assert host.messages == sum(each.messages for each in host.queues.values())
        for each in host.queues.values():
            # What branches were promised when they were prepared, and persistent messages that are moved, come above it.
            above = LIMITS.branches * LIMITS.transaction_messages + LIMITS.queue_messages
            assert each.messages <= LIMITS.queue_messages + above
            assert each.dispatcher is None or len(each.dispatcher.consumers) == sum(
                consumer.queue is each for holder in front(broker).sessions.values() for consumer in holder.consumers.values()
            )
    for holder in front(broker).sessions.values():
        assert not holder.ended
        given_back = LIMITS.transaction_messages if holder.tx is not None else 0  # by tx.rollback
        assert len(holder.unsettled) <= LIMITS.unaccepted_transfers + given_back
        assert holder.session.state != "ended"
    for peer in broker.peers:
        assert peer.bytes_to_send <= LIMITS.outbox_octets + 2000


# Whatever clients say and whenever they go, the broker does not raise, keeps within its limits, and serves the others.
@given(st.lists(st.tuples(st.integers(0, 2), acts), max_size=60), bits)
@settings(max_examples=settings().max_examples * 3)
def test_nothing_a_client_says_makes_it_raise(said: list[Act], journal: bool) -> None:
    broker = Broker(BrokerConfig(limits=LIMITS, journal=journal))
    honest = Honest(broker)
    hostile = [Hostile(broker, name) for name in (b"s", b"t", b"u")]
    now = 0.0
    for who, (kind, what) in said:
        if kind == "tick":
            now += what
            broker.tick(now)
        elif kind == "journalled":
            entries = broker.journal()
            if entries:
                pickle.loads(pickle.dumps(entries))
                broker.journalled(entries[-1].number)
        elif kind == "new":
            hostile[who].do("eof", None)
            list(broker.events())
            hostile[who] = Hostile(broker, b"stu"[who : who + 1])
        else:
            hostile[who].do(kind, what)
        list(broker.events())
        check(broker)
    for _ in range(3):
        honest.session.publish(routing_key="own", body=b"x")
    honest.carry()
    assert honest.received == 3
    for each in hostile:
        each.do("eof", None)
    list(broker.events())
    assert broker.peers == (honest.peer,)
    broker.tick(now)
    broker.tick(now + 1000)
    assert list(front(broker).sessions) == [("", "", b"honest")]
    check(broker)


def some_ids(chance: Random) -> RangeSet:
    kind = chance.random()
    if kind < 0.1:
        return RangeSet([(0, 0x7FFFFFFE)])
    return RangeSet.of(*[chance.randrange(40) for _ in range(chance.randrange(1, 6))])


def mostly_legal(chance: Random) -> tuple[str, Any]:
    """What somebody says who knows the protocol and means no good."""
    place = chance.choice("dddde")
    name = chance.choice("qqr")
    xid = dtx.Xid(1, b"g", chance.choice([b"1", b"2"]))
    ids = some_ids(chance)
    said: list[tuple[int, str, Any]] = [
        (8, "command", message.Accept(ids)),
        (4, "command", message.Release(ids, chance.random() < 0.5)),
        (4, "command", message.Reject(ids)),
        (4, "command", message.Acquire(ids)),
        (3, "command", message.Flow(place, chance.randrange(2), chance.choice([1, 5, TOP]))),
        (2, "command", message.Flush(place)),
        (2, "command", message.Stop(place)),
        (2, "command", message.SetFlowMode(place, chance.randrange(2))),
        (1, "command", message.Cancel("e")),
        (1, "command", message.Subscribe(name, "e", chance.randrange(2), chance.randrange(2))),
        (2, "command", queue.Query(name)),
        (1, "command", queue.Purge(name)),
        (1, "command", queue.Delete("r")),
        (2, "command", queue.Declare("r", "amq.fanout")),
        (2, "command", exchange.Bind("r", "amq.fanout", "")),
        (2, "command", tx.Commit()),
        (2, "command", tx.Rollback()),
        (2, "command", dtx.Start(xid, chance.random() < 0.3, chance.random() < 0.2)),
        (2, "command", dtx.End(xid, chance.random() < 0.2, chance.random() < 0.2)),
        (2, "command", dtx.Prepare(xid)),
        (1, "command", dtx.Commit(xid, chance.random() < 0.5)),
        (1, "command", dtx.Rollback(xid)),
        (1, "command", dtx.Recover()),
        (6, "control", c.Completed(ids, chance.random() < 0.3)),
        (1, "control", c.KnownCompleted(ids)),
        (1, "control", c.Flush(True, True, True)),
        (20, "publish", (chance.choice(TARGETS), chance.randrange(2), chance.choice(HEADERS), chance.randrange(300))),
    ]  # fmt: skip
    _, kind, what = chance.choices(said, [weight for weight, _, _ in said])[0]
    return kind, what


TARGETS = ("amq.fanout", "")
HEADERS = (
    b"",
    encode_headers([DeliveryProperties(routing_key="q", delivery_mode=2)]),
    encode_headers([DeliveryProperties(routing_key="r", ttl=3000, priority=9)]),
    encode_headers([DeliveryProperties(routing_key="q", immediate=True, discard_unroutable=True)]),
)


# However long clients go on who know the protocol and mean no good, the same holds.
@pytest.mark.parametrize("seed", range(max(4, settings().max_examples // 10)))
def test_nothing_that_is_nearly_legal_makes_it_raise(seed: int) -> None:
    chance = Random(seed)
    broker = Broker(BrokerConfig(limits=LIMITS, journal=seed % 2 == 0))
    honest = Honest(broker)
    hostile = [Hostile(broker, name) for name in (b"s", b"t", b"u")]
    now, delivered = 0.0, 0
    for _ in range(600):
        each = chance.choice(hostile)
        alive = each.name in {holder.session.name for holder in front(broker).sessions.values() if holder.peer is each.peer}
        if each.over or (not alive and each.peer not in broker.peers) or chance.random() < 0.01:
            each.do("eof", None)
            hostile[hostile.index(each)] = each = Hostile(broker, each.name)
        if not alive:
            modes = chance.randrange(2), chance.randrange(2), chance.choice(["", "", "tx", "dtx"])
            each.do("scene", (each.name, *modes, chance.randrange(5), []))
        for _ in range(chance.randrange(4)):
            each.do(*mostly_legal(chance))
        list(broker.events())
        check(broker)
        if chance.random() < 0.7:
            delivered += len(each.peer.data_to_send())
            list(broker.events())
        if chance.random() < 0.3:
            now += chance.random()
            broker.tick(now)
        entries = broker.journal() if chance.random() < 0.5 else ()
        if entries:
            broker.journalled(entries[-1].number)
        if chance.random() < 0.05:
            honest.session.publish(routing_key="own", body=b"x")
            before = honest.received
            honest.carry()
            assert honest.received == before + 1
    assert delivered > 10_000


def test_commands_that_were_held_while_a_session_resumed_are_done_in_their_order() -> None:
    """The engine has heard all of them when the first is done: what was cancelled since is not there any more."""
    broker = Broker()
    first = Hostile(broker)
    first.do("command", queue.Declare("q"))
    first.do("eof", None)
    list(broker.events())
    second = Hostile(broker)
    for command in (
        execution.Sync(),  # command 0 was heard before
        message.Subscribe("q", "e", 0, 0),
        message.Cancel("e"),
        message.Subscribe("q", "e", 1, 0),
        message.Flow("e", 0, 1),
        message.Flow("e", 1, TOP),
    ):
        second.do("command", command)
    list(broker.events())
    (holder,) = front(broker).sessions.values()
    assert holder.consumers == {}
    second.do("control", c.Expected(RangeSet.of(0)))
    list(broker.events())
    assert holder.session.state == "attached"
    assert list(holder.consumers) == ["e"]
    assert not holder.consumers["e"].explicit
    assert broker.host().queues["q"].subscribers == broker._hosts[""].subscribers == 1
