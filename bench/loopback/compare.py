"""Loopback: ours against Broker-J and `serve`, pika and aiormq against RabbitMQ, one client at a time, in turn.

Each client is its own process; its figure is the CPU (user and system, all threads) between its first and last message; brokers
are other processes.  The acknowledgements are the same everywhere:

* publish, settled at the end: messages one after the other, and one barrier after them;
* publish, each confirmed, 100 in flight (pika's BlockingConnection cannot);
* publish, each confirmed before the next;
* consume, 100 prefetched, each acknowledged individually.

«Each confirmed before the next» runs client and broker on one core (`cores`), because each message wakes a process.  The table
also shows the floor: the same octets with a socket, asyncio and trio alone, with the fewest wakes possible, and as ordinary
programs do it (futures, streams).  As the floor shows, code that awaits pays for its event loop at each wake: so in this case
blocking code is compared with blocking code and code that awaits with code that awaits, and the other ratios are printed
without a verdict.  In all other cases each of ours is compared with each of theirs.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Final, NamedTuple

from bench.harness import progress
from bench.loopback.broker import Served
from bench.loopback.cores import one_core
from bench.loopback.floor import Echo
from tools.interop.broker_j import BrokerJ
from tools.interop.maven import NotAvailable
from tools.interop.rabbitmq import RabbitMq

ROOT: Final = Path(__file__).resolve().parents[2]
TARGET: Final = 0.5
"""The most CPU, as a share of each of theirs."""
CASES: Final = {
    "publish": "publish, settled at the end",
    "window": "publish, each confirmed, 100 in flight",
    "confirmed": "publish, each confirmed before the next",
    "consume": "consume, each acknowledged",
}
SLOW: Final = 5
"""How many times fewer messages are sent when each waits for the previous one."""
SECONDS: Final = 300.0
"""The time limit of one client."""
ECHO: Final = "an echo"
OURS: Final = ("sync", "asyncio", "trio")
THEIRS: Final = ("pika", "aiormq")
LIKE: Final = {"sync": "pika", "asyncio": "aiormq", "trio": "aiormq"}
"""The client of theirs that waits as each of ours does; trio has no other client."""
FLOORS: Final = {"sync": "bare", "asyncio": "bare aio", "trio": "bare trio"}
"""The lower bound of each of ours when it waits for each message."""
BARE: Final = (*FLOORS.values(), "futures", "streams")

OF_PYTHON: Final[tuple[str, ...]] = (sys.executable, "-m", "bench.loopback.measure")


class Cost(NamedTuple):
    """Microseconds per message: CPU of the client, and wall clock."""

    cpu: float
    wall: float


class Broker(NamedTuple):
    """A running broker, and its clients."""

    name: str
    url: str
    clients: tuple[str, ...]


def one(broker: Broker, client: str, case: str, count: int, program: tuple[str, ...] = OF_PYTHON) -> Cost:
    """Runs one client: by name, or a program with the same output as `measure`."""
    path = [str(ROOT / "src"), str(ROOT), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    environment = {**os.environ, "AMQP_BENCH_URL": broker.url, "PYTHONPATH": os.pathsep.join(filter(None, path))}
    done = subprocess.run(
        [*program, *([client] if program is OF_PYTHON else []), case, str(count)],
        env=environment, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS, check=False,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"bench: {client} against {broker.name}: {(done.stderr.strip().splitlines() or ['no word'])[-1]}")
    cpu, wall = done.stdout.split()
    return Cost(float(cpu), float(wall))


def turns(brokers: list[Broker], count: int, rounds: int) -> dict[tuple[str, str, str], list[Cost]]:
    """Returns the costs of each client in each case, by (case, broker, client).

    A queue is published full, then consumed empty.
    """
    took: dict[tuple[str, str, str], list[Cost]] = defaultdict(list)
    for number in range(rounds):
        for case in ("publish", "window", "confirmed"):
            with one_core() if case == "confirmed" else nullcontext():
                for broker in brokers:
                    progress(f"loopback: round {number + 1}/{rounds}, {CASES[case]}, {broker.name}")
                    for client in broker.clients:
                        if (case == "confirmed" or client not in BARE) and (case, client) != ("window", "pika"):
                            turn(took, broker, client, case, count // SLOW if case == "confirmed" else count)
    progress("")
    return took


def turn(took: dict[tuple[str, str, str], list[Cost]], broker: Broker, client: str, case: str, count: int) -> None:
    """Lets one client publish, and consume what it has published."""
    took[case, broker.name, client].append(one(broker, client, case, count))
    if client not in BARE:
        consumed = one(broker, client, "consume", count)
        if case == "publish":
            took["consume", broker.name, client].append(consumed)


def started(stack: ExitStack) -> list[Broker]:
    """Starts the brokers that are available here; prints a line with the reason for each of the others."""
    found = [
        Broker(ECHO, stack.enter_context(Echo()).url, BARE),
        Broker("serve", stack.enter_context(Served()).url, OURS),
    ]
    peers: list[tuple[str, tuple[str, ...], Callable[[], RabbitMq | BrokerJ]]] = [
        ("Broker-J", OURS, lambda: stack.enter_context(BrokerJ(ROOT / ".cache" / "broker_j"))),
        ("RabbitMQ", THEIRS, lambda: stack.enter_context(RabbitMq())),
    ]
    for name, clients, start in peers:
        try:
            found.append(Broker(name, start().url, clients))
        except NotAvailable as error:
            print(f"loopback: NOT RUN against {name}: {error}")
    return found


def loopback(count: int, rounds: int) -> list[str]:
    """Prints the table; returns the missed targets."""
    with ExitStack() as stack:
        took = turns(started(stack), count, rounds)
    print(f"\nloopback, 100 octets: microseconds of client CPU per message (messages/s end to end); median of {rounds} rounds")
    missed: list[str] = []
    judged = 0
    for case, label in CASES.items():
        print(f"  {label}")
        costs = {
            (broker, client): Cost(*[statistics.median(each) for each in zip(*all_, strict=True)])
            for (which, broker, client), all_ in took.items()
            if which == case
        }
        theirs = {client: cost for (_, client), cost in costs.items() if client in THEIRS}
        for (broker, client), cost in costs.items():
            line = f"    {client:9} {broker:9} {cost.cpu:7.1f} ({1e6 / cost.wall:7.0f}/s)"
            if client in OURS:
                floor = costs.get((ECHO, FLOORS[client]))
                beside = "" if floor is None else f"; its floor is {floor.cpu:.1f} us"
                for their, other in theirs.items():
                    share = cost.cpu / other.cpu
                    if case == "confirmed" and their != LIKE[client]:
                        line += f"  {share:4.2f} of {their}'s"
                        continue
                    met = share <= TARGET
                    line += f"  {share:4.2f} of {their}'s {'met' if met else 'MISSED'}"
                    judged += 1
                    if not met:
                        missed.append(
                            f"loopback, {label}: {client} with {broker} takes {cost.cpu:.1f} us, {share:.2f} of {their}'s"
                            f" {other.cpu:.1f} us, at most {TARGET} is wanted{beside}"
                        )
                line += "" if floor is None else f"  (floor {floor.cpu:.1f})"
            print(line)
    print(f"  of {judged} comparisons {judged - len(missed)} met, {len(missed)} MISSED")
    return missed


def main() -> int:
    """Prints the loopback figures alone: python -m bench.loopback.compare [MESSAGES [ROUNDS]]."""
    given = [int(each) for each in sys.argv[1:3]]
    missed = loopback(*given, *(20000, 3)[len(given) :])
    for line in missed:
        print(f"missed: {line}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
