"""`make bench-spark`: generated captures of sizes x1, x4 and x16 through the pipeline; medians, and the targets met or missed.

Each way runs in a fresh process, is warmed up on a small capture and then measured: five turns at x1, three above. --octets and
--sizes make it smaller: a target is only judged at its own size, otherwise printed.  `check` and `analyze` also run cold, each
in a new process, on 1 and 5 MB and x1; a plain process also runs 20,000 short connections and 100,000 of another protocol.
Exit code 0 when every target that could be judged is met, else 1.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Final, NamedTuple

from bench import compiled, crowds, live
from bench.pipeline import cold
from bench.pipeline.target import MEGA, Target
from bench.traffic import make

ROOT: Final = Path(__file__).resolve().parents[2]
TOLD: Final = "a figure beside"
"""Why figures for comparison are not judged."""
WARM_UP_OCTETS: Final = 2_000_000
LARGE: Final = 600 * MEGA
"""Octets from which on figures of Spark are judged: below, the fixed cost of each job dominates."""
MIDDLE: Final = 150 * MEGA
"""The same for the comparison with tshark."""
SHORT: Final = 20_000
"""How many connections of a few packets."""
FOREIGN: Final = 100_000
"""How many of them in the capture of another protocol."""
ALONE: Final = ("plain", "check", "index", "tshark", "tshark4")
"""Ways that need no Spark."""
_TIMES: Final = f"{'seconds':>9} {'CPU s':>9} {'MB/s':>7} {'MB/CPU s':>9} {'MB/worker':>10} turns"
HEAD: Final = f"{'way':8} {'capture':30} {'master':9} {'MB':>8} {_TIMES}"


class Figure(NamedTuple):
    """Medians over the turns: seconds, CPU seconds; and the peak of a Python worker over all turns in octets (0: none seen)."""

    wall: float
    cpu: float
    worker: int
    turns: int


def say(text: str) -> None:
    """Prints progress."""
    print(f"  [{time.strftime('%H:%M:%S')}, load {os.getloadavg()[0]:.1f}] {text}", file=sys.stderr, flush=True)


class Bench:
    """Captures and measurements, in one folder."""

    def __init__(self, folder: Path, octets: int, connections: int) -> None:
        self.folder: Final = folder
        self.octets: Final = octets
        self.connections: Final = connections

    def capture(self, times: int, skew: float = 0.0) -> Path:
        """Returns a capture of this multiple of the octets, made once; alone in its folder, so that a stream can read it."""
        name = f"x{times}-{self.octets}-{self.connections}-{skew}"
        path = self.folder / name / "traffic.pcap"
        if not path.exists():
            say(f"making {name}")
            path.parent.mkdir(parents=True, exist_ok=True)
            make(path.with_suffix(".new"), times * self.octets, connections=self.connections, skew=skew)
            path.with_suffix(".new").rename(path)
        return path

    def crowd(self, count: int, foreign: bool) -> Path:
        """Returns a capture of this number of short connections, made once."""
        path = self.folder / f"{count}-{'foreign' if foreign else 'short'}" / "traffic.pcap"
        if not path.exists():
            say(f"making {path.parent.name}")
            path.parent.mkdir(parents=True, exist_ok=True)
            crowds.make(path.with_suffix(".new"), count, foreign)
            path.with_suffix(".new").rename(path)
        return path

    def small(self, octets: int) -> Path:
        """Returns a capture of this number of octets with few connections."""
        path = self.folder / f"cold-{octets}" / "traffic.pcap"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            make(path, octets, connections=8)
        return path

    def rotated(self, times: int, octets: int) -> list[Path]:
        """Returns the same capture as files of about this number of octets, as a rotating capture program leaves them."""
        whole = self.capture(times)
        folder = whole.parent.with_name(f"{whole.parent.name}-rotated")
        if not folder.exists():
            say(f"rotating {whole.parent.name}")
            new = folder.with_suffix(".new")
            shutil.rmtree(new, ignore_errors=True)
            new.mkdir()
            cut(whole, new, octets)
            new.rename(folder)
        return sorted(folder.iterdir())

    def measure(
        self, way: str, captures: list[Path], turns: int, master: str = "local[2]", built: bool = False
    ) -> Figure | None:
        """Runs one way in a fresh process, with the compiled build if `built`; None when it cannot run here."""
        if way.startswith("tshark") and shutil.which("tshark") is None:
            return None
        warm_up = self.folder / "warm-up" / "traffic.pcap"
        if not warm_up.exists():
            warm_up.parent.mkdir(parents=True, exist_ok=True)
            make(warm_up, WARM_UP_OCTETS, connections=8)
        say(f"{way} on {captures[0].parent.name}{'' if way in ALONE else f', {master}'}, {turns} turns")
        words = [sys.executable, "-m", "bench.pipeline.work", way, *map(str, captures), "--turns", str(turns)]
        words += ["--master", master, "--warm-up", str(warm_up)]
        environment = compiled.environment(built)
        with tempfile.TemporaryFile("w+") as said:
            done = subprocess.run(words, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=said, text=True, check=False)
            if done.returncode:
                said.seek(0)
                raise SystemExit(f"bench: {way} on {captures[0].parent.name} failed:\n{said.read()[-2000:]}")
        turns_ = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        figure = Figure(
            statistics.median([each["wall"] for each in turns_]),
            statistics.median([each["cpu"] for each in turns_]),
            max([each["worker"] for each in turns_]),
            len(turns_),
        )
        size = sum(path.stat().st_size for path in captures) / MEGA
        label = f"{way}*" if built else way
        print(
            f"{label:8} {captures[0].parent.name:30.30} {'' if way in ALONE else master:9} {size:8.0f} {figure.wall:9.1f}"
            f" {figure.cpu:9.1f} {size / figure.wall:7.1f} {size / figure.cpu:9.1f}"
            f" {f'{figure.worker / MEGA:.0f}' if figure.worker else '':>10} {figure.turns:5}",
            flush=True,
        )
        return figure


def cut(path: Path, folder: Path, octets: int) -> None:
    """Copies a little-endian pcap into files of about this number of octets."""
    with open(path, "rb") as stream:
        head = stream.read(24)
        number, out, written = 0, None, octets
        while record := stream.read(16):
            if written >= octets:
                if out is not None:
                    out.close()
                out = open(folder / f"traffic-{number:05}.pcap", "wb")  # noqa: SIM115 -- closed above and below
                out.write(head)
                number, written = number + 1, 0
            size = int.from_bytes(record[8:12], "little")
            assert out is not None
            out.write(record + stream.read(size))
            written += 16 + size
        if out is not None:
            out.close()


def targets(bench: Bench, sizes: list[int], turns: dict[int, int], rotation: int) -> Iterator[Target]:
    """Measures everything and compares; measures what is compared side by side, since the machine may change over time."""
    small, large = sizes[0], sizes[-1]
    middle = sizes[-2] if len(sizes) > 1 else small
    one: dict[int, Figure] = {}
    two: dict[int, Figure] = {}
    plain: dict[int, Figure] = {}
    peers: list[Target] = []
    for times in sizes:
        captures = [bench.capture(times)]
        if times <= middle:
            one[times] = some(bench.measure("batch", captures, turns[times], "local[1]"))
        if times == small:
            peers += beside_tshark(bench, small, turns[small], one[small])
        two[times] = some(bench.measure("batch", captures, turns[times]))
        plain[times] = some(bench.measure("plain", captures, turns[times]))
    skewed = some(bench.measure("batch", [bench.capture(middle, 0.9)], turns[middle]))
    stream = some(bench.measure("stream", bench.rotated(middle, rotation), turns[middle]))
    sizes_of = {times: bench.capture(times).stat().st_size for times in sizes}
    growth = two[large].wall / two[middle].wall * 4 / (large / middle) if large != middle else None
    yield Target(f"time grows from x{middle} to x{large} by (as if by 4)", 4.2, True, growth, sizes_of[middle], below(LARGE))
    for times in sizes:
        ratio = two[times].cpu / plain[times].cpu
        yield Target(f"CPU of Spark / CPU of one plain process, x{times}", 1.3, True, ratio, sizes_of[times], below(LARGE))
    for times, figure in one.items():
        ratio = figure.wall / two[times].wall
        label = f"local[2] is faster than local[1] by, x{times}"
        yield Target(label, 1.6, False, ratio, sizes_of[times], below(LARGE), "" if times == middle else f"x{middle} is")
    workers = {f"x{times}": figure.worker for times, figure in two.items()}
    for what, octets in {**workers, "one connection with 90 %": skewed.worker, "stream": stream.worker}.items():
        yield Target(f"MB of RssAnon of a Python worker, {what}", 200, True, octets / MEGA or None)
    yield from peers
    ratio = two[middle].wall / stream.wall
    yield Target(f"throughput of the stream / of the batch, x{middle}", 0.5, False, ratio, sizes_of[middle], below(LARGE))


def below(octets: int) -> int:
    """Returns the lower bound for a capture of this number of octets, which may have a little less."""
    return octets * 9 // 10


def crowded(bench: Bench, turns: int) -> Iterator[Target]:
    """Measures very many short connections, against the unavoidable work."""
    for count, foreign, peer, wanted in ((SHORT, False, "check", 3.0), (FOREIGN, True, "index", 1.5)):
        captures = [bench.crowd(count, foreign)]
        figure, other = some(bench.measure("plain", captures, turns)), some(bench.measure(peer, captures, turns))
        what = f"{count} {'foreign' if foreign else 'short'} connections, one plain process / {peer}"
        yield Target(f"CPU of {what}", wanted, True, figure.cpu / other.cpu)
        if not foreign:
            figure = some(bench.measure("batch", captures, turns))
            yield Target(f"CPU of {count} short connections, Spark local[2] / {peer}", wanted, True, figure.cpu / other.cpu)


def some(figure: Figure | None) -> Figure:
    """Returns one of our figures, which can always be measured."""
    assert figure is not None
    return figure


def beside_tshark(bench: Bench, times: int, turns: int, pure: Figure) -> list[Target]:
    """Compares the pipeline, pure and compiled (with a star), with tshark; one plain compiled process without a verdict."""
    captures = [bench.capture(times)]
    octets = captures[0].stat().st_size
    shark = bench.measure("tshark", captures, turns)
    four = bench.measure("tshark4", captures, turns)
    if not compiled.there():
        return against("local[1]", times, pure, shark, four, octets)
    found = some(bench.measure("batch", captures, turns, "local[1]", built=True))
    alone = some(bench.measure("plain", captures, turns, built=True))
    return [
        *against("local[1], pure", times, pure, shark, four, octets),
        *against("one plain process, compiled", times, alone, shark, four, octets, TOLD),
        *against("local[1], compiled", times, found, shark, four, octets),
    ]


def against(
    name: str, times: int, figure: Figure, shark: Figure | None, four: Figure | None, octets: int, told: str = ""
) -> list[Target]:
    """Compares with tshark for the fields of our tables and, without a verdict, for four of them, which make no tables."""
    made = []
    for peer, what, why in ((shark, "the fields we have", told), (four, "four fields", TOLD)):
        label = f"MB per CPU second, {name} / tshark -T fields ({what}), x{times}"
        made.append(Target(label, 1.0, False, peer.cpu / figure.cpu if peer else None, octets, below(MIDDLE), why))
    return made


def main() -> int:
    """Prints figures and targets."""
    parser = argparse.ArgumentParser(prog="make bench-spark", description=__doc__)
    parser.add_argument("--octets", type=int, default=150 * MEGA, help="octets of x1 (150000000)")
    parser.add_argument("--sizes", default="1,4,16", help="times that, between commas (1,4,16)")
    parser.add_argument("--connections", type=int, default=64, help="connections in each capture (64)")
    parser.add_argument("--turns", type=int, default=None, help="turns of each measurement (5 at the smallest, 3 above)")
    parser.add_argument("--rotation", type=int, default=32 * MEGA, help="octets of a file that the stream reads (32000000)")
    parser.add_argument("--folder", type=Path, default=ROOT / "out" / "bench-spark", help="where captures are kept")
    given = parser.parse_args()
    sizes = sorted(int(word) for word in given.sizes.split(","))
    turns = {times: given.turns or (5 if times == sizes[0] else 3) for times in sizes}
    given.folder.mkdir(parents=True, exist_ok=True)
    print(f"{platform.platform()}, Python {platform.python_version()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.2f}")
    print(f"pyspark {version('pyspark')}, pyarrow {version('pyarrow')}")
    print(
        f"{given.connections} connections, x1 is {given.octets} octets; * is the compiled build, the others are pure\n\n{HEAD}"
    )
    bench = Bench(given.folder, given.octets, given.connections)
    reached = [*targets(bench, sizes, turns, given.rotation), *crowded(bench, given.turns or 3)]
    captures = {cold.SMALL: bench.small(cold.SMALL), cold.MIDDLE: bench.small(cold.MIDDLE), cold.LARGE: bench.capture(sizes[0])}
    reached += cold.targets(captures, given.folder)
    live.measure(min(live.ROWS, given.octets // 1000))
    print(f"\nload at the end {os.getloadavg()[0]:.2f}\n\n{'target':72} {'wanted':>8} {'reached':>8}")
    for each in reached:
        print(each.line)
    return 1 if any(each.met is False for each in reached) else 0


if __name__ == "__main__":
    sys.exit(main())
