"""RabbitMQ on loopback: ours in 0-9-1 against pika and aiormq, one client at a time, in turn, on one node.

Each client is its own process, whose CPU (user and system, all threads) is measured between its first and last message:
messages of 100 octets published without confirms, with one barrier after them; published, each confirmed before the next
(client and node on one core, see `loopback.cores`); and consumed with 100 prefetched, each acknowledged. librabbitmq, in C, is
the ceiling of the rates.

python -m bench.rabbitmq [MESSAGES [ROUNDS]]: these figures alone.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections import defaultdict
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from bench.harness import progress
from bench.loopback.compare import OF_PYTHON, SLOW, TARGET, Broker, Cost, one
from bench.loopback.cores import one_core
from tools.interop.maven import NotAvailable
from tools.interop.rabbitmq import RabbitMq

CASES: Final = {
    "publish": "publish without confirm",
    "confirmed": "publish, each confirmed before the next",
    "consume": "consume, 100 prefetched, each acknowledged",
}
AGAINST: Final = {"channels": "pika", "channels aio": "aiormq", "channels trio": "aiormq"}
"""For each of ours, the client of theirs that waits the same way; trio has no other client."""
CEILING: Final = "librabbitmq"
SOURCE: Final = Path(__file__).with_name("loopback") / f"{CEILING}.c"


def ceiling(folder: str) -> tuple[str, ...]:
    """Compiles the client in C, and returns its command.  Raises NotAvailable."""
    program = f"{folder}/{CEILING}"
    try:
        done = subprocess.run(
            ["cc", "-O2", "-o", program, str(SOURCE), "-lrabbitmq"], capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise NotAvailable("there is no compiler of C here") from error
    if done.returncode:
        raise NotAvailable("it cannot be compiled here: apt install librabbitmq-dev")
    return (program,)


def turns(url: str, programs: dict[str, tuple[str, ...]], count: int, rounds: int) -> dict[tuple[str, str], Cost]:
    """Returns the median costs by case and client.  A queue is published full, then consumed empty."""
    took: dict[tuple[str, str], list[Cost]] = defaultdict(list)
    node = Broker("RabbitMQ", url, tuple(programs))
    for number in range(rounds):
        for case in ("publish", "confirmed"):
            with one_core() if case == "confirmed" else nullcontext():
                for client, program in programs.items():
                    progress(f"RabbitMQ: round {number + 1}/{rounds}, {CASES[case]}, {client}")
                    some = count // SLOW if case == "confirmed" else count
                    took[case, client].append(one(node, client, case, some, program))
                    consumed = one(node, client, "consume", some, program)
                    if case == "publish":
                        took["consume", client].append(consumed)
    progress("")
    return {key: Cost(*[statistics.median(each) for each in zip(*costs, strict=True)]) for key, costs in took.items()}


def compare(count: int, rounds: int) -> list[str]:
    """Prints the table; returns the missed targets."""
    theirs = tuple(dict.fromkeys(AGAINST.values()))
    missing = [name for name in theirs if find_spec(name) is None]
    if missing:
        print(f"\nRabbitMQ: NOT RUN: {', '.join(missing)} cannot be imported (bench/requirements.txt)")
        return []
    programs = dict.fromkeys((*AGAINST, *theirs), OF_PYTHON)
    with TemporaryDirectory(prefix="amqp-sansio-bench-") as folder:
        try:
            programs[CEILING] = ceiling(folder)
        except NotAvailable as error:
            print(f"\nRabbitMQ: the ceiling: NOT RUN: {CEILING}: {error}")
        try:
            with RabbitMq() as node:
                took = turns(node.url, programs, count, rounds)
        except NotAvailable as error:
            print(f"\nRabbitMQ: NOT RUN: {error}")
            return []
    print(f"\nRabbitMQ: microseconds of client CPU per message (messages/s end to end); median of {rounds} rounds")
    missed: list[str] = []
    for case, label in CASES.items():
        print(f"  {label}")
        for client in programs:
            cost = took[case, client]
            line = f"    {client:13} {cost.cpu:7.1f} ({1e6 / cost.wall:7.0f}/s)"
            if other := AGAINST.get(client):
                share = cost.cpu / took[case, other].cpu
                met = share <= TARGET
                line += f"   {share:4.2f} of {other}'s, at most {TARGET} {'met' if met else 'MISSED'}"
                if not met:
                    missed.append(f"RabbitMQ, {label}: {client} takes {share:.2f} of {other}'s CPU, at most {TARGET} is wanted")
            print(f"{line}{'   the ceiling' if client == CEILING else ''}")
    return missed


def main() -> int:
    """Prints the figures alone."""
    given = [int(each) for each in sys.argv[1:3]]
    missed = compare(*given, *(10000, 3)[len(given) :])
    for line in missed:
        print(f"missed: {line}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
