"""Digests of the product's results for fixed inputs: the proof that an internal change did not change the behaviour.

Inputs: every recording in tests/data, damaged copies of the small ones (each from a seed), generated traffic with nanosecond
times, and simulated seeds.  Values: frames, events and findings as `decode` and `check` see them; rows of all tables of
`analyze` (converted back to schema version 1, so that its digests hold); and all octets of a simulation.

python -m tools.values --check                 lists the digests that differ from tests/data/values.json
python -m tools.values --write                 rewrites that file
python -m tools.values --dump FOLDER [NAME ..] writes the values themselves as lines of text, for diff -r

The names are those in values.json: `jms/tx.pcap`, `tx.pcap~swapped-2`, `seed 7`.
"""

from __future__ import annotations

import argparse
import gzip
import json
import struct
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import chdir
from functools import partial
from hashlib import blake2b
from pathlib import Path
from random import Random
from typing import Final, TypeAlias

from amqp_sansio.captures.columns.runner import records_of
from amqp_sansio.captures.conversation import LocatedEvent, observers
from amqp_sansio.captures.flows import AmqpFlow, Listener
from amqp_sansio.captures.json_values import fields
from amqp_sansio.captures.reader import read_packets
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.tables import TABLES
from amqp_sansio.captures.verdicts import verdict_row, verdicts
from amqp_sansio.events.observed import CommandSeen, ControlSeen, FrameSeen, Note
from amqp_sansio.events.violation import Violation
from amqp_sansio.testing.simulation import simulate
from bench.traffic import make
from tools.former_tables import former

ROOT: Final = Path(__file__).resolve().parents[1]
CAPTURES: Final = ROOT / "tests" / "data" / "captures"
DIGESTS: Final = ROOT / "tests" / "data" / "values.json"
NAME: Final = "capture.pcap"
"""The name of every capture while it is read, because tables contain it."""
SHOWN: Final = 40
"""The most differences that are printed."""
SMALL: Final = 60_000
"""The largest recording, in octets uncompressed, of which damaged copies are made."""
COPIES: Final = 3
"""The number of damaged copies of each kind of each small recording."""
SEEDS: Final = 200
TRAFFIC: Final = 600_000
"""Octets of generated traffic."""
FINDING: Final = ("level", "speaker", "packet", "rule", "said", "legal")
"""The fields of findings when their digests were first written; later ones are left out, so that these hold."""
GLOBAL: Final = 24
"""Octets before the first record of a pcap file."""
RECORD: Final = 16
HEADERS: Final = 54
"""Octets of a packet before its payload, which stay intact: roughly Ethernet, IPv4, TCP without options."""

Values: TypeAlias = dict[str, list[str]]
"""By kind, one line for each value."""
Records: TypeAlias = list[bytes]


def recordings() -> dict[str, Path]:
    """Returns the recordings by name."""
    return {path.relative_to(CAPTURES).as_posix(): path for path in sorted(CAPTURES.rglob("*.pcap*"))}


# --- damage ---------------------------------------------------------------------------------------------------------------


