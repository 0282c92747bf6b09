"""Measures cold processes: the time of one call of `check` or `analyze`, including all of Python's imports."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from bench import compiled
from bench.pipeline.target import MEGA, Target
from bench.pipeline.usage import anonymous_octets, own_seconds
from bench.pipeline.work import tshark_words

TURNS: Final = 3
"""How often each is run; the least CPU counts."""
PERIOD: Final = 0.02
SMALL: Final = 1 * MEGA
MIDDLE: Final = 5 * MEGA
LARGE: Final = 150 * MEGA
HEAD: Final = f"{'cold process':42} {'MB':>6} {'seconds':>9} {'CPU s':>9} {'MB anon':>9}"


class Cold(NamedTuple):
    """The least of some turns: seconds, CPU seconds; the peak of its private memory, in octets."""

    wall: float
    cpu: float
    octets: int


def once(words: Sequence[str], environment: Mapping[str, str], core: int | None = None) -> Cold:
    """Runs a command in a new process; `core` is the only core that it may use.

    Exit codes 0 and 1 are good: 1 reports findings.
    """

    def bind() -> None:
        if core is not None:
            os.sched_setaffinity(0, {core})

    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    said = subprocess.DEVNULL
    process = subprocess.Popen(words, env=dict(environment), stdout=said, stderr=said, preexec_fn=bind)
    most, left = 0, {}
    while process.poll() is None:
        most = max(most, anonymous_octets(process.pid))
        left.update(own_seconds(process.pid))
        time.sleep(PERIOD)
    wall = time.perf_counter() - began
    if process.returncode not in (0, 1):
        raise SystemExit(f"bench: {' '.join(words)} failed: {process.returncode}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    waited = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    # No process waits for a JVM and its workers: what they had used when last seen counts.
    return Cold(wall, max(waited, sum(left.values())), most)


def least(name: str, capture: Path, words: Sequence[str], built: bool = False, core: int | None = None) -> Cold:
    """Prints the least of TURNS as a line of the table, and returns it."""
    print(f"  cold: {name} on {capture.name}", file=sys.stderr, flush=True)
    turns = [once(words, compiled.environment(built), core) for _ in range(TURNS)]
    found = Cold(min([each.wall for each in turns]), min([each.cpu for each in turns]), max([each.octets for each in turns]))
    label = f"{name}{'*' if built else ''}{'' if core is None else ', one core'}"
    size = capture.stat().st_size / MEGA
    print(f"{label:42} {size:6.0f} {found.wall:9.2f} {found.cpu:9.2f} {found.octets / MEGA:9.0f}", flush=True)
    return found


def verb(*words: str) -> list[str]:
    """Returns a command line of ours."""
    return [sys.executable, "-m", "amqp_sansio", *words]


def has_engines() -> bool:
    """Returns whether `analyze` has an option for its engine."""
    said = subprocess.run(
        verb("analyze", "--help"), capture_output=True, text=True, check=False, env=compiled.environment(False)
    )
    return "--engine" in said.stdout


def targets(captures: Mapping[int, Path], folder: Path) -> list[Target]:
    """Measures `check` and `analyze` on captures of SMALL, MIDDLE and LARGE octets, or fewer, and compares."""
    print(f"\n{HEAD}", flush=True)
    engines = has_engines()
    why = "" if engines else "analyze has one engine only"
    out = folder / "cold"

    def analyze(size: int, engine: str, built: bool = False, core: int | None = None) -> Cold:
        shutil.rmtree(out, ignore_errors=True)
        chosen = ["--engine", engine] if engines else []
        words = verb("analyze", str(captures[size]), "--out", str(out), *chosen)
        found = least(f"analyze --engine {engine}", captures[size], words, built, core)
        shutil.rmtree(out, ignore_errors=True)
        return found

    made: list[Target] = []
    for size in (SMALL, MIDDLE, LARGE):
        analyze(size, "spark")
        if engines and size != LARGE:
            analyze(size, "local")
    check = least("check", captures[SMALL], verb("check", str(captures[SMALL])))
    label = "CPU of a cold analyze --engine local / check, 1 MB"
    small = analyze(SMALL, "local") if engines else None
    octets = captures[SMALL].stat().st_size
    made.append(Target(label, 3.0, True, small and small.cpu / check.cpu, octets, int(SMALL * 0.9), why))
    octets = captures[LARGE].stat().st_size
    shark = None
    core = min(os.sched_getaffinity(0))
    if shutil.which("tshark") is not None:
        shark = least("tshark -T fields", captures[LARGE], tshark_words(str(captures[LARGE])), core=core)
    for built, wanted in ((False, 1.2), (True, 1.0)):
        found = None
        if engines and (not built or compiled.there()):
            found = analyze(LARGE, "local", built, core)
        label = f"CPU of a cold analyze --engine local, {'compiled' if built else 'pure'} / tshark -T fields, one core"
        ratio = found.cpu / shark.cpu if found is not None and shark is not None else None
        made.append(Target(label, wanted, True, ratio, octets, int(LARGE * 0.9), why))
        if found is not None:
            label = f"MB of RssAnon of analyze --engine local, {'compiled' if built else 'pure'}"
            made.append(Target(label, 200, True, found.octets / MEGA, octets, int(LARGE * 0.9)))
    return made
