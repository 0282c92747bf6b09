"""However traffic was captured, the rows are the same, or something says what is missing; nobody is ever accused of it.

With the profile soak every recording in all forty variants, otherwise one variant of each kind of some recordings.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Set
from functools import cache
from pathlib import Path
from random import Random

import pytest
from tests.captures import build, variants
from tests.captures.packets import Row, gathered
from tests.captures.variants import CAPTURE_COLUMNS, VARIANTS, Claim

from amqp_sansio.captures.columns.runner import records_of
from amqp_sansio.captures.conversation import RESET, observers
from amqp_sansio.captures.errors import CaptureError
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.tables import TABLES
from amqp_sansio.captures.verdicts import verdicts

SOAK = os.environ.get("AMQP_PROFILE") == "soak"
SEED = int(os.environ.get("AMQP_SEED", "1"))
DATA = Path(__file__).parents[1] / "data" / "captures"
SHARED = Path(__file__).resolve().parents[3] / "shared" / "captures" / "0-10"
"""More recordings, where they lie beside the checkout."""
OURS = sorted(DATA.rglob("*.pcap*"))
RECORDINGS = [*OURS, *(sorted(SHARED.glob("*.pcap")) if SOAK and SHARED.is_dir() else [])]
SHORT = [DATA / f"{name}.pcap" for name in ("hello", "tx", "errors", "jms/xa")]
PORTS = (5672, 15671, 15672, 15673, 15674, 25672)
ALL = ReplayOptions(tables=tuple(TABLES), ports=PORTS)
KINDS = sorted({variant.kind for variant in VARIANTS.values()})

BY_TIME = ("capture.time", "connection.silence")
"""Rules that a clock decides about."""
TIMES = {name for table in TABLES.values() for name in table.names if name.endswith(("_ns", "_at"))} | {"ts", "capture_date"}

Tables = dict[str, list[Row]]


@cache
def recording(path: Path) -> variants.Records:
    return variants.records(path)


@cache
def whole(path: Path, folder: Path) -> Tables:
    """The tables of the recording itself."""
    return gathered(records_of([build.write(folder / "whole.pcap", variants.file(recording(path)))], ALL))


def said(tables: Tables, but: Set[str], rules: tuple[str, ...] = ()) -> dict[str, list[str]]:
    """What rows say, apart from some columns and findings."""
    return {
        name: sorted(repr({key: row[key] for key in row if key not in but}) for row in rows if row.get("rule") not in rules)
        for name, rows in sorted(tables.items())
        if any(row.get("rule") not in rules for row in rows)
    }


def accused(tables: Tables) -> Counter[object]:
    """Who is said to have broken which rule, how often."""
    return Counter((row["direction"], row["rule"]) for row in tables.get("violations", []) if row["level"] == "violation")


def judged(paths: list[str]) -> Counter[object]:
    """The same by `check`, file by file."""
    found: Counter[object] = Counter()
    for path in paths:
        try:
            for verdict in verdicts(path, observers(), PORTS, lambda text: None):
                found.update([(each.speaker, each.rule) for each in verdict.findings if each.level == "violation"])
        except CaptureError:
            pass
    return found


def silent(before: Tables, after: Tables) -> list[object]:
    """The connections of which less is told than before, while nothing says that not everything was there.

    What says so: a place in the file, a gap, octets that cannot be read, a beginning or an end that was not seen, and the note
    of a reset, which says that packets before it may be missing.  Of a connection without any packet nobody can say anything.
    """
    if any(row["level"] == "damage" for row in after.get("violations", [])):
        return []
    found: list[object] = []
    reset = {row["connection"] for row in after.get("violations", []) if row["text"] == RESET}
    ends = Counter((row["client"], row["server"]) for row in before["connections"])
    known = {(row["client"], row["server"]): row for row in before["connections"]}
    for row in after.get("connections", []):
        pair = row["client"], row["server"]
        if ends[pair] != 1:
            continue
        said_now, said_before = [
            sum(count for side in ("verbs_by_client", "verbs_by_server") for _, count in each[side])  # type: ignore[attr-defined]
            for each in (row, known[pair])
        ]
        partly = not row["from_start"] or row["gaps"] or row["opaque_octets"] or row["ending"] != known[pair]["ending"]
        if said_now < said_before and not (partly or row["ending"] == "open" or row["connection"] in reset):
            found.append(pair)
    return found


def not_doubled(before: Tables, after: Tables, but: Set[str]) -> list[str]:
    """The tables whose rows are not those of before, each once or, at other times, twice: what a note said of them."""
    columns, rules = but | TIMES | {"notes"}, (*BY_TIME, "tcp.repeated")
    then, now = said(before, columns, rules), said(after, columns, rules)
    found = []
    for table in {*then, *now}:
        once = Counter(then.get(table))
        rows = Counter([row.replace("#2'", "#1'") for row in now.get(table, ())])
        if not once <= rows <= once + once:
            found.append(table)
    return found


def chosen(path: Path) -> list[str]:
    """The variants of a recording that are looked at."""
    if SOAK:
        return list(VARIANTS)
    chance = Random(f"{path.stem} {SEED}")
    return [chance.choice([name for name in VARIANTS if VARIANTS[name].kind == kind]) for kind in KINDS]


def test_there_are_forty_of_them() -> None:
    assert len(VARIANTS) == 40
    assert KINDS == ["both ends", "clock steps", "cut", "jitter", "link types", "rotated", "tunnels"]
    assert len(RECORDINGS) >= 31


def test_a_variant_is_the_same_for_the_same_seed(tmp_path: Path) -> None:
    packets = recording(SHORT[0])
    for name in VARIANTS:
        first = [Path(each).read_bytes() for each in variants.write(name, packets, tmp_path, 1)]
        assert first == [Path(each).read_bytes() for each in variants.write(name, packets, tmp_path, 1)], name


@pytest.mark.parametrize("path", RECORDINGS if SOAK else SHORT, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_rows_are_the_same_or_something_says_what_is_missing(path: Path, tmp_path: Path) -> None:
    before = whole(path, tmp_path)
    wrong = []
    for name in chosen(path):
        folder = tmp_path / name
        folder.mkdir()
        paths = variants.write(name, recording(path), folder, SEED)
        after = gathered(records_of(paths, ALL))
        claim = VARIANTS[name].claim
        # A part may be accused of less, never of more; what a clock decides about is another matter.
        more = [each for each in accused(after) - accused(before) if claim is not Claim.TIMES or each[1] not in BY_TIME]  # type: ignore[index]
        if more:
            wrong.append(f"{name}: accused of {more}")
        if len(paths) == 1 and accused(after) != judged(paths):
            wrong.append(f"{name}: check accuses of {judged(paths)}, tables of {accused(after)}")
        but: Set[str] = CAPTURE_COLUMNS | {"capture", "file_id", "connection"}
        if any(row["rule"] == "tcp.repeated" for row in after.get("violations", [])):
            wrong += [f"{name}: {table} have other rows than twice the same" for table in not_doubled(before, after, but)]
            continue
        if claim is Claim.LESS:
            if less := silent(before, after):
                wrong.append(f"{name}: rows are missing, and nothing says so: {less}")
            continue
        rules = () if claim is Claim.SAME else BY_TIME
        if claim is Claim.TIMES:
            but = but | TIMES | {"notes"}
        now, then = said(after, but, rules), said(before, but, rules)
        different = [table for table in {*now, *then} if now.get(table) != then.get(table)]
        if different:
            wrong.append(f"{name}: {different} are not the same")
    assert wrong == []
