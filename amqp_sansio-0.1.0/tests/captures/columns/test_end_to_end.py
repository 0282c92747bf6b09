"""Latency from publisher to consumer, joined from files: in memory or through buckets, it is that of the plain rows."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.captures import rowwise
from tests.captures.packets import Row, gathered

from amqp_sansio.captures.columns import end_to_end as module
from amqp_sansio.captures.columns.end_to_end import joined_of, with_messages, write_end_to_end
from amqp_sansio.captures.columns.place import Written
from amqp_sansio.captures.columns.runner import records_of
from amqp_sansio.captures.columns.tables import table_schema
from amqp_sansio.captures.columns.writer import Writer, write_empty
from amqp_sansio.captures.joins import END_TO_END
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.tables import TABLES
from bench.traffic import make

NEVER = 1 << 40


@pytest.fixture(scope="module")
def messages(tmp_path_factory: pytest.TempPathFactory) -> list[Row]:
    path = tmp_path_factory.mktemp("traffic") / "x.pcap"
    make(path, 200_000, connections=4)
    return gathered(records_of([str(path)], ReplayOptions()))["messages"]


def written(folder: Path, rows: list[Row]) -> list[Written]:
    """These messages in two files."""
    files: list[Written] = []
    for part in (rows[::2], rows[1::2]):
        writer = Writer(str(folder), "x")
        files += writer.add("messages", pa.RecordBatch.from_pylist(part, schema=table_schema(TABLES["messages"])))
        files += writer.rest()
    return files


@pytest.mark.parametrize("here", [0, NEVER])
@pytest.mark.parametrize("buckets", [1, 7])
def test_the_join_is_that_of_the_plain_rows(
    messages: list[Row], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, here: int, buckets: int
) -> None:
    (tmp_path / "work").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "work"))
    monkeypatch.setattr(module, "ROWS_READ", 50)
    monkeypatch.setattr(module, "ROWS_OF_A_BUCKET", 10)
    monkeypatch.setattr(module, "BUCKETS", buckets)
    (file,) = write_end_to_end(written(tmp_path, messages), str(tmp_path), str(tmp_path), here)
    found = pq.read_table(file.path).to_pylist()
    assert found
    assert sorted(map(repr, found)) == sorted(map(repr, rowwise.end_to_end(messages)))
    assert file.rows == len(found)
    assert not list((tmp_path / "work").iterdir())


@pytest.mark.parametrize("here", [-1, NEVER])
def test_without_messages_there_is_an_empty_file(tmp_path: Path, here: int) -> None:
    (file,) = write_end_to_end([write_empty(str(tmp_path), "messages")], str(tmp_path), str(tmp_path), here)
    assert (file.table, file.folder, file.rows) == (END_TO_END.name, "", 0)
    assert pq.read_schema(file.path) == table_schema(END_TO_END)


def test_only_messages_are_joined() -> None:
    files = [Written(table, "", "x", rows, 1) for table, rows in (("messages", 1), ("messages", 0), ("dtx", 3))]
    assert with_messages(files) == files[:1]
    assert joined_of(ReplayOptions(tables=("messages",))) == [END_TO_END.name]
    assert joined_of(ReplayOptions(tables=("dtx",))) == []
