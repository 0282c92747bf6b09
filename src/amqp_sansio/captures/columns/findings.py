"""What files of `violations` hold, counted and named where they lie: it takes no job of Spark's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow.dataset as ds
from attrs import field, frozen

from amqp_sansio.captures.columns.parquet import file_schema
from amqp_sansio.captures.columns.place import Written
from amqp_sansio.captures.locations import located

TABLE: Final = "violations"
DAMAGE: Final = "damage"
"""The level of what is wrong with a file."""
NAMED: Final = 100
"""Places of captures that cannot be read, named one by one; the others are counted."""


@frozen(order=True)
class Damage:
    """A place in a capture that cannot be read: its octet (decompressed), and why, in one sentence."""

    capture: str
    offset: int
    text: str

    def __str__(self) -> str:
        return f"{self.capture}: {f'octet {self.offset}: ' if self.offset else ''}{self.text}"


@frozen
class Findings:
    """How many rows there are of each level, and the first places of captures that cannot be read, in their order."""

    levels: dict[str, int] = field(factory=dict)
    damage: tuple[Damage, ...] = ()


def findings_in(files: Sequence[Written], place: str, named: int = NAMED) -> Findings:
    """The findings in those of these files that hold any, in the file system of `place`; nothing is held but counts and what is
    named."""
    levels: dict[str, int] = {}
    damage: list[Damage] = []
    paths = [each.path for each in files if each.table == TABLE and each.rows]
    if not paths:
        return Findings()
    found = ds.dataset(paths, file_schema(TABLE), "parquet", located(place).system)
    for batch in found.to_batches(columns=["level"]):
        for counted in batch.column("level").value_counts().to_pylist():
            levels[counted["values"]] = levels.get(counted["values"], 0) + counted["counts"]
    if DAMAGE in levels:
        for batch in found.to_batches(columns=["capture", "file_offset", "text"], filter=ds.field("level") == DAMAGE):
            rows = zip(*(batch.column(name).to_pylist() for name in ("capture", "file_offset", "text")), strict=True)
            damage = sorted([*damage, *(Damage(capture, offset or 0, text) for capture, offset, text in rows)])[:named]
    return Findings(levels, tuple(damage))
