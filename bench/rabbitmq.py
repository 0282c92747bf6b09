"""RabbitMQ on loopback: ours in 0-9-1 against pika and aiormq, one client after the other, in turns, at one node.

Each client is a process of its own, whose CPU (user and system, all threads) is measured between its first message and its
last: messages of 100 octets published with one barrier behind them, published each confirmed before the next, and consumed with
100 prefetched, each acknowledged.  Ours asks for confirms in the first case, too, for it always does; the others do not.

python -m bench.rabbitmq [MESSAGES [ROUNDS]]: these figures alone.
"""

from __future__ import annotations

import statistics
import sys
from collections import defaultdict
from ctypes.util import find_library
from importlib.util import find_spec
from typing import Final

from bench.harness import progress
from bench.loopback.compare import SLOW, TARGET, Broker, Cost, one
from tools.interop.maven import NotAvailable
from tools.interop.rabbitmq import RabbitMq

CASES: Final = {
    "publish": "publish without confirm",
    "confirmed": "publish, each confirmed before the next",
    "consume": "consume, 100 prefetched, each acknowledged",
}
AGAINST: Final = {"channels": "pika", "channels aio": "aiormq"}
"""Each of ours, and who of theirs waits as it does."""


def turns(url: str, count: int, rounds: int) -> dict[tuple[str, str], Cost]:
    """The medians of what each client took, by case and client.  A queue is published full, then consumed empty."""
    took: dict[tuple[str, str], list[Cost]] = defaultdict(list)
    clients = [each for pair in AGAINST.items() for each in pair]
    node = Broker("RabbitMQ", url, tuple(clients))
    for number in range(rounds):
        for case in ("publish", "confirmed"):
            for client in clients:
                progress(f"RabbitMQ: round {number + 1}/{rounds}, {CASES[case]}, {client}")
                some = count // SLOW if case == "confirmed" else count
                took[case, client].append(one(node, client, case, some))
                consumed = one(node, client, "consume", some)
                if case == "publish":
                    took["consume", client].append(consumed)
    progress("")
    return {key: Cost(*[statistics.median(each) for each in zip(*costs, strict=True)]) for key, costs in took.items()}


def compare(count: int, rounds: int) -> list[str]:
    """Prints the table; the targets that were missed."""
    missing = [name for name in AGAINST.values() if find_spec(name) is None]
    if missing:
        print(f"\nRabbitMQ: NOT RUN: {', '.join(missing)} cannot be imported (bench/requirements.txt)")
        return []
    try:
        with RabbitMq() as node:
            took = turns(node.url, count, rounds)
    except NotAvailable as error:
        print(f"\nRabbitMQ: NOT RUN: {error}")
        return []
    print(f"\nRabbitMQ: microseconds of client CPU per message (messages/s end to end); median of {rounds} rounds")
    missed: list[str] = []
    for case, label in CASES.items():
        print(f"  {label}")
        for ours, theirs in AGAINST.items():
            mine, other = took[case, ours], took[case, theirs]
            share = mine.cpu / other.cpu
            met = share <= TARGET
            print(
                f"    {ours:13} {mine.cpu:7.1f} ({1e6 / mine.wall:7.0f}/s)   {theirs:7} {other.cpu:7.1f}"
                f" ({1e6 / other.wall:7.0f}/s)   {share:4.2f} of {theirs}'s, at most {TARGET} {'met' if met else 'MISSED'}"
            )
            if not met:
                missed.append(f"RabbitMQ, {label}: {ours} takes {share:.2f} of {theirs}'s CPU, at most {TARGET} is wanted")
    here = "is here, and is not measured yet" if find_library("rabbitmq") else "is not here"
    print(f"  the ceiling: NOT RUN: librabbitmq {here}")
    return missed


def main() -> int:
    """The figures alone."""
    given = [int(each) for each in sys.argv[1:3]]
    missed = compare(*given, *(10000, 3)[len(given) :])
    for line in missed:
        print(f"missed: {line}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
