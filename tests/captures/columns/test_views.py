"""Views as pandas frames."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pandas as pd
import pytest

from amqp_sansio.captures.columns.local import run
from amqp_sansio.captures.columns.views import frame
from amqp_sansio.captures.replay.doubt import branches_in_doubt
from amqp_sansio.captures.schema import is_time
from amqp_sansio.captures.verdicts import verdicts
from amqp_sansio.captures.views import VIEWS
from amqp_sansio.captures.views import duckdb as script
from amqp_sansio.captures.witnesses import observers

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


def test_another_name_is_none(folder: str) -> None:
    with pytest.raises(KeyError):
        frame(folder, "messages")
