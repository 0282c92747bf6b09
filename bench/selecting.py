"""Measures subscriptions with selectors on a long queue: twice the messages may take twice the time, and no more.

Ten subscriptions join a full queue; each wants a tenth of it, and all look at nearly everything.  `python -m bench.selecting`
runs it alone.
"""

from __future__ import annotations

import gc
import statistics
import sys
from collections.abc import Callable
from typing import Final

from amqp_sansio.broker.fronts.sessions.front import Reception
from amqp_sansio.broker.model.host import VirtualHost
from amqp_sansio.broker.model.message import QueueEntry
from amqp_sansio.broker.selectors.parser import Selector
from amqp_sansio.spec.message import DeliveryProperties, MessageProperties, Transfer
from amqp_sansio.wire.layouts.layout import encode_headers
from bench.harness import once, progress
from bench.model import BODY, LIMITS, Taker

MESSAGES: Final = 100_000
SUBSCRIPTIONS: Final = 10
TURNS: Final = 3
"""Rounds, each with half of the messages and with all of them."""
MOST: Final = 2.2
"""The most time for twice the messages, as a factor."""


class Picker(Taker):
    """A consumer with a selector."""

    selective = True

    def __init__(self, host: VirtualHost, selector: str) -> None:
        super().__init__(host)
        self.selector = Selector(selector, host.limits)

    def selects(self, entry: QueueEntry) -> bool:
        """Returns whether its selector matches the message."""
        return self.selector.selects(self.host.selectable.properties(entry.message, entry.redelivered).get)


def picked(messages: int) -> Callable[[], int]:
    """Lets the subscriptions join this number of messages, each with its own header, and take them all."""
    host = VirtualHost(limits=LIMITS)
    reception = Reception(host.intake)
    host.declare_queue("q")
    transfer, queue = Transfer("", 1, 0), host.queues["q"]
    for number in range(messages):
        headers = {"shop": number % SUBSCRIPTIONS, "order": number}
        sent = encode_headers([DeliveryProperties(routing_key="q"), MessageProperties(application_headers=headers)])
        host.enqueue(reception.read(transfer, sent, BODY, 0.0), (queue,))
    pickers = [Picker(host, f"shop = {number} AND order >= 0") for number in range(SUBSCRIPTIONS)]

    def run() -> int:
        for picker in pickers:
            host.subscribe("q", picker)
        while host.dispatch(1000):
            pass
        return sum([picker.taken for picker in pickers])

    return run


def linear(turns: int = TURNS, messages: int = MESSAGES) -> list[str]:
    """Prints the times for half of the messages and for all; returns what is not linear."""
    times: list[tuple[float, float]] = []
    for number in range(turns):
        progress(f"selectors: round {number + 1}/{turns}")
        pair: list[float] = []
        for count in (messages // 2, messages):
            run = picked(count)
            gc.freeze()  # so that the collector does not traverse the queue again and again
            pair.append(once(run, count) * count / 1e6)
            gc.unfreeze()
        times.append((pair[0], pair[1]))
    progress("")
    growth = statistics.median(b / a for a, b in times)
    met = growth <= MOST
    half, whole = (statistics.median(each) for each in zip(*times, strict=True))
    print(f"\n{SUBSCRIPTIONS} subscriptions with selectors on a full queue: seconds until all of it is theirs")
    print(
        f"  {messages // 2} messages {half:.2f}   {messages} messages {whole:.2f}"
        f"   x{growth:.2f}, at most {MOST} {'met' if met else 'MISSED'}",
        flush=True,
    )
    return [] if met else [f"{SUBSCRIPTIONS} selectors on {messages} messages: x{growth:.2f} of half of them, at most {MOST}"]


def main() -> int:
    """Runs it alone."""
    missed = linear()
    for line in missed:
        print(f"missed: {line}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
