"""`python -m tools.mutations`: do the tests notice a fault in the machines?

At least 240 faults (a row left out, a comparison flipped, an off-by-one, something not counted, a call left out, ...) in
kernel, tables, ledger, engine, broker, wire, conversation/channels, captures/replay and testing/speech, chosen by the seed, are
injected into a copy of this tree one at a time; the tests that run the line run up to the first failure. out/mutations keeps
the results, so that a stopped run continues.  No room may notice a smaller share than tools/mutations/shares.json records,
which --keep writes.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Final

from tools.mutations.choice import ROOMS, chosen
from tools.mutations.covering import Covering, Unsound
from tools.mutations.faults import Fault
from tools.mutations.record import Record, by_room, keep, reasons, report, shares
from tools.mutations.trial import Trials, copied

ROOT: Final = Path(__file__).resolve().parents[2]


def _arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.mutations", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="which faults are tried (default 1)")
    parser.add_argument("--workers", type=int, default=2, help="copies of the tree, each with a process of tests (default 2)")
    parser.add_argument("--seconds", type=float, default=3600.0, help="stop after so long; the next run goes on (default 3600)")
    parser.add_argument("--room", choices=sorted(ROOMS), action="append", help="only this one (repeatable)")
    parser.add_argument("--again", action="store_true", help="try what survived an earlier run once more")
    parser.add_argument("--list", action="store_true", help="name the faults, and try none")
    parser.add_argument("--report", action="store_true", help="tell what earlier runs found, and try none")
    parser.add_argument("--keep", action="store_true", help="write down the shares of the rooms whose faults were all tried")
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "mutations", help="where everything is kept")
    return parser.parse_args(arguments)


def _commit() -> str:
    told = subprocess.run(["git", "rev-parse", "--short=8", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    return told.stdout.strip() or "unknown"


def _try(waiting: list[Fault], workers: int, out: Path, covering: Covering, record: Record, end: float) -> None:
    """Tries every fault, `workers` at a time, up to the time `end`."""
    every = len(waiting)
    done = 0
    lock = threading.Lock()
    queue = list(reversed(waiting))

    def work(number: int) -> None:
        nonlocal done
        trials = Trials(ROOT, out / f"copy-{number}", covering)
        while time.monotonic() < end:
            with lock:
                if not queue:
                    return
                fault = queue.pop()
            verdict = trials.tried(fault)
            with lock:
                record.add(verdict)
                done += 1
                told = f"{verdict.outcome:8} {verdict.seconds:5.1f} s  {fault.name}"
                print(f"[{done}/{every}] {told}", flush=True)

    threads = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def main(arguments: list[str] | None = None) -> int:
    """Returns 0 when enough is noticed and the rest is explained; 1 when not; 2 when the tests fail without a fault."""
    asked = _arguments(arguments)
    end = time.monotonic() + asked.seconds
    faults = chosen(ROOT, asked.seed, {room: number for room, number in ROOMS.items() if room in (asked.room or ROOMS)})
    if asked.list:
        print("\n".join(f"{fault.line:4} {fault.name}" for fault in faults))
        return 0
    asked.out.mkdir(parents=True, exist_ok=True)
    record = Record(asked.out / "verdicts.jsonl", ROOT)
    waiting: list[Fault] = []
    for fault in faults:
        verdict = record.of(fault)
        if verdict is None or (asked.again and verdict["outcome"] == "survived"):
            waiting.append(fault)
    if waiting and not asked.report:
        print(f"{len(faults)} faults, {len(waiting)} to try; measuring which tests go through which lines", flush=True)
        covering = Covering(copied(ROOT, asked.out / "copy-0"), asked.out / "covering", asked.workers)
        try:
            print(f"{covering.measure()} test files measured", flush=True)
        except Unsound as wrong:
            print(wrong, file=sys.stderr)
            return 2
        _try(waiting, asked.workers, asked.out, covering, record, end)
    told, enough = report(faults, record, reasons(), shares())
    print(told)
    if asked.keep:
        keep(by_room(faults, record, asked.seed, _commit()))
    return 0 if enough else 1


if __name__ == "__main__":
    sys.exit(main())
