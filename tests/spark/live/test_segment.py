"""Segments: what is written is read, in slices."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from amqp_sansio.spark.live import segment
from amqp_sansio.spark.live.errors import LiveError
from amqp_sansio.spark.live.segment import SLICE_OCTETS, SLICE_ROWS, Taken, read, write


def taken(number: int, octets: int = 3) -> Taken:
    return Taken("q", number, b"h", b"%d" % number + b"x" * octets)


@pytest.mark.parametrize(("rows", "octets"), [(0, 0), (1, 3), (SLICE_ROWS + 1, 1), (12, 1024 * 1024)])
def test_what_is_written_is_read_in_slices(tmp_path: Path, rows: int, octets: int) -> None:
    messages = [taken(number, octets) for number in range(rows)]
    write(tmp_path / "s", messages)
    found: list[Taken] = []
    for first, batch in read(tmp_path / "s"):
        assert first == len(found)
        assert batch.num_rows <= SLICE_ROWS
        assert batch.num_rows == 1 or batch.num_rows * octets <= 2 * SLICE_OCTETS
        found += [Taken(**row) for row in batch.to_pylist()]
    assert found == messages
    assert sum(each.octets for each in messages) == sum(1 + len(each.body) for each in messages)


def test_what_is_no_segment_is_reported(tmp_path: Path) -> None:
    with pytest.raises(LiveError, match="cannot be read"):
        list(read(tmp_path / "none"))
    write(tmp_path / "s", [taken(1)])
    whole = (tmp_path / "s").read_bytes()
    (tmp_path / "s").write_bytes(whole[:-20])
    with pytest.raises(LiveError, match="cannot be read"):
        list(read(tmp_path / "s"))
    with pa.ipc.new_file(str(tmp_path / "other"), pa.schema([("a", pa.int8())])):
        pass
    with pytest.raises(LiveError, match="not a segment of a spool"):
        list(read(tmp_path / "other"))


def test_a_disk_that_is_full_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(file: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(segment, "sync", full)
    with pytest.raises(LiveError, match="the disk is full"):
        write(tmp_path / "s", [taken(1)])
    assert list(tmp_path.iterdir()) == []
