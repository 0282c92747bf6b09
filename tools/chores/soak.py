"""`make soak`: the long forms of what `make test` runs small, bounded in time, resumable.

Each round takes the next seed and runs, in order: every property with the profile `soak`; the grammars against the tables and
against the implementation (including the whole product with the observer of the older dialects); channels over links that break
(a thousand seeds in each of three dialects); the fuzzer; the pipeline (all combinations of how its work can be split, and a
stream that is killed twenty times); captures with each of their packets lost or truncated, and thousands of odd packets (twenty
minutes at most, starting from another recording in each round); every recording in forty variants of capturing it (clocks, both
ends, tunnels, truncated, rotated, link types); the longer form of greedy clients at the broker; every test marked `soak`;
`serve` with 200 faults (connections cut, connections silent, processes killed, disks full: fifty each), a gigabyte of messages
of all sizes and a thousand connections; the live source and sink of Spark at every step of their protocol: at least a hundred
crashes of each and a hundred kills of the broker under each, at-least-once and exactly-once; a hundred kills of the JVM; and,
with Java and Maven, the same crashes with Qpid Broker-J. out/soak.json stores the number of finished rounds, so that a stopped
run continues with the next seed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

NOT_RUN: Final = 75
"""The exit code of what cannot run here, after it has printed the reason."""
ROOT: Final = Path(__file__).resolve().parents[2]
STATE: Final = ROOT / "out" / "soak.json"
SEEDS: Final = 10_000
"""Simulations in each round."""
LARGER: Final = (
    "tests/properties",
    "tests/broker/test_greedy.py",
    *(f"tests/captures/test_{each}.py" for each in ("flows", "observed", "variants")),
    *(f"tests/captures/columns/test_{each}.py" for each in ("compact", "place", "read", "strangers")),
    "tests/conformance/test_observer_on_captures.py",
    "tests/testing/simulation/test_world.py",
    "tests/tools/test_values.py",
)
"""Tests besides properties that do more with the profile `soak`, and have no other place in a round."""
KILLED: Final = tuple([f"tests/interop/test_spark_{each}.py" for each in ("cluster", "kills", "watch")])
"""Tests that kill processes of Spark."""
LOSSES_SECONDS: Final = 1200.0
"""The time for packet losses in one round: with many recordings, all of them take longer than the rest of it."""


def rounds_done() -> int:
    """Returns how many rounds earlier runs have finished."""
    if not STATE.exists():
        return 0
    done = json.loads(STATE.read_text())["rounds"]
    assert isinstance(done, int)
    return done


def passes(command: Sequence[str], environment: Mapping[str, str], seconds: float | None = None) -> bool:
    """Returns whether a command finds nothing wrong, before it ends or for `seconds`; True if it cannot run here."""
    try:
        return subprocess.run(command, cwd=ROOT, env=environment, check=False, timeout=seconds).returncode in (0, NOT_RUN)
    except subprocess.TimeoutExpired:
        print(f"soak: stopped after {seconds:.0f} s: {' '.join(command[1:])}", flush=True)
        return True


def main() -> int:
    """Returns 0 when every round passed, else 1."""
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=1800.0, help="stop after the round that passes this time")
    arguments = parser.parse_args()
    end = time.monotonic() + arguments.seconds
    seed = rounds_done()
    environment = {**os.environ, "AMQP_PROFILE": "soak"}
    failed = False
    while time.monotonic() < end and not failed:
        seed += 1
        left = end - time.monotonic()
        print(f"soak: round {seed}, {left:.0f} s left", flush=True)
        properties = (sys.executable, "-m", "pytest", "-n", "2", "-m", "hypothesis", f"--hypothesis-seed={seed}")
        fuzz = (sys.executable, "-m", "fuzz", "--seconds", str(int(min(left, 300.0)) + 1), "--seed", str(seed))
        pipeline = (
            sys.executable,
            "-m",
            "pytest",
            "tests/spark",
            "-k",
            "how_the_work_is_cut or clocks",
        )
        environment["AMQP_SEED"] = str(seed)
        names = [f"tests/cli/test_{each}.py" for each in ("cuts", "faults", "load")]
        serving = (sys.executable, "-m", "pytest", "-v", "-rP", *names)
        live = (sys.executable, "-m", "pytest", "-v", "tests/spark/live/test_crashes.py")
        killed = (sys.executable, "-m", "tools.interop", "--as-it-is", "--only", "spark", "-v", *KILLED)
        broker_j = (sys.executable, "-m", "tools.interop", "--as-it-is", "--only", "broker_j", "-v", "-k", "crash_after_crash")
        seeds = (sys.executable, "-m", "amqp_sansio", "simulate", "--seed", str(seed * SEEDS), "--count", str(SEEDS))
        variants = (sys.executable, "-m", "pytest", "-n", "2", "-m", "not hypothesis", *LARGER)
        witnesses = (
            *(sys.executable, "-m", "tools.witnesses", "--seed", str(seed), "--heard", "0", "--most", "3"),
            *("--lengths", "20", "60", "200"),
        )
        marked = (sys.executable, "-m", "pytest", "-n", "2", "--dist", "loadfile", "-m", "soak", f"--hypothesis-seed={seed}")
        for command in (properties, witnesses, fuzz, pipeline, variants, serving, live, killed, broker_j, marked, seeds):
            failed = failed or not passes(command, environment)
        packets = [f"tests/captures/columns/test_{each}.py" for each in ("replay", "losses")]
        losses = (sys.executable, "-m", "pytest", "-x", "-n", "2", *packets)
        failed = failed or not passes(losses, environment, min(LOSSES_SECONDS, max(end - time.monotonic(), 60.0)))
        if not failed:
            STATE.parent.mkdir(exist_ok=True)
            STATE.write_text(json.dumps({"rounds": seed}) + "\n")
    print(f"soak: round {seed} found something" if failed else f"soak: {seed} rounds done in all, all good")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
