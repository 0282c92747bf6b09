"""The verdicts on all faults so far, the share noticed before in each room, and why some faults may survive."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from tools.mutations.choice import room_of
from tools.mutations.faults import Fault
from tools.mutations.trial import Verdict

REASONS: Final = Path(__file__).with_name("survivors.toml")
LEAST: Final = 0.95
"""The share of all tried faults that must be noticed."""
SHARES: Final = Path(__file__).with_name("shares.json")
"""The share noticed in each room when all its faults were last tried; it must not fall."""


class Share(NamedTuple):
    """How many of the tried faults were noticed, with which seed, at which commit."""

    noticed: int
    tried: int
    seed: int
    commit: str

    def __str__(self) -> str:
        return f"{self.noticed} of {self.tried} noticed"


def shares(path: Path = SHARES) -> dict[str, Share]:
    """Returns the last share of each room; none for a room that was never tried completely."""
    return {room: Share(**share) for room, share in json.loads(path.read_text(encoding="utf-8")).items()}


def keep(found: Mapping[str, Share], path: Path = SHARES) -> None:
    """Replaces these shares on file."""
    kept = {room: share._asdict() for room, share in sorted({**shares(path), **found}.items())}
    path.write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")


def by_room(faults: list[Fault], record: Record, seed: int, commit: str) -> dict[str, Share]:
    """Returns the shares of the rooms whose faults were all tried."""
    found: dict[str, Share] = {}
    for room in dict.fromkeys([room_of(fault.path) for fault in faults]):
        verdicts = [record.of(fault) for fault in faults if room_of(fault.path) == room]
        outcomes = [verdict["outcome"] for verdict in verdicts if verdict is not None]
        if len(outcomes) == len(verdicts):
            found[room] = Share(len(outcomes) - outcomes.count("survived"), len(outcomes), seed, commit)
    return found


def reasons(path: Path = REASONS) -> dict[str, str]:
    """Returns why a fault survives, by its name.  Raises AssertionError for an empty reason."""
    found: dict[str, str] = {}
    for line in tomllib.loads(path.read_text(encoding="utf-8"))["survivor"]:
        assert line["reason"].strip(), line
        found[line["fault"]] = line["reason"]
    return found


class Record:
    """Verdicts in a file, one per line, so that a stopped run can continue.

    A verdict is valid as long as the module is unchanged.
    """

    def __init__(self, path: Path, tree: Path) -> None:
        self.path: Final = path
        self._tree: Final = tree
        self._modules: Final[dict[str, str]] = {}
        self._known: Final[dict[str, dict[str, Any]]] = {}
        if path.is_file():
            for line in path.read_text(encoding="utf-8").splitlines():
                found = json.loads(line)
                self._known[found["fault"]] = found

    def of(self, fault: Fault) -> Mapping[str, Any] | None:
        """Returns the verdict on a fault; None when there is none."""
        found = self._known.get(fault.name)
        return found if found is not None and found["module"] == self._module(fault.path) else None

    def add(self, verdict: Verdict) -> None:
        """Stores a verdict."""
        line = {
            "fault": verdict.fault.name,
            "line": verdict.fault.line,
            "outcome": verdict.outcome,
            "by": verdict.by,
            "seconds": round(verdict.seconds, 1),
            "tests": verdict.tests,
            "module": self._module(verdict.fault.path),
        }
        self._known[verdict.fault.name] = line
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")

    def _module(self, path: str) -> str:
        if path not in self._modules:
            self._modules[path] = hashlib.sha256((self._tree / path).read_bytes()).hexdigest()[:16]
        return self._modules[path]


def report(
    faults: list[Fault], record: Record, why: Mapping[str, str], before: Mapping[str, Share] | None = None
) -> tuple[str, bool]:
    """Returns the result of a run as text, and whether it is good enough.

    It is when all faults were tried, LEAST of them noticed, the others explained, and no room's share is smaller than `before`.
    """
    lines: list[str] = []
    unexplained = untried = 0
    for fault in faults:
        verdict = record.of(fault)
        untried += verdict is None
        if verdict is not None and verdict["outcome"] == "survived":
            reason = why.get(fault.name)
            unexplained += reason is None
            lines.append(f"  survived, line {fault.line}: {fault.name}\n      {reason or 'NOT EXPLAINED'}")
    less = 0
    for room in dict.fromkeys([room_of(fault.path) for fault in faults]):
        known = [fault for fault in faults if room_of(fault.path) == room and record.of(fault) is not None]
        share, was = by_room(known, record, 0, "").get(room), (before or {}).get(room)
        text = f"  {room}: {share or 'none tried'}"
        if share is not None and was is not None:
            fewer = share.noticed * was.tried < was.noticed * share.tried
            less += fewer
            text += f" ({was} with seed {was.seed} at {was.commit}{': LESS' if fewer else ''})"
        lines.append(text)
    tried = len(faults) - untried
    noticed = tried - sum([line.startswith("  survived") for line in lines])
    rate = noticed / tried if tried else 0.0
    lines.append(f"{noticed} of {tried} faults noticed ({rate:.1%}; {LEAST:.0%} must be), {untried} not tried")
    lines.append(f"{unexplained} survivors not explained, less than before in {less} rooms")
    return "\n".join(lines), not untried and not unexplained and not less and rate >= LEAST
