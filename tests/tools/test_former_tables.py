"""Tables of today, read back through the map from schema 2 to 1, are what version 1 wrote, with every difference listed."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.captures.finer import TABLES_1, finer_captures

from amqp_sansio.captures.columns.local import run
from amqp_sansio.captures.columns.published import rows_in
from amqp_sansio.captures.columns.tables import table_schema
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.tables import PARTITIONS, TABLES, former_name, former_names
from tools.former_tables import EVERY, cut, differences, former

DIFFERENCES = {
    "connections": {"end_ns", "opened_ns"},
    "sessions": {"attached_ns", "detach_ns", "end_ns"},
    "commands": {"last_octet_ns", "completed_ns", "result_ns"},
    "messages": {
        "first_octet_ns", "acquired_ns", "accepted_ns", "rejected_ns", "released_ns", "completed_ns", "settled_ns",
    },
    "transactions": {"end_ns", "completed_ns"},
    "dtx": {"start_ns", "end_ns", "prepared_ns"},
}  # fmt: skip
"""Every column of version 1 whose values come back otherwise: without what is below a microsecond."""
NOT_SEEN = {"rejected_ns", "released_ns"}
"""Those that the captures of these tables have no values of."""

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "schema-versions.md"

Named = dict[str, object]


@pytest.fixture(scope="module")
def today(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("finer")
    plan = ReplayOptions(broker="north", tables=tuple(TABLES), body_head=8)
    run(finer_captures(folder), str(folder / "tables"), plan)
    return folder / "tables"


def then(name: str) -> list[Named]:
    """The rows that version 1 wrote."""
    (path,) = (TABLES_1 / name).rglob("*.parquet")
    return sorted([_beside(row) for row in pq.ParquetFile(path).read().to_pylist()], key=_place)


def back(name: str, folder: Path) -> list[Named]:
    """The rows of today as those of version 1."""
    table = EVERY[name]
    system = pa.fs.LocalFileSystem()
    files = sorted((folder / name).rglob("*.parquet"))
    batches = [batch for path in files for batch in rows_in(system, str(path), table_schema(table))]
    return sorted([_beside(row) for batch in batches for row in former(table, batch).to_pylist()], key=_place)


def _beside(row: Named) -> Named:
    """Without what the folders say, and wherever the captures lay."""
    row = {name: value for name, value in row.items() if name not in PARTITIONS}
    return row | {"capture": str(row["capture"]).rpartition("/")[2]} if "capture" in row else row


def _place(row: Named) -> str:
    """What no difference changes comes first."""
    return repr([value for name, value in row.items() if name.endswith("_ns") is False] + list(row.values()))


@pytest.mark.parametrize("name", EVERY)
def test_rows_come_back_but_for_what_is_below_a_microsecond(name: str, today: Path) -> None:
    """Every row, every column: as before, or a time that is listed and cut; and each listed one is cut somewhere."""
    before, now = then(name), back(name, today)
    assert len(before) == len(now) > 0
    assert [*before[0]] == [*now[0]] == [each for each in former_names(EVERY[name]) if each not in PARTITIONS]
    changed: set[str] = set()
    for old, new in zip(before, now, strict=True):
        for column, value in old.items():
            if new[column] != value:
                assert isinstance(value, int)
                assert new[column] == value // 1000 * 1000
                changed.add(column)
    assert changed | (NOT_SEEN & DIFFERENCES.get(name, set())) == DIFFERENCES.get(name, set())
    assert set(cut(EVERY[name])) == DIFFERENCES.get(name, set())


def test_the_page_says_what_became_of_each_column() -> None:
    """For each table a line for every column that is not the same in both versions, and no other line."""
    found: dict[str, list[str]] = {}
    for part in PAGE.read_text(encoding="utf-8").partition("## Back to version 1")[2].partition("\n## ")[0].split("### ")[1:]:
        name, *lines = part.strip().splitlines()
        found[name] = lines[3:]
    expected: dict[str, list[str]] = {}
    for name, table in EVERY.items():
        for before in former_names(table):
            now = [each for each in table.names if before in (each, former_name(each))]
            lost = "what is below 1 µs" if before in cut(table) else "nothing"
            if now != [before]:
                line = f"| `{before}` | {', '.join([f'`{each}`' for each in now])} | {lost} |"
                expected.setdefault(name, []).append(line)
    assert found == expected


def test_the_differences_are_printed_by_table() -> None:
    assert list(differences()) == [f"{name}: {', '.join(cut(EVERY[name]))}" for name in EVERY if name in DIFFERENCES]
