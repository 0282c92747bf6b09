"""Measures the model of a broker: the cost of one message must not depend on what else exists.

Each case does the same with little and with much around it, in turn, and prints the ratio of the medians; `python -m
bench.model` runs it alone.  Memory is what tracemalloc counts for queued messages of 100 octets.
"""

from __future__ import annotations

import gc
import statistics
import sys
import tracemalloc
from collections.abc import Callable
from typing import Final

from amqp_sansio.broker.fronts.sessions.front import Reception
from amqp_sansio.broker.model.host import VirtualHost
from amqp_sansio.broker.model.message import Message, QueueEntry
from amqp_sansio.broker.model.queue import Queue
from amqp_sansio.broker.model.subscribers import Owner
from amqp_sansio.limits import BrokerLimits
from amqp_sansio.spec.message import Transfer
from amqp_sansio.wire.layouts.properties import write_properties
from bench.harness import once, progress

LIMITS: Final = BrokerLimits(queue_messages=10_000_000, host_messages=10_000_000, queues=200_000, bindings=1_000_000)
FLAT: Final = 1.5
"""How much more a message may cost with a thousand or ten thousand times as much around (caches, bisections)."""
BODY: Final = bytes(100)
OCTETS: Final = 750
"""Octets that a queued message with a body of 100 octets and its own header may take."""


class Taker:
    """A consumer that accepts whatever it is offered, at once."""

    acquires = True
    explicit = True
    selective = False
    octets_left: int | None = None
    exclusive = False
    owner: Owner | None = None

    def __init__(self, host: VirtualHost, credit: int = sys.maxsize) -> None:
        self.host = host
        self.credit = credit
        self.taken = 0
        self.priority = 0

    def offer(self, entry: QueueEntry) -> bool:
        """Takes it if there is credit."""
        if not self.credit:
            return False
        self.credit -= 1
        self.taken += 1
        self.host.dequeue((entry,))
        return True

    def able(self, message: Message) -> bool:
        """Returns whether there is credit."""
        return self.credit > 0

    def size(self, entry: QueueEntry) -> int:
        """Returns the octets of the body."""
        return len(entry.message.body)

    def selects(self, entry: QueueEntry) -> bool:
        """Returns True: it has no selector."""
        return True

    def gone(self, queue: Queue, by: object) -> None:
        """Does nothing."""


def header(key: str, **properties: object) -> bytes:
    """Returns the header segment of a message with that key."""
    return write_properties(routing_key=key, **properties)  # type: ignore[arg-type]  # as they are named there


def traffic(host: VirtualHost, exchange: str, key: str, count: int) -> Callable[[], int]:
    """Publishes and dispatches this number of messages."""
    reception = Reception(host.intake)
    transfer, sent = Transfer(exchange, 1, 0), header(key)
    destination = host.destination(exchange)

    def run() -> int:
        for _ in range(count):
            message = reception.read(transfer, sent, BODY, 0.0)
            host.enqueue(message, host.route(destination, message).queues)
            host.dispatch(4)
        return count

    return run


def host_of(queues: int = 1) -> VirtualHost:
    """Returns a host with queues q0, q1, ... of which the first has a consumer."""
    host = VirtualHost(limits=LIMITS)
    for at in range(queues):
        host.declare_queue(f"q{at}")
    host.subscribe("q0", Taker(host))
    return host


def with_bindings(kind: str, many: int, count: int) -> Callable[[], int]:
    """One binding that matches among many that do not."""
    host = host_of(2)
    host.declare_exchange("x", kind)
    for at in range(many):
        key = {"topic": f"stock.*.n{at}.#", "direct": f"n{at}"}.get(kind, str(at))
        host.bind("q1", "x", key, {"x-match": "all", "n": at} if kind == "headers" else None)
    host.bind("q0", "x", "stock.usd.nyse", {"x-match": "all"} if kind == "headers" else None)
    return traffic(host, "x", "stock.usd.nyse", count)


def with_queues(many: int, count: int) -> Callable[[], int]:
    """Other queues, each with a waiting consumer."""
    host = host_of(many)
    for at in range(1, many):
        host.subscribe(f"q{at}", Taker(host))
    host.dispatch(10 * many)
    return traffic(host, "", "q0", count)


def with_messages(many: int, count: int) -> Callable[[], int]:
    """Messages that wait in the queue."""
    host = host_of(2)
    reception = Reception(host.intake)
    preload(host, "q1", many)
    queue, transfer, sent = host.queues["q1"], Transfer("", 1, 0), header("q1")

    def run() -> int:
        for _ in range(count):
            message = reception.read(transfer, sent, BODY, 0.0)
            host.enqueue(message, host.route(host.default, message).queues)
            entry = queue.take()
            assert entry is not None
            host.dequeue((entry,))
        return count

    return run


