"""What the recordings of 0-8, 0-9 and 0-9-1 show, as data: `channels.txt`."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

CAPTURES: Final = Path(__file__).resolve().parents[3] / "shared" / "captures"


class Case(NamedTuple):
    """One connection; `broken` is speaker, octet and rule of each violation in it."""

    file: str
    number: int
    dialect: str
    ending: str
    broken: tuple[tuple[str, int, str], ...]
    why: str

    @property
    def path(self) -> Path:
        """The recording, which need not be there."""
        return CAPTURES / f"{self.file}.pcap"


def _case(line: str) -> Case:
    file, number, dialect, ending, broken, why = [*line.split(" | "), ""][:6]
    told = [each.split(" ") for each in broken.split("; ")] if broken != "-" else []
    return Case(file, int(number), dialect, ending, tuple([(who, int(octet), rule) for who, octet, rule in told]), why)


CASES: Final = [_case(line) for line in Path(__file__).with_suffix(".txt").read_text().splitlines() if line[:1] != "#"]


def files() -> list[str]:
    """The recordings that are there."""
    return [file for file in dict.fromkeys([case.file for case in CASES]) if (CAPTURES / f"{file}.pcap").is_file()]


def cases(file: str) -> list[Case]:
    """The connections of a recording, in order."""
    return [case for case in CASES if case.file == file]
