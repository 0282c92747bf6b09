"""`analyze` in this process: tables of all recordings, published whole or not at all."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from amqp_sansio.captures.columns import local as module
from amqp_sansio.captures.columns import replay, writer
from amqp_sansio.captures.columns.local import run
from amqp_sansio.captures.columns.place import MANIFEST, STREAM
from amqp_sansio.captures.columns.writer import Growing
from amqp_sansio.captures.errors import CaptureError, OutOfDisk, OutOfMemory, PipelineError
from amqp_sansio.captures.files import order
from amqp_sansio.captures.replay.options import ReplayOptions

DATA = Path(__file__).parents[2] / "data" / "captures"
HELLO = str(DATA / "hello.pcap")


def test_the_tables_of_all_recordings_in_a_folder(tmp_path: Path) -> None:
    paths = sorted(str(path) for path in DATA.glob("*.pcap"))
    damaged = tmp_path / "damaged.pcap"
    damaged.write_bytes((DATA / "hello.pcap").read_bytes()[:-7])
    foreign = tmp_path / "foreign.pcap"
    foreign.write_text("nothing of the kind")
    out = tmp_path / "out"
    heard: dict[str, int] = {}
    captures, plan = [*paths, str(damaged), str(foreign)], ReplayOptions(broker="north")
    outcome = run(captures, str(out), plan, heard.__setitem__)
    said = json.loads((out / MANIFEST).read_text())
    assert said["engine"] == "local"
    assert outcome.findings["damage"] == len(outcome.damage) == 2
    assert said["problems"] == [str(each) for each in outcome.damage]
    assert {each.capture for each in outcome.damage} == {str(damaged), str(foreign)}
    assert list(heard) == sorted(captures, key=order)
    assert 0.9 * (DATA / "hello.pcap").stat().st_size < heard[HELLO] < (DATA / "hello.pcap").stat().st_size
    assert outcome.rows["messages"] == ds.dataset(out / "messages", partitioning="hive").count_rows() > 100
    assert outcome.rows["end_to_end"] == ds.dataset(out / "end_to_end").count_rows() > 0
    assert {row["broker"] for row in ds.dataset(out / "connections", partitioning="hive").to_table().to_pylist()} == {"north"}


@pytest.fixture
def before(tmp_path: Path) -> Iterator[Path]:
    """A folder with tables in it, which must not change."""
    out = tmp_path / "out"
    run([HELLO], str(out))
    kept = {path.relative_to(out): path.read_bytes() for path in out.rglob("*") if path.is_file()}
    yield out
    assert {path.relative_to(out): path.read_bytes() for path in out.rglob("*") if path.is_file()} == kept


def test_what_was_published_is_replaced(before: Path) -> None:
    files = set(before.rglob("*.parquet"))
    run([HELLO], str(before.parent / "other"))
    run([HELLO], str(before.parent / "other"))
    assert len(set((before.parent / "other").rglob("*.parquet"))) == len(files)


@pytest.mark.parametrize(("capture", "words"), [
    ("/nowhere.pcap", r"/nowhere\.pcap: no such file"),
    (__file__, "neither a pcap nor a pcapng file"),
])  # fmt: skip
def test_captures_that_are_none_are_reported_and_nothing_is_touched(before: Path, capture: str, words: str) -> None:
    with pytest.raises(PipelineError, match=words):
        run([HELLO, capture] if capture.startswith("/nowhere") else [capture], str(before))


def test_the_folder_of_a_stream_is_not_replaced(before: Path) -> None:
    (before / STREAM).write_text("{}")
    with pytest.raises(PipelineError, match="holds what `watch` writes"):
        run([HELLO], str(before))
    os.unlink(before / STREAM)


def test_many_small_files_are_merged_up_to_a_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Spark: where it wrote four of one table, day and broker or more.  The rows are the same."""
    monkeypatch.setattr(writer, "OPEN_FILES", 1)  # every change of the table opens another file

    def read(name: str, octets: int) -> tuple[int, list[str]]:
        out = tmp_path / name
        outcome = run(
            [str(DATA / "dtx.pcap"), str(DATA / "tx.pcap")], str(out), ReplayOptions(broker="north"), file_octets=octets
        )
        tables = ds.dataset(out / "controls", partitioning="hive").to_table().drop_columns(["capture_date"])
        assert not list(out.glob(".work*"))
        return outcome.files, sorted(map(str, tables.to_pylist()))

    monkeypatch.setattr(replay, "BATCH_ROWS", 4)
    (many, rows), (few, same) = read("many", 1), read("few", 1 << 20)
    assert few < many
    assert rows == same


def failing(error: Exception) -> Any:
    def fail(*_: object, **__: object) -> Any:
        raise error

    return fail


@pytest.mark.parametrize(("where", "name"), [(Growing, "flush"), (Growing, "close"), (module, "write_end_to_end")])
@pytest.mark.parametrize(("error", "kind"), [
    (OSError(errno.ENOSPC, "x"), OutOfDisk),
    (pa.ArrowMemoryError("malloc of size 9 failed"), OutOfMemory),
    (MemoryError(), OutOfMemory),
])  # fmt: skip
def test_a_full_disk_and_too_little_memory_leave_the_earlier_tables(
    before: Path, monkeypatch: pytest.MonkeyPatch, where: object, name: str, error: Exception, kind: type[PipelineError]
) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(where, name, failing(error))
        with pytest.raises(PipelineError) as raised:
            run([HELLO], str(before))
    assert type(raised.value) is kind
    assert "nothing was published" in str(raised.value)


def test_a_file_that_is_changed_while_it_is_read_ends_the_run(before: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "records_of", failing(CaptureError(HELLO, 0, 0, "the file was changed")))
    with pytest.raises(PipelineError, match="the file was changed"):
        run([HELLO], str(before))
