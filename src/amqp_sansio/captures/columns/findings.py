"""What files of `violations` hold, counted and named where they lie: it takes no job of Spark's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from attrs import field, frozen

from amqp_sansio.captures.columns.place import Written
from amqp_sansio.captures.columns.published import rows_in
from amqp_sansio.captures.columns.tables import table_schema
from amqp_sansio.captures.locations import located
from amqp_sansio.captures.tables import TABLES

TABLE: Final = "violations"
DAMAGE: Final = "damage"
"""The level of what is wrong with a file."""
NAMED: Final = 100
"""Places of captures that cannot be read, named one by one; the others are counted."""

_SCHEMA: Final = table_schema(TABLES[TABLE])
_NAMED: Final = ("level", "capture", "file_offset", "text")


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
    system = located(place).system
    level, about = [pa.schema([_SCHEMA.field(name) for name in names]) for names in (("level",), _NAMED)]
    for path in paths:
        for batch in rows_in(system, path, level):
            for counted in batch.column("level").value_counts().to_pylist():
                levels[counted["values"]] = levels.get(counted["values"], 0) + counted["counts"]
    for path in paths if DAMAGE in levels else ():
        for batch in rows_in(system, path, about):
            rows = batch.filter(pc.equal(batch.column("level"), DAMAGE)).to_pylist()
            damage = sorted([*damage, *(Damage(row["capture"], row["file_offset"] or 0, row["text"]) for row in rows)])[:named]
    return Findings(levels, tuple(damage))