def with_acquired(many: int, count: int) -> Callable[[], int]:
    """Acquired, unsettled messages at the front."""
    host = host_of(2)
    preload(host, "q1", many + 1)
    queue = host.queues["q1"]
    for _ in range(many):
        queue.take()

    def run() -> int:
        for _ in range(count):
            entry = queue.take()
            assert entry is not None
            host.release((entry,))
        return count

    return run


def with_consumers(many: int, count: int) -> Callable[[], int]:
    """Consumers of the same queue without credit."""
    host = host_of()
    for _ in range(many):
        host.subscribe("q0", Taker(host, credit=0))
    run = traffic(host, "", "q0", count)
    traffic(host, "", "q0", many + 1)()
    return run


def with_deadlines(many: int, count: int) -> Callable[[], int]:
    """Messages elsewhere that will expire; the clock advances with every message."""
    host = host_of(2)
    preload(host, "q1", many, ttl=10_000_000)
    run = traffic(host, "", "q0", 1)

    def ticking() -> int:
        for at in range(count):
            run()
            host.expire(at / 1000)
        return count

    return ticking


def preload(host: VirtualHost, name: str, many: int, **properties: object) -> None:
    """Puts messages on a queue."""
    reception = Reception(host.intake)
    transfer, sent, queue = Transfer("", 1, 0), header(name, **properties), host.queues[name]
    for _ in range(many):
        host.enqueue(reception.read(transfer, sent, BODY, 0.0), (queue,))


CASES: Final[dict[str, tuple[int, int, Callable[[int, int], Callable[[], int]]]]] = {
    "direct: bindings that do not match": (10, 100_000, lambda many, count: with_bindings("direct", many, count)),
    "topic: bindings that do not match": (10, 100_000, lambda many, count: with_bindings("topic", many, count)),
    "headers: bindings that do not match": (10, 100_000, lambda many, count: with_bindings("headers", many, count)),
    "queues": (1, 10_000, with_queues),
    "messages in the queue": (10, 1_000_000, with_messages),
    "acquired messages in front": (10, 100_000, with_acquired),
    "idle consumers of the queue": (1, 10_000, with_consumers),
    "messages that expire elsewhere": (10, 100_000, with_deadlines),
}


def flat(count: int, turns: int) -> list[str]:
    """Prints the cost of a message with little and much around; returns the cases that are not flat."""
    missed: list[str] = []
    print(
        "\nthe model: microseconds per message (published, routed, queued, dispatched, accepted), with little and much around"
    )
    for name, (few, many, case) in CASES.items():
        progress(name)
        little, much = case(few, count), case(many, count)
        gc.freeze()  # so that the collector does not traverse the surroundings again and again
        times: list[tuple[float, float]] = [(once(little, count), once(much, count)) for _ in range(turns + 1)][1:]
        gc.unfreeze()
        progress("")
        growth = statistics.median(b / a for a, b in times)
        met = growth <= FLAT
        a, b = (statistics.median(each) for each in zip(*times, strict=True))
        print(f"  {name:36} {few:>6} {a:7.2f} {many:>9} {b:7.2f}   x{growth:.2f} {'flat' if met else 'NOT FLAT'}", flush=True)
        if not met:
            missed.append(f"the model, {name}: x{growth:.2f}")
    return missed


def kept(count: int, varied: bool) -> float:
    """Returns the octets per queued message of 100 octets."""
    host = host_of(2)
    reception = Reception(host.intake)
    preload(host, "q1", 100)
    queue, transfer = host.queues["q1"], Transfer("", 1, 0)
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for at in range(count):
        sent = header("q1", correlation_id=b"%08d" % at) if varied else header("q1")
        host.enqueue(reception.read(transfer, sent, bytes([at & 255]) * 100, 0.0), (queue,))
    gc.collect()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return (after - before) / count


def memory(count: int = 20_000) -> list[str]:
    """Prints the memory of queued messages; returns what was too much."""
    missed: list[str] = []
    print(f"\nthe model: memory per message of 100 octets in a queue, {count} of them")
    for kind, varied in (("the same header", False), ("a header of its own", True)):
        octets = kept(count, varied)
        met = octets <= OCTETS
        verdict = "met" if met else "MISSED"
        print(f"  {kind:20} {octets:6.0f} octets, {octets - 100:.0f} more than the body; at most {OCTETS} {verdict}")
        if not met:
            missed.append(f"the model, memory with {kind}: {octets:.0f} octets, at most {OCTETS}")
    return missed


def main() -> int:
    """Runs the model's cases alone."""
    missed = flat(2000, 5) + memory()
    for line in missed:
        print(f"missed: {line}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
