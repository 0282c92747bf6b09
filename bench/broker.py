"""Measures messages from a client through the broker to a client, in one process, also with much else around."""

from __future__ import annotations

import gc
import statistics
import tracemalloc
from typing import Final

from amqp_sansio import ClientConnection, Session
from amqp_sansio.broker import Broker, BrokerConfig, Kind, Rule, Rules
from amqp_sansio.broker.broker import Peer
from amqp_sansio.events import TransferReceived
from amqp_sansio.spec import queue
from amqp_sansio.spec.codes import AcceptMode
from bench.harness import Timed, once, progress

BODY: Final = bytes(100)
BATCH: Final = 50
"""How many messages are published before the octets are carried."""
FLAT: Final = 2.0
"""How much more a message may cost among ten thousand queues, a thousand connections, a hundred thousand messages."""
MOST_OCTETS: Final = 500
"""Octets of memory that a queued message of 100 octets may cost."""
KEPT: Final = 50_000
RULES: Final = 1000
GUARDED: Final = 1.05
"""How much more a publish may cost with that number of rules."""
SHORT: Final = 61
"""Rounds for that: many short ones, since the effect is smaller than the noise."""


class Link:
    """A client at the broker."""

    def __init__(self, broker: Broker, name: bytes) -> None:
        self.broker: Final = broker
        self.client: Final = ClientConnection()
        self.peer: Final[Peer] = broker.connect()
        self.carry()
        self.session: Final[Session] = self.client.session(name)
        self.carry()

    def carry(self) -> int:
        """Carries octets until neither side has any; returns the number of messages that reached the client."""
        count = 0
        while True:
            octets = self.client.data_to_send()
            if octets:
                self.peer.receive_data(octets)
                for _ in self.broker.events():
                    pass
            elif not self.peer.bytes_to_send:
                return count
            self.client.receive_data(self.peer.data_to_send())
            for event in self.client.events():
                count += type(event) is TransferReceived


def allowing(count: int) -> Rules:
    """Returns this number of rules: the last ones allow everything, the others are about other users and names."""
    others = [
        Rule(allow=False, who="*" if number % 2 else f"user{number}", kind=Kind.QUEUE, pattern=f"secret.{number}.*")
        for number in range(count - 2)
    ]
    return Rules([*others, Rule(allow=True, kind=Kind.QUEUE), Rule(allow=True, kind=Kind.HOST)])


class Scene:
    """A broker with these numbers of queues and connections, each queue with a subscription."""

    def __init__(self, queues: int, connections: int, accept_mode: int = 1, rules: int = 0) -> None:
        self.broker: Final = Broker(BrokerConfig(access=allowing(rules) if rules else None))
        self.links: Final = [Link(self.broker, b"s%d" % number) for number in range(connections)]
        self.names: Final = [f"q{number}" for number in range(queues)]
        for number, name in enumerate(self.names):
            link = self.links[number % connections]
            link.session.send(queue.Declare(name))
            link.session.subscribe(name, name, accept_mode=AcceptMode(accept_mode)).grant(0xFFFFFFFF)
            link.carry()

    def publish(self, count: int) -> Timed:
        """Publishes this number of messages to all queues in turn, each from the connection that receives it."""
        links, names = self.links, self.names

        def run() -> int:
            received = published = 0
            at = 0
            while published < count:
                link = links[at % len(links)]
                for number in range(min(BATCH, count - published)):
                    name = names[(at + number * len(links)) % len(names)]
                    link.session.publish(routing_key=name, body=BODY)
                    published += 1
                received += link.carry()
                at += 1
            return received

        return run


def retained() -> float:
    """Returns the octets of memory for each of many queued messages of 100 octets."""
    broker = Broker()
    link = Link(broker, b"s")
    link.session.send(queue.Declare("q"))
    link.carry()

    def fill(count: int) -> None:
        for number in range(count):
            link.session.publish(routing_key="q", body=b"%0100d" % number)
            if number % BATCH == 0:
                link.carry()
        link.carry()

    fill(50)
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    fill(KEPT)
    gc.collect()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return (after - before) / KEPT


def explicit(count: int) -> float:
    """Returns the microseconds per message that is accepted individually."""
    scene = Scene(1, 1, accept_mode=0)
    link = scene.links[0]

    def run() -> int:
        done = 0
        while done < count:
            for _ in range(BATCH):
                link.session.publish(routing_key="q0", body=BODY)
            link.peer.receive_data(link.client.data_to_send())
            for _ in scene.broker.events():
                pass
            link.client.receive_data(link.peer.data_to_send())
            ids = [event.id for event in link.client.events() if type(event) is TransferReceived]
            for id in ids:
                link.session.accept(id)
            link.carry()
            done += len(ids)
        return done

    return once(run, count)


def guarded(turns: int, count: int) -> list[str]:
    """Prints the cost of 1,000 rules for a publish, to one queue and to a hundred; returns the missed targets."""
    missed: list[str] = []
    for queues in (1, 100):
        scenes = (Scene(queues, 1), Scene(queues, 1, rules=RULES))
        ratios: list[float] = []
        for turn in range(turns + 1):
            progress(f"{RULES} rules: round {turn}")
            order = 1 if turn % 2 else -1  # neither always goes first
            free, ruled = [once(scene.publish(count), count) for scene in scenes[::order]][::order]
            if turn:
                ratios.append(ruled / free)
        progress("")
        cost = statistics.median(ratios)
        met = cost <= GUARDED
        spread = f"{min(ratios):.3f} to {max(ratios):.3f}"
        print(f"  {RULES} rules, {queues} queues: x{cost:.3f} ({spread}), target {GUARDED} {'met' if met else 'MISSED'}")
        if not met:
            missed.append(f"broker, {RULES} rules, {queues} queues: x{cost:.3f}, target {GUARDED}")
    return missed


def through_broker(turns: int, count: int = 5000) -> list[str]:
    """Prints the measurements; returns the missed targets."""
    missed: list[str] = []
    print("\nthrough a client, the broker and a client in one process, 100 octets: microseconds per message")
    rows = (
        ("1 queue, 1 connection", Scene(1, 1), count),
        ("10,000 queues", Scene(10_000, 1), count),
        ("1,000 connections", Scene(1_000, 1_000), count),
        ("100,000 messages", Scene(1, 1), 100_000),
    )
    times: dict[str, list[float]] = {label: [] for label, _, _ in rows}
    for turn in range(max(1, turns // 3) + 1):
        for label, scene, many in rows:
            progress(f"{label}: round {turn}")
            passed = once(scene.publish(many), many)
            if turn:
                times[label].append(passed)
    progress("")
    base = times[rows[0][0]]
    for label, each in times.items():
        median = statistics.median(each)
        growth = statistics.median(a / b for a, b in zip(each, base, strict=True))
        met = growth <= FLAT
        print(f"  {label:24} {median:7.2f} {1e6 / median:9.0f}/s   x{growth:.2f} {'flat' if met else 'NOT FLAT'}")
        if not met:
            missed.append(f"broker, {label}: x{growth:.2f}, target {FLAT}")
    missed += guarded(max(SHORT, turns), count // 5)
    accepted = explicit(count)
    print(f"  {'accepted one by one':24} {accepted:7.2f} {1e6 / accepted:9.0f}/s")
    kept = retained()
    met = kept <= MOST_OCTETS
    print(f"  memory per queued message of 100 octets: {kept:.0f}, target {MOST_OCTETS} {'met' if met else 'MISSED'}")
    if not met:
        missed.append(f"broker, memory: {kept:.0f} octets per queued message, target {MOST_OCTETS}")
    return missed
