"""Views as pandas frames."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pandas as pd
import pytest
from tests.captures.finer import TABLES_1, finer_captures
from tests.docs.questions import asked
from tests.docs.questions import told as told_rows

from amqp_sansio.captures.columns.local import run
from amqp_sansio.captures.columns.local import run as analyze
from amqp_sansio.captures.columns.published import paths_of
from amqp_sansio.captures.columns.views import frame
from amqp_sansio.captures.conversation import observers
from amqp_sansio.captures.errors import LocationError, PipelineError
from amqp_sansio.captures.locations import located
from amqp_sansio.captures.replay.doubt import branches_in_doubt
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.tables import END_TO_END, TABLES, is_time
from amqp_sansio.captures.verdicts import verdicts
from amqp_sansio.captures.views import VIEWS
from amqp_sansio.captures.views import duckdb as script

DATA = Path(__file__).parents[2] / "data" / "captures"
PATHS = [str(DATA / name) for name in ("hello.pcap", "credit.pcap", "dtx.pcap", "tx.pcap", "jms/xa.pcap", "jms/err.pcap")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    place = str(tmp_path_factory.mktemp("views") / "tables")
    run(PATHS, place)
    return place


def test_what_is_in_doubt_is_what_check_says(folder: str) -> None:
    judged = [each.doubt for path in PATHS for each in verdicts(path, observers(), (), lambda text: None)]
    found = frame(folder, "in_doubt")
    expected = {
        1: sum(each.publishes for each in judged),
        2: sum(each.deliveries for each in judged),
        3: len(branches_in_doubt([said for each in judged for said in each.branches])),
        4: sum(each.commits for each in judged),
    }
    assert {place: int((found["place"] == place).sum()) for place in expected} == expected


@pytest.mark.parametrize("name", VIEWS)
def test_every_view_has_rows_or_none_and_its_columns(folder: str, name: str) -> None:
    found = frame(folder, name)
    assert "broker" in found.columns
    if name in ("latency", "branches"):
        assert len(found) > 0
        assert name != "latency" or (found["latency_ns"] >= 0).all()


@pytest.mark.parametrize("name", VIEWS)
def test_duckdb_finds_what_pandas_finds(folder: str, name: str) -> None:
    base = duckdb.connect()
    base.execute("SET TimeZone = 'UTC'")
    base.execute(script(folder))
    found = frame(folder, name)
    columns = [column for column in found.columns if column not in ("capture_date",)]
    quoted = ", ".join([f'"{column}"' for column in columns])
    theirs = base.sql(f"SELECT {quoted} FROM {name}").fetchall()
    assert plain(theirs) == plain(found[columns].itertuples(index=False))


@pytest.mark.parametrize("name", VIEWS)
def test_views_on_a_folder_of_schema_version_1_are_those_of_today(name: str, tmp_path: Path) -> None:
    """pandas and DuckDB find in the tables of then what they find in the tables of now, of the same captures."""
    analyze(finer_captures(tmp_path), str(tmp_path / "tables"), ReplayOptions(broker="north"))
    now, then = frame(str(tmp_path / "tables"), name), frame(str(TABLES_1), name)
    assert [*then.columns] == [*now.columns]
    assert (then.dtypes == now.dtypes).all()
    rows = plain(now.itertuples(index=False))
    assert plain(then.itertuples(index=False)) == rows
    base = duckdb.connect()
    base.execute("SET TimeZone = 'UTC'")
    base.execute(script(str(TABLES_1), 1))
    found = base.sql(f"SELECT {', '.join(now.columns)} FROM {name}").fetchall()
    assert plain(found) == rows


def plain(rows: Iterable[Iterable[object]]) -> list[str]:
    """Rows that either of them gives, as texts: a moment is that moment, whatever holds it."""
    return sorted([str([told(each) for each in row]) for row in rows])


def told(value: object) -> object:
    if pd.isna(value):
        return None
    return value.astimezone(UTC).isoformat(" ") if isinstance(value, datetime) else value


@pytest.mark.parametrize("name", VIEWS)
def test_times_are_moments_of_whole_microseconds(folder: str, name: str) -> None:
    found = frame(folder, name)
    times = [column for column in found.columns if is_time(column)]
    assert times
    assert {str(found[column].dtype) for column in times} == {"datetime64[us, UTC]"}
    assert name == "in_doubt" or not len(found) or str(found["ts"].dt.year.min()) in ("2024", "2025", "2026")


def test_no_column_is_called_by_a_reserved_word_of_duckdb(folder: str) -> None:
    """Whoever asks need not quote: tables, what is joined, views, and what is inside a column."""
    base = duckdb.connect()
    rows = base.sql(
        "SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category IN ('reserved', 'type_function')"
    ).fetchall()
    reserved = {str(word).lower() for (word,) in rows}
    assert {"end", "offset", "left"} <= reserved
    assert not column_names(folder) & reserved


def column_names(folder: str) -> set[str]:
    tables = {name for table in (*TABLES.values(), END_TO_END) for name in (table.name, *table.names)}
    return tables | {str(name) for view in VIEWS for name in (view, *frame(folder, view).columns)} | {"first", "last"}


def test_duckdb_answers_the_questions_of_the_manual_as_pandas_does() -> None:
    """Every question of the page, over the recordings that the page reads: both give its rows, and there are some."""
    with asked() as page:
        assert len(page.questions) == 5
        for each in page.questions:
            found = page.names["base"].sql(each.sql)
            assert found.columns == list(each.answer.columns), each.sql
            assert told_rows(found.fetchall()) == each.rows != [], each.sql


def test_another_name_is_none(folder: str) -> None:
    with pytest.raises(KeyError):
        frame(folder, "messages")


def test_a_store_is_read_and_only_what_the_manifest_names(s3: dict[str, str]) -> None:
    """A killed run has left a file that its manifest does not name."""
    run(PATHS[:2], place := "s3a://tables/views")
    before = frame(place, "latency")
    left = located(f"{place}/commands/part-left.parquet")
    left.system.copy_file(paths_of(place, ["commands"])["commands"][0], left.path)
    assert len(before) == len(frame(place, "latency")) > 0


def test_tables_that_are_not_there_are_one_sentence(tmp_path: Path) -> None:
    run(PATHS[:1], place := str(tmp_path / "some"), ReplayOptions(tables=("commands",)))
    for folder, text in ((place, "its manifest names no table messages"), (str(tmp_path), "its manifest names no table")):
        with pytest.raises(PipelineError, match=f"^{folder}: {text}"):
            frame(folder, "latency")
    with pytest.raises(LocationError, match=r"^dbfs:/x: dbfs: exists on Databricks only$"):
        frame("dbfs:/x", "latency")
