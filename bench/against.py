"""Compares the speed of this tree with another commit: both do the same work in turn, in one run, pure and compiled.

In every round each tree has a fresh process, and both do each piece of work (`bench.workloads`) in turn, twice, the first time
as a warm-up; the order changes from round to round.  The processes are fresh because the layout of objects in memory makes a
process up to 5 % faster or slower for its whole life.

The verdict is on the median ratio of this tree to the other: the work is slower when its whole 90 % interval is above 1.02.
The interval is that of order statistics, which assumes nothing about the distribution of times.

python -m bench.against COMMIT [--rounds 15] [--only NAME ...] [--build pure|compiled|both]

Exit code 0: nothing is slower. 1: something is. 2: the commit cannot be compared.  A compiled build that cannot be made here is
reported as not run.
"""

from __future__ import annotations

import argparse
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from bench.harness import progress
from bench.traffic import make

ROOT: Final = Path(__file__).resolve().parents[1]
CHECKOUTS: Final = ROOT / "out" / "against"
WORKLOADS: Final = "bench/workloads.py"
LEAST_ROUNDS: Final = 15
BOUND: Final = 1.02
"""The work is slower when the whole interval is above this."""
CONFIDENCE: Final = 0.9
CAPTURE_OCTETS: Final = 3_000_000
NOT_RUN: Final = 75


class Interval(NamedTuple):
    """The median of some ratios, and its 90 % confidence interval."""

    low: float
    median: float
    high: float

    @property
    def slower(self) -> bool:
        """Whether the whole interval is above the bound."""
        return self.low > BOUND


def interval(ratios: Sequence[float]) -> Interval:
    """Returns the median and its interval from order statistics.  Raises ValueError for fewer than five ratios."""
    count, ordered = len(ratios), sorted(ratios)
    if count < 5:
        raise ValueError(f"{count} ratios have no {CONFIDENCE:.0%} interval: at least 5 do")
    below, outside = 0, 2 * 0.5**count  # both ends outside the k-th smallest and the k-th largest
    while (more := outside + 2 * math.comb(count, below + 1) * 0.5**count) <= 1 - CONFIDENCE:
        below, outside = below + 1, more
    return Interval(ordered[below], statistics.median(ordered), ordered[count - 1 - below])


def checkout(commit: str) -> Path:
    """Returns a work tree of the commit below out/, with this tree's workloads if it has none."""

    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            print(f"bench: git {' '.join(words)}: {done.stderr.strip()}", file=sys.stderr)
            raise SystemExit(2)
        return done.stdout.strip()

    name = git("rev-parse", "--verify", f"{commit}^{{commit}}")
    tree = CHECKOUTS / name
    if not (tree / "src").exists():
        git("worktree", "prune")
        git("worktree", "add", "--detach", "--force", str(tree), name)
    if not git("ls-tree", "--name-only", name, "--", WORKLOADS):
        shutil.copyfile(ROOT / WORKLOADS, tree / WORKLOADS)
    return tree


def compiled(tree: Path) -> Path | None:
    """Returns the compiled build of a tree, made if its sources have changed; None when it cannot be made."""
    words = [sys.executable, "-m", "tools.compiled"]
    done = subprocess.run(words, cwd=tree, env={**os.environ, "PYTHONPATH": f"{tree / 'src'}{os.pathsep}{tree}"}, check=False)
    if done.returncode not in (0, NOT_RUN):
        raise SystemExit(done.returncode)
    return tree / "out" / "compiled" if done.returncode == 0 else None


