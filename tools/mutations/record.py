"""What became of every fault so far, and why some may survive."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tools.mutations.faults import Fault
from tools.mutations.trial import Verdict

REASONS: Final = Path(__file__).with_name("survivors.toml")
LEAST: Final = 0.95
"""So much of what is tried must be noticed."""


def reasons(path: Path = REASONS) -> dict[str, str]:
    """Why a fault survives, by its name; AssertionError for an empty reason."""
    found: dict[str, str] = {}
    for line in tomllib.loads(path.read_text(encoding="utf-8"))["survivor"]:
        assert line["reason"].strip(), line
        found[line["fault"]] = line["reason"]
    return found


class Record:
    """Verdicts in a file, one a line, so that a run that was stopped goes on where it was.

    A verdict counts as long as the module is what it was.
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
        """The verdict on a fault, None when there is none."""
        found = self._known.get(fault.name)
        return found if found is not None and found["module"] == self._module(fault.path) else None

    def add(self, verdict: Verdict) -> None:
        """Writes a verdict down."""
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


def report(faults: list[Fault], record: Record, why: Mapping[str, str]) -> tuple[str, bool]:
    """What came of a run, for people, and whether that is enough: all tried, LEAST of them noticed, the others explained."""
    lines: list[str] = []
    rooms: dict[str, list[int]] = {}
    unexplained = untried = noticed = 0
    for fault in faults:
        verdict = record.of(fault)
        room = fault.path.split("/")[2]
        counts = rooms.setdefault(room, [0, 0])
        if verdict is None:
            untried += 1
            continue
        counts[1] += 1
        if verdict["outcome"] != "survived":
            counts[0] += 1
            noticed += 1
            continue
        reason = why.get(fault.name)
        unexplained += reason is None
        lines.append(f"  survived, line {fault.line}: {fault.name}\n      {reason or 'NOT EXPLAINED'}")
    tried = len(faults) - untried
    share = noticed / tried if tried else 0.0
    heads = [f"  {room}: {counts[0]} of {counts[1]} noticed" for room, counts in rooms.items()]
    lines += heads
    lines.append(f"{noticed} of {tried} faults noticed ({share:.1%}; {LEAST:.0%} must be), {untried} not tried")
    lines.append(f"{unexplained} survivors not explained")
    return "\n".join(lines), not untried and not unexplained and share >= LEAST
