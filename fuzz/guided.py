"""`python -m fuzz.guided TARGET`: fuzzes one target, guided by coverage (atheris, of the extra `fuzz`).

Inputs that cover more are kept, minimised, in fuzz/corpora: one file for each target, one input per line.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, NamedTuple

HERE: Final = Path(__file__).resolve().parent
CORPORA: Final = HERE / "corpora"
FAILURES: Final = HERE / "failures"
KEPT: Final = 32_000
"""The most octets kept for one target."""
LONGEST: Final = 1500
"""The most octets of an input."""
NAMES: Final = ("decoder", "client", "server", "session", "broker", "observer", "capture")


class Outcome(NamedTuple):
    """The result of one target: inputs run, places covered at the end, inputs kept, and the failure ("": none)."""

    target: str
    executions: int
    covered: int
    kept: int
    seconds: float
    found: str

    def told(self) -> str:
        """The result in one line."""
        rate = self.executions / self.seconds if self.seconds else 0.0
        told = f"{self.executions} inputs in {self.seconds:.0f} s ({rate:.0f} a second), {self.covered} places covered"
        return f"{self.target}: {told}, {self.kept} inputs kept: {self.found or 'nothing but events'}"


def installed() -> bool:
    """Returns whether atheris is installed: it has wheels for Linux only."""
    return importlib.util.find_spec("atheris") is not None


def read(name: str) -> list[bytes]:
    """Returns the inputs kept for a target."""
    path = CORPORA / f"{name}.txt"
    return [bytes.fromhex(line) for line in path.read_text(encoding="ascii").split()] if path.is_file() else []


def write(name: str, inputs: Iterable[bytes]) -> int:
    """Stores inputs, the smallest first, up to KEPT octets; returns how many."""
    kept: list[bytes] = []
    for data in sorted(set(inputs), key=lambda data: (len(data), data)):
        if sum(map(len, kept)) + len(data) <= KEPT:
            kept.append(data)
    CORPORA.mkdir(exist_ok=True)
    (CORPORA / f"{name}.txt").write_text("".join(f"{data.hex()}\n" for data in kept), encoding="ascii")
    return len(kept)


def fuzz(name: str, options: list[str]) -> None:
    """Passes octets to the target, in its own process, until libFuzzer, which gets `options`, ends the process."""
    import atheris

    with atheris.instrument_imports(include=["amqp_sansio"], enable_loader_override=False):
        from fuzz.inputs import GUIDED
        from fuzz.targets import TARGETS
    meant = GUIDED[name].meant

    def one(data: bytes) -> None:
        target, said = meant(data)
        TARGETS[target].feed(said)

    atheris.Setup([sys.argv[0], *options], one)
    atheris.Fuzz()


def run(name: str, seconds: int, seed: int, keep: bool) -> Outcome:
    """Fuzzes a target for `seconds`, from its seeds and kept inputs; `keep`: keeps inputs that cover more."""
    from fuzz.inputs import GUIDED

    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        begun, fresh, crash = [Path(folder) / each for each in ("begun", "fresh", "crash-")]
        for each in (begun, fresh):
            each.mkdir()
        for number, data in enumerate([*GUIDED[name].seeds(), *read(name)]):
            (begun / str(number)).write_bytes(data)
        options = ["-timeout=20", "-rss_limit_mb=2048", f"-max_len={LONGEST}", f"-artifact_prefix={crash}"]
        limits = [f"-max_total_time={seconds}", f"-seed={seed}", "-print_final_stats=1"]
        child = _child(name, [*options, *limits, str(fresh), str(begun)])
        passed = time.monotonic() - started
        executions = int((re.findall(r"executed_units: *(\d+)", child) or re.findall(r"#(\d+)\t", child) or ["0"])[-1])
        covered = int((re.findall(r"cov: (\d+)", child) or ["0"])[-1])
        found = ""
        for path in sorted(Path(folder).glob("crash-*")):
            found = _kept_failure(name, path.read_bytes(), child[-2000:])
        if not executions and not found:
            found = f"it did not run:\n{child[-2000:]}"
        kept = len(read(name))
        if keep and not found:  # libFuzzer has set aside what covered more than all before it
            kept = write(name, [*read(name), *[path.read_bytes() for path in fresh.iterdir()]])
    return Outcome(name, executions, covered, kept, passed, found)


def _child(name: str, options: list[str]) -> str:
    command = [sys.executable, "-m", "fuzz.guided", "--here", name, *options]
    run = subprocess.run(command, cwd=HERE.parent, capture_output=True, text=True, errors="replace", check=False)
    return run.stdout + run.stderr


def _kept_failure(name: str, data: bytes, why: str) -> str:
    """Shrinks a failing input, saves it as a regression test, and returns its place and cause."""
    from fuzz.inputs import GUIDED
    from fuzz.report import regression, shrink
    from fuzz.targets import breaks

    target, said = GUIDED[name].meant(data)
    said = shrink(said, lambda smaller: bool(breaks(target, smaller))) if breaks(target, said) else said
    why = breaks(target, said) or why
    FAILURES.mkdir(exist_ok=True)
    path = FAILURES / f"{name}-{abs(hash(data)) % 10**8}.py"
    path.write_text(regression(target, "found", said, why), encoding="utf-8")
    return f"FAILED, saved as {path}\n{why}"


def main(arguments: list[str] | None = None) -> int:
    """Returns 0 when only events came out of every target, else 1; without atheris, prints so and returns 0."""
    parser = argparse.ArgumentParser(prog="python -m fuzz.guided", description=__doc__)
    parser.add_argument("targets", nargs="*", choices=[*NAMES, []], default=[], help="these only (default: all)")
    parser.add_argument("--seconds", type=int, default=60, help="for each of them (default 60)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=1, help="targets at a time (default 1)")
    parser.add_argument("--keep", action="store_true", help="keep in fuzz/corpora what covers more")
    asked = parser.parse_args(arguments)
    if not installed():
        print("fuzz: atheris is not installed (extra `fuzz`; there are wheels of it for Linux): nothing is guided")
        return 0

    def told(name: str) -> bool:
        outcome = run(name, asked.seconds, asked.seed, asked.keep)
        print(f"fuzz: {outcome.told()}", flush=True)
        return not outcome.found

    with ThreadPoolExecutor(asked.workers) as pool:
        return 0 if all(list(pool.map(told, asked.targets or NAMES))) else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--here"]:
        fuzz(sys.argv[2], sys.argv[3:])
    sys.exit(main())