class Tree:
    """A process of one tree."""

    def __init__(self, tree: Path, package: Path, capture: Path) -> None:
        path = os.pathsep.join([str(package), str(tree)])
        words = [sys.executable, "-P", str(tree / WORKLOADS), str(capture)]
        environment = {**os.environ, "PYTHONPATH": path}
        self._process: Final = subprocess.Popen(
            words, cwd=tree, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.names: Final = self._line()

    def _line(self) -> list[str]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"bench: the process of {self._process.args!r} ended: its words are above")
        return line.rstrip("\n").split("\t")

    def run(self, name: str) -> tuple[float, str]:
        """Returns the CPU seconds of one round, and what it counted."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{name}\n")
        self._process.stdin.flush()
        seconds, counted = self._line()
        return float(seconds), counted

    def close(self) -> None:
        """Ends the process."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait()


def compare(mine: Callable[[], Tree], its: Callable[[], Tree], rounds: int, only: Sequence[str]) -> list[str]:
    """Prints a line for each piece of work that both trees have; returns the names of those that are slower here.

    `mine` and `its` start a process of this tree and of the other.
    """
    slower: list[str] = []
    ratios: dict[str, list[float]] = {}
    here_took: dict[str, list[float]] = {}
    notes: dict[str, str] = {}
    for turn in range(rounds):
        here, there = mine(), its()
        try:
            for name in here.names:
                if name not in there.names or (only and name not in only):
                    continue
                progress(f"round {turn + 1}/{rounds}: {name}")
                first, second = (here, there) if turn % 2 else (there, here)
                first.run(name), second.run(name)
                took = {first: first.run(name), second: second.run(name)}
                (ours, count), (theirs, other) = took[here], took[there]
                if count != other:
                    notes[name] = f"  counts differ: {count} here, {other} there"
                ratios.setdefault(name, []).append(ours / theirs)
                here_took.setdefault(name, []).append(ours)
        finally:
            here.close()
            there.close()
    progress("")
    for name in ratios:
        found = interval(ratios[name])
        verdict = "SLOWER" if found.slower else "faster" if found.high < 1 else "no slower"
        milliseconds = statistics.median(here_took[name]) * 1000
        figures = f"{milliseconds:9.1f} ms   x{found.median:.3f}  ({found.low:.3f} to {found.high:.3f})"
        print(f"  {name:18} {figures}  {verdict}{notes.get(name, '')}", flush=True)
        if found.slower:
            slower.append(name)
    return slower


def main(arguments: list[str]) -> int:
    """Returns the exit code."""
    parser = argparse.ArgumentParser(prog="make bench AGAINST=COMMIT", description="this tree against another commit, by turns")
    parser.add_argument("commit")
    parser.add_argument("--rounds", type=int, default=LEAST_ROUNDS, help=f"at least {LEAST_ROUNDS} for a verdict")
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME", help="only these pieces of work")
    parser.add_argument("--build", choices=("pure", "compiled", "both"), default="both")
    given = parser.parse_args(arguments)
    if given.rounds < LEAST_ROUNDS:
        print(f"bench: {given.rounds} rounds are too few for a verdict: the figures are for orientation", file=sys.stderr)
    other = checkout(given.commit)
    missed: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        capture = Path(folder, "traffic.pcap")
        make(capture, CAPTURE_OCTETS, connections=8)
        for build in ("pure", "compiled"):
            if given.build not in (build, "both"):
                continue
            packages: list[Path | None] = [ROOT / "src", other / "src"]
            if build == "compiled":
                packages = [compiled(ROOT), compiled(other)]
            if (mine := packages[0]) is None or (its := packages[1]) is None:
                print("bench: NOT RUN: the compiled build cannot be made here", file=sys.stderr)
                continue
            print(
                f"\n{build}, CPU time of this tree / {given.commit}, {given.rounds} rounds: median (90 % interval)", flush=True
            )
            here, there = partial(Tree, ROOT, mine, capture), partial(Tree, other, its, capture)
            missed += [f"{build}, {name}" for name in compare(here, there, given.rounds, given.only)]
    for line in missed:
        print(f"missed: {line} is slower than {given.commit}")
    print("bench: nothing is slower" if not missed else f"bench: {len(missed)} slower")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
