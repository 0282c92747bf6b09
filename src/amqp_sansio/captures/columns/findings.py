"""Counts and lists the contents of `violations` and `end_to_end` files in place, without a Spark job."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from attrs import field, frozen
from pyarrow import fs

from amqp_sansio.captures.columns.place import Written
from amqp_sansio.captures.columns.published import rows_in
from amqp_sansio.captures.columns.tables import table_schema
from amqp_sansio.captures.joins import END_TO_END
from amqp_sansio.captures.locations import located
from amqp_sansio.captures.tables import TABLES

TABLE: Final = "violations"
DAMAGE: Final = "damage"
"""The level of damage in a file."""
NAMED: Final = 100
"""The most unreadable places listed one by one; the others are counted."""

_SCHEMA: Final = table_schema(TABLES[TABLE])
_NAMED: Final = ("level", "capture", "file_offset", "text")


@frozen(order=True)
class Damage:
    """A place in a capture that cannot be read: its (decompressed) offset, and the reason in one sentence."""

    capture: str
    offset: int
    text: str

    def __str__(self) -> str:
        return f"{self.capture}: {f'octet {self.offset}: ' if self.offset else ''}{self.text}"


@frozen
class Findings:
    """Rows per level, the first unreadable places of captures in order, and deliveries without a latency because, by the
    recorded times, they ended before their publication began."""

    levels: dict[str, int] = field(factory=dict)
    damage: tuple[Damage, ...] = ()
    early: int = 0


def findings_in(files: Sequence[Written], place: str, named: int = NAMED) -> Findings:
    """Returns the findings in these files, in the file system of `place`; holds only counts and the listed places."""
    levels: dict[str, int] = {}
    damage: list[Damage] = []
    paths = [each.path for each in files if each.table == TABLE and each.rows]
    system = located(place).system
    early = sum([_nulls(system, each.path, "latency_ns") for each in files if each.table == END_TO_END.name and each.rows])
    level, about = [pa.schema([_SCHEMA.field(name) for name in names]) for names in (("level",), _NAMED)]
    for path in paths:
        for batch in rows_in(system, path, level):
            for counted in batch.column("level").value_counts().to_pylist():
                levels[counted["values"]] = levels.get(counted["values"], 0) + counted["counts"]
    for path in paths if DAMAGE in levels else ():
        for batch in rows_in(system, path, about):
            rows = batch.filter(pc.equal(batch.column("level"), DAMAGE)).to_pylist()
            damage = sorted([*damage, *(Damage(row["capture"], row["file_offset"] or 0, row["text"]) for row in rows)])[:named]
    return Findings(levels, tuple(damage), early)


def _nulls(system: fs.FileSystem, path: str, name: str) -> int:
    """Returns how many values of a column are null, from the statistics in the file's footer."""
    with system.open_input_file(path) as stream, pq.ParquetFile(stream) as file:
        place = file.schema_arrow.names.index(name)
        groups = [file.metadata.row_group(number) for number in range(file.num_row_groups)]
        return sum([int(group.column(place).statistics.null_count) for group in groups])
