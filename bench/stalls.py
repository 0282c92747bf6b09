"""Single commands about very many messages, and for how long they hold up a broker: `python -m bench.stalls`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Final

from amqp_sansio.broker.fronts.sessions.front import Reception
from amqp_sansio.broker.journal import Journal
from amqp_sansio.broker.model.host import VirtualHost
from amqp_sansio.broker.model.message import Message
from amqp_sansio.broker.transactions import Work
from amqp_sansio.spec.message import DeliveryProperties, MessageProperties, Transfer
from amqp_sansio.wire.layouts.layout import encode_headers

MANY: Final = 262_144
"""The default of `transaction_messages`, a quarter of `queue_messages`."""


def messages(host: VirtualHost, count: int, mode: int = 1) -> Iterator[Message]:
    """Messages with eight headers each."""
    headers = {f"h{number}": f"v{number}" for number in range(8)}
    header = encode_headers(
        [DeliveryProperties(routing_key="q", delivery_mode=mode), MessageProperties(application_headers=headers)]
    )
    reception = Reception(host.intake)
    for _ in range(count):
        yield reception.read(Transfer(""), header, b"x")


def commit(count: int, journal: bool) -> Callable[[], object]:
    """A transaction that publishes so many messages."""
    host = VirtualHost(journal=Journal(enabled=journal))
    host.declare_queue("q", durable=True)
    work = Work(host)
    for message in messages(host, count, 2):
        work.publish(message, (host.queues["q"],))
    return work.commit


def filled(count: int, alternate: str | None = None) -> VirtualHost:
    """A host with so many messages on a queue."""
    host = VirtualHost()
    host.declare_queue("dead")
    host.bind("dead", "amq.fanout")
    host.bind("dead", "amq.match", "k", {"x-match": "all", "h0": "v0"})
    host.declare_queue("q", alternate)
    for message in messages(host, count):
        host.enqueue(message, (host.queues["q"],))
    return host


def delete(count: int, alternate: str | None) -> Callable[[], object]:
    """The deletion of a queue."""
    host = filled(count, alternate)
    return lambda: host.delete_queue("q")


def rest(count: int, alternate: str | None) -> float:
    """The longest turn after that."""
    host = filled(count, alternate)
    host.delete_queue("q")
    longest = 0.0
    while host.leaving:
        longest = max(longest, seconds(host.move_some))
    return longest


def acquired(count: int) -> Callable[[], object]:
    """A release of so many messages."""
    host = filled(count)
    entries = []
    while (entry := host.queues["q"].take()) is not None:
        entries.append(entry)
    return lambda: host.release(entries)


def seconds(work: Callable[[], object]) -> float:
    """How much of the processor a call takes."""
    begun = time.process_time()
    work()
    return time.process_time() - begun


def main(count: int = MANY) -> None:
    """Prints a table."""
    purged = filled(count)
    rows: dict[str, Callable[[], float]] = {
        "tx.commit": lambda: seconds(commit(count, False)),
        "tx.commit, persistent, with a store": lambda: seconds(commit(count, True)),
        "queue.purge": lambda: seconds(lambda: purged.purge("q")),
        "message.release": lambda: seconds(acquired(count)),
        "queue.delete, to an alternate fanout exchange": lambda: seconds(delete(count, "amq.fanout")),
        "its longest turn after that": lambda: rest(count, "amq.fanout"),
        "queue.delete, to an alternate headers exchange": lambda: seconds(delete(count, "amq.match")),
        "its longest turn after that ": lambda: rest(count, "amq.match"),
    }
    for name, measure in rows.items():
        print(f"{name:48} {measure():7.3f} s", flush=True)


if __name__ == "__main__":
    main()