def _records(octets: bytes) -> tuple[bytes, Records]:
    order = "<" if octets[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
    at, records = GLOBAL, []
    while at + RECORD <= len(octets):
        (captured,) = struct.unpack_from(order + "I", octets, at + 8)
        records.append(octets[at : at + RECORD + captured])
        at += RECORD + captured
    return octets[:GLOBAL], records


def _dropped(records: Records, random: Random) -> Records:
    gone = set(random.sample(range(len(records)), min(len(records), random.randint(1, 3))))
    return [record for number, record in enumerate(records) if number not in gone]


def _swapped(records: Records, random: Random) -> Records:
    swapped = list(records)
    for here in random.sample(range(len(swapped) - 1), min(len(swapped) - 1, random.randint(1, 3))):
        times = swapped[here][:8], swapped[here + 1][:8]  # the clock stays monotonic, the packets come in another order
        swapped[here], swapped[here + 1] = times[0] + swapped[here + 1][8:], times[1] + swapped[here][8:]
    return swapped


def _cut_off(records: Records, random: Random) -> Records:
    stop = random.randrange(1, len(records))
    return [*records[:stop], records[stop][: random.randrange(len(records[stop]))]]


def _bits_changed(records: Records, random: Random) -> Records:
    changed = list(records)
    for _ in range(random.randint(1, 3)):
        number = random.randrange(len(changed))
        octets = bytearray(changed[number])
        if len(octets) > RECORD + HEADERS:
            octets[random.randrange(RECORD + HEADERS, len(octets))] ^= 1 << random.randrange(8)
        changed[number] = bytes(octets)
    return changed


def _begun_late(records: Records, random: Random) -> Records:
    return records[random.randrange(1, len(records)) :]


DAMAGE: Final[dict[str, Callable[[Records, Random], Records]]] = {
    "dropped": _dropped,
    "swapped": _swapped,
    "cut-off": _cut_off,
    "bits-changed": _bits_changed,
    "begun-late": _begun_late,
}


def damaged() -> dict[str, bytes]:
    """Returns the damaged copies by name."""
    copies: dict[str, bytes] = {}
    for name, path in recordings().items():
        octets = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        if len(octets) > SMALL:
            continue
        head, records = _records(octets)
        for kind, harm in DAMAGE.items():
            for number in range(COPIES):
                label = f"{name.removesuffix('.gz')}~{kind}-{number}"
                copies[label] = head + b"".join(harm(records, Random(label)))
    return copies


# --- values ---------------------------------------------------------------------------------------------------------------


def _show(value: object) -> str:
    if isinstance(value, bytes):
        return value.hex() if len(value) <= 64 else f"{len(value)}:{_digest([value.hex()])}"
    return json.dumps(value, default=str)


def _line(talk: AmqpFlow, heard: LocatedEvent) -> str:
    said = heard.said
    place = f"{talk.name} {heard.packet} {heard.time} {heard.speaker} {heard.start}-{heard.end} {type(said).__name__}"
    shown = [_show(getattr(said, name)) for name in said.FIELDS if name not in ("command", "control")]
    inside = said.command if isinstance(said, CommandSeen) else said.control if isinstance(said, ControlSeen) else None
    return " ".join([place, *shown, _show(fields(inside)) if inside is not None else "-"])


def _heard(path: str) -> Iterator[tuple[str, str]]:
    lines: list[tuple[str, str]] = []

    def tell(talk: AmqpFlow, heard: LocatedEvent) -> None:
        if not isinstance(heard.said, Violation | Note):  # `check` has them
            lines.append(("frames" if isinstance(heard.said, FrameSeen) else "events", _line(talk, heard)))

    listener = Listener(observers(frames=True), tell, lambda talk: None, (), lambda text: lines.append(("warnings", text)))
    for packet in read_packets(path, lambda text: lines.append(("warnings", text))):
        listener.hear(packet)
        yield from lines
        lines.clear()
    listener.finish()
    yield from lines


def of_capture(octets: bytes) -> Values:
    """Returns all values of a capture file."""
    values: Values = {}
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        Path(NAME).write_bytes(octets)
        for kind, line in _heard(NAME):
            values.setdefault(kind, []).append(line)
        for kind, strict in (("findings", False), ("strict findings", True)):
            for verdict in verdicts(NAME, observers(strict), (), lambda text: None):
                row = {**verdict_row("", verdict), "octets": verdict.octets}
                row["findings"] = [{name: found[name] for name in FINDING} for found in verdict_row("", verdict)["findings"]]
                values.setdefault(kind, []).append(_show(row))
        for table, batch in records_of([NAME], ReplayOptions()):
            before = former(TABLES[table], batch)  # digests of schema version 1 still hold
            values.setdefault(f"table {table}", []).extend([_show(row) for row in before.to_pylist()])
    for kind, lines in values.items():
        if kind.startswith("table "):
            lines.sort()  # the order of rows is undefined
    return values


def of_traffic() -> Values:
    """Returns all values of generated traffic: connections with faults, local and distributed transactions."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / NAME
        make(path, TRAFFIC, connections=8, faults=0.05, repeats=0.02, seed=17)
        return of_capture(path.read_bytes())


def of_seed(seed: int) -> Values:
    """Returns all values of a simulation.  Raises AssertionError when an invariant did not hold."""
    outcome = simulate(seed)
    assert outcome.ok, (seed, outcome.failure)
    return {"octets": [f"{outcome.digest:08x}"], "counts": [outcome.summary, _show(outcome.counts)]}


def _digest(lines: list[str]) -> str:
    return blake2b("\n".join(lines).encode(), digest_size=8).hexdigest()


def digests(values: Values) -> dict[str, str]:
    """Returns the number of values of each kind, and their digest."""
    return {kind: f"{len(lines)} {_digest(lines)}" for kind, lines in sorted(values.items())}


def every() -> Iterator[tuple[str, Callable[[], Values]]]:
    """Yields the name of each input, and a function that returns its values."""
    for name, path in recordings().items():
        yield name, partial(of_capture, path.read_bytes())
    for name, octets in damaged().items():
        yield name, partial(of_capture, octets)
    yield "generated traffic", of_traffic
    for seed in range(SEEDS):
        yield f"seed {seed}", partial(of_seed, seed)


def known() -> dict[str, dict[str, str]]:
    """Returns the digests on file."""
    found: dict[str, dict[str, str]] = json.loads(DIGESTS.read_text(encoding="utf-8"))
    return found


def differences(name: str, found: dict[str, str], before: dict[str, str]) -> list[str]:
    """Returns one line for each kind of value of an input that has changed."""
    kinds = sorted({*found, *before})
    return [
        f"{name}: {kind}: {found.get(kind, 'none')}, before {before.get(kind, 'none')}"
        for kind in kinds
        if found.get(kind) != before.get(kind)
    ]


def main(arguments: list[str]) -> int:
    """Returns 0 when nothing changed or the file was written, 1 when something differs."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.values", description="what the product makes of fixed inputs, as digests"
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--check", action="store_true", help="compare with tests/data/values.json")
    what.add_argument("--write", action="store_true", help="write tests/data/values.json")
    what.add_argument("--dump", type=Path, metavar="FOLDER", help="write the values as text below this folder")
    parser.add_argument("names", nargs="*", help="only these inputs")
    given = parser.parse_args(arguments)
    before = known() if given.check else {}
    made: dict[str, dict[str, str]] = {}
    found: list[str] = []
    for name, values in every():
        if given.names and name not in given.names:
            continue
        if sys.stderr.isatty():
            print(f"\r\033[K{name}", end="", file=sys.stderr, flush=True)
        lines = values()
        made[name] = digests(lines)
        if given.check:
            found += differences(name, made[name], before.pop(name, {}))
        if given.dump:
            for kind, each in lines.items():
                path = given.dump / name / f"{kind}.txt"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("".join(f"{line}\n" for line in each), encoding="utf-8")
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    if given.check and not given.names:
        found += [f"{name}: no such input any more" for name in before]
    if given.write:
        DIGESTS.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    print(*found[:SHOWN], sep="\n", end="\n" if found else "")
    print(f"values: {len(made)} inputs" + (f", {len(found)} values differ" if given.check else ""))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
