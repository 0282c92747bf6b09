"""`python -m fuzz`: the same seed and number give the same input on every machine; two processes share the work.

With atheris (extra `fuzz`) and a time limit, half of the time goes to coverage-guided fuzzing (`fuzz.guided`).
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from multiprocessing.queues import Queue
from pathlib import Path
from typing import Final, NamedTuple

from fuzz import corpus, guided
from fuzz.corpus import Said
from fuzz.report import regression, shrink
from fuzz.targets import MEASURED, TARGETS, breach, draw

FAILURES: Final = Path(__file__).resolve().parent / "failures"
STEP: Final = 200
"""Inputs between two reports to the parent."""


class Word(NamedTuple):
    """A worker's report: the number of inputs since the last one and, perhaps, one that failed."""

    done: int
    number: int = 0
    target: str = ""
    said: Said = ()
    why: str = ""


def work(seed: int, first: int, stride: int, count: int, end: float, names: list[str], out: Queue[Word | None]) -> None:
    """Runs inputs first, first + stride, ... below `count`, until the clock reads `end`."""
    done = 0
    for number in range(first, count, stride):
        name = names[number % len(names)]
        said = draw(name, seed, number)
        why = breach(name, said, measured=number % MEASURED == 0)
        done += 1
        if why:
            out.put(Word(done, number, name, said, why))
            done = 0
        elif done == STEP:
            out.put(Word(done))
            done = 0
            if time.monotonic() > end:
                break
    out.put(Word(done))
    out.put(None)


def keep(seed: int, word: Word) -> None:
    """Shrinks a failing input, saves it and prints it as a regression test."""
    said = shrink(word.said, lambda smaller: bool(breach(word.target, smaller)))
    FAILURES.mkdir(exist_ok=True)
    path = FAILURES / f"{word.target}-{seed}-{word.number}.py"
    text = regression(word.target, f"{seed}_{word.number}", said, breach(word.target, said) or word.why)
    path.write_text(text, encoding="utf-8")
    print(f"\nfuzz: FAILED {word.target}, seed {seed}, input {word.number}; saved as {path}\n{text}", flush=True)


def main() -> int:
    """Returns 0 when only events came out, else 1."""
    parser = argparse.ArgumentParser(prog="make fuzz", description="whatever octets arrive, nothing but events comes out")
    parser.add_argument("--count", type=int, help="inputs in all (default 1000000, or no end with --seconds)")
    parser.add_argument("--seconds", type=float, help="stop after so long")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--target", choices=sorted(TARGETS), action="append", help="only this one (repeatable)")
    parser.add_argument("--failures", type=int, default=5, help="stop after so many")
    parser.add_argument("--guided", action=argparse.BooleanOptionalAction, default=None, help="half of the seconds are guided")
    arguments = parser.parse_args()
    guide = arguments.guided
    if guide is None:
        guide = guided.installed() and arguments.seconds is not None and arguments.count is None and not arguments.target
    if guide and arguments.seconds:
        arguments.seconds /= 2
    count = arguments.count or (1_000_000 if arguments.seconds is None else sys.maxsize)
    started = time.monotonic()
    end = started + (arguments.seconds or float("inf"))
    names = arguments.target or list(TARGETS)
    talks = len(corpus.conversations())
    print(f"fuzz: seed {arguments.seed}, {talks} conversations of {len(corpus.files())} captures, targets {', '.join(names)}")

    context = multiprocessing.get_context("fork")
    out: Queue[Word | None] = context.Queue()
    workers = [
        context.Process(target=work, args=(arguments.seed, first, arguments.workers, count, end, names, out), daemon=True)
        for first in range(arguments.workers)
    ]
    for worker in workers:
        worker.start()
    done = failed = 0
    running = len(workers)
    shown = started
    while running and failed < arguments.failures:
        word = out.get()
        if word is None:
            running -= 1
            continue
        done += word.done
        if word.why:
            failed += 1
            keep(arguments.seed, word)
        now = time.monotonic()
        if now - shown >= (1 if sys.stdout.isatty() else 30):
            shown = now
            rate = done / (now - started)
            start, stop = ("\r\033[K", "") if sys.stdout.isatty() else ("", "\n")
            print(f"{start}fuzz: {done} inputs, {rate:.0f} a second, {failed} failed", end=stop, flush=True)
    for worker in workers:
        worker.terminate()
    passed = time.monotonic() - started
    verdict = f"{failed} FAILED" if failed else "nothing but events"
    print(f"\nfuzz: {done} inputs in {passed:.0f} s, seed {arguments.seed}: {verdict}")
    if guide and not failed:
        rounds = -(-len(guided.NAMES) // arguments.workers)
        each = max(1, int((arguments.seconds or 60.0 * rounds) / rounds))
        failed = guided.main(["--seconds", str(each), "--seed", str(arguments.seed), "--workers", str(arguments.workers)])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
