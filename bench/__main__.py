"""`make bench`: ours, pamqp and pika take turns in one process; medians of ratios over the rounds, against the targets.

Then clients on real sockets: ours, pika and aiormq, each in its own process, against brokers started for it.  Exit code 0 when
every target is met, else 1.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import subprocess
import sys
from importlib.metadata import version
from typing import Final, NamedTuple

from amqp_sansio.kernel import build
from bench import (
    broker,
    compiled,
    ending,
    fixture,
    memory,
    model,
    our_channels,
    ours,
    peer_pamqp,
    peer_pika,
    rabbitmq,
    selecting,
)
from bench.harness import Fresh, once, progress, ratio, rounds
from bench.loopback import compare as sockets
from bench.messages import messages


class Case(NamedTuple):
    """One comparison: contenders by name, and the targets for ours against each; `compiled`: the compiled build's targets.

    `channels`: ours speaks 0-9-1, as the peers do, else 0-10.  `read`: every property is read; None: it publishes.
    """

    label: str
    channels: bool
    read: bool | None
    targets: dict[str, float]
    compiled: dict[str, float] = {}  # noqa: RUF012  # nothing changes it


CASES: Final = (
    Case("receive, minimal header, untouched", False, False, {"pamqp": 4.0, "pika": 5.0}, {"pamqp": 30.0}),
    Case("receive, rich header, every property read", False, True, {"pamqp": 2.5, "pika": 2.0}, {"pamqp": 10.0}),
    Case("publish, rich header", False, None, {"pamqp": 4.0, "pika": 2.5}, {"pamqp": 15.0}),
    Case("0-9-1: receive, headers untouched", True, False, {"pamqp": 4.0, "pika": 5.0}),
    Case("0-9-1: receive, every property read", True, True, {"pamqp": 3.0, "pika": 3.0}),
    Case("0-9-1: publish, rich header", True, None, {"pamqp": 4.0, "pika": 3.0}),
)
MEMORY_TARGET: Final = 0.5
SIZES: Final = (0, 4096, 7, 1)
LOOPBACK_ROUNDS: Final = 3
LINEAR: Final = 1.5
"""The cost of twice the octets, at most, as a factor of twice the time."""


def contenders(case: Case, count: int, varied: bool) -> dict[str, Fresh]:
    """Returns the libraries to compare; all handle the same messages."""
    read = case.read
    sent = messages(count, rich=read is not False, varied=varied)
    mine = our_channels if case.channels else ours
    if read is None:
        return {"ours": mine.publish(sent), "pamqp": peer_pamqp.publish(sent), "pika": peer_pika.publish(sent)}
    return {
        "ours": mine.receive(sent, read=read),
        "pamqp": peer_pamqp.receive(sent, read=read),
        "pika": peer_pika.receive(sent, read=read),
    }


def compare(count: int, turns: int, built: bool = False) -> list[str]:
    """Prints the table of ratios; returns the missed targets.  `built`: ours is the compiled build."""
    missed: list[str] = []
    print(f"\n{'microseconds per message':44} {'ours':>7} {'pamqp':>7} {'pika':>7}   {'pamqp/ours':>18} {'pika/ours':>18}")
    for case in CASES:
        for varied in (False, True):
            label = f"{case.label}, {'varied' if varied else 'repeated'}"
            times = rounds(contenders(case, count, varied), count, turns, label)
            medians = {name: statistics.median(each) for name, each in times.items()}
            cells = []
            for name, wanted in case.targets.items():
                target = case.compiled.get(name, wanted) if built else wanted
                reached = ratio(times[name], times["ours"])
                met = reached >= target
                cells.append(f"{reached:6.2f} of {target:3.1f} {'met' if met else 'MISSED':>6}")
                if not met:
                    missed.append(f"{label}: {reached:.2f} times {name}, target {target}")
            print(
                f"{label:44.60} {medians['ours']:7.2f} {medians['pamqp']:7.2f} {medians['pika']:7.2f}   {'  '.join(cells)}",
                flush=True,
            )
    return missed


def beside(count: int, turns: int) -> list[str]:
    """Does the same with the compiled build, if there is one, in its own process, with the same peers in turn."""
    if not compiled.there():
        print("\nthe compiled build: not measured, `make compiled` makes it")
        return []
    print("\nthe compiled build:", flush=True)
    words = [sys.executable, "-m", "bench", "--only-ratios", "--rounds", str(turns), "--messages", str(count)]
    done = subprocess.run(words, cwd=compiled.ROOT, env=compiled.environment(True), check=False)
    return [] if done.returncode == 0 else ["the compiled build: see above"]


def remember() -> list[str]:
    """Prints the retained memory; returns the missed targets."""
    missed: list[str] = []
    print("\nmemory kept per received message of 100 octets, minimal header untouched, 10000 kept")
    for kind, (our, their) in memory.compare().items():
        share = our / their
        met = share <= MEMORY_TARGET
        verdict = "met" if met else "MISSED"
        print(f"  {kind:9} ours {our:6.0f} octets, pamqp {their:6.0f}: {share:.2f} of it, target {MEMORY_TARGET} {verdict}")
        if not met:
            missed.append(f"memory, {kind}: {share:.2f} of pamqp's, target {MEMORY_TARGET}")
    ordered, holed = memory.outstanding()
    print("\nmemory for each outstanding delivery of a channel, or publish without its confirm")
    print(f"  in order {ordered:.2f} octets; every second one settled {holed:.0f} octets")
    return missed


def linear(count: int) -> list[str]:
    """Prints the cost of feeding in pieces; returns the sizes at which it is not linear."""
    missed: list[str] = []
    print("\nfeeding the same octets in pieces: microseconds per message, and the cost of twice as many messages")
    recordings = {many: ours.Recording(messages(many, rich=False, varied=True)) for many in (count, 2 * count)}
    for size in SIZES:
        costs: dict[int, float] = {}
        for many, recording in recordings.items():
            progress(f"feeding in {size or 'one'}")
            piece = size or len(recording.stream)
            costs[many] = min(once(ours.feed(recording, piece, many), many) for _ in range(5))
        progress("")
        growth = costs[2 * count] / costs[count]
        met = growth <= LINEAR
        name = f"pieces of {size}" if size else "whole"
        verdict = "linear" if met else "NOT LINEAR"
        print(f"  {name:14} {costs[count]:8.2f} {costs[2 * count]:8.2f}   x{growth:.2f} per message {verdict}")
        if not met:
            missed.append(f"feeding, {name}: x{growth:.2f}")
    return missed


def main() -> int:
    """Runs everything."""
    parser = argparse.ArgumentParser(prog="make bench", description="ours against pamqp and pika, in one run")
    parser.add_argument("--rounds", type=int, default=9, help="rounds of each case (at least 9 for a verdict)")
    parser.add_argument("--messages", type=int, default=3000, help="messages of one round")
    parser.add_argument("--loopback", type=int, default=20000, help="messages of one client on real sockets")
    parser.add_argument(
        "--only-ratios", action="store_true", help="the ratios of the codec only, of the build that is imported"
    )
    arguments = parser.parse_args()
    if arguments.only_ratios:
        return 1 if compare(arguments.messages, arguments.rounds, build.COMPILED) else 0
    peers = ", ".join(f"{name} {version(name)}" for name in ("pamqp", "pika"))
    print(f"Python {platform.python_version()}, {peers}; {arguments.rounds} rounds of {arguments.messages} messages, in turns")
    missed = compare(arguments.messages, arguments.rounds) + beside(arguments.messages, arguments.rounds)
    missed += remember() + linear(arguments.messages)
    missed += model.flat(arguments.messages, arguments.rounds) + model.memory()
    missed += selecting.linear()
    missed += broker.through_broker(arguments.rounds) + fixture.cost()
    missed += sockets.loopback(arguments.loopback, LOOPBACK_ROUNDS)
    missed += rabbitmq.compare(arguments.loopback // 2, LOOPBACK_ROUNDS)
    missed += ending.compare()
    print()
    for line in missed:
        print(f"missed: {line}")
    print("bench: every target met" if not missed else f"bench: {len(missed)} targets missed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
