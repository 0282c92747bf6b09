"""The spool: what is recorded counts, what is removed does not come back."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from amqp_sansio.spark.errors import LiveError, LiveSetupError
from amqp_sansio.spark.live import spool
from amqp_sansio.spark.live.identity import SOURCE, branch, name_of
from amqp_sansio.spark.live.spool import NOTE, SLICE_OCTETS, SLICE_ROWS, RawMessage, Segment, Spool, read, write


def add(spool: Spool, number: int) -> Segment:
    return spool.record(spool.draft(number, branch(spool.owner, SOURCE, number), [RawMessage("q", 0, b"hh", b"body")] * number))


def test_what_is_recorded_counts_and_nothing_else(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool")
    name = branch(spool.owner, SOURCE, 1)
    draft = spool.draft(1, name, [RawMessage("q", 0, b"hh", b"body")])
    assert spool.segments() == []
    assert spool.drafts() == [draft]
    made = spool.record(draft)
    assert Spool(tmp_path / "spool").segments() == [made]
    assert (made.number, made.rows, made.octets, made.branch) == (1, 1, 6, name_of(name))
    assert spool.branches() == {name_of(name): made}
    assert spool.drafts() == []
    spool.withdraw(made)
    assert spool.segments() == []


def test_segments_are_removed_for_good(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    one, two, three = (add(spool, number) for number in (1, 2, 3))
    assert spool.between(0, 2) == [one, two]
    assert spool.between(3, 3) == []
    spool.remove(2)
    spool.remove(1)
    again = Spool(tmp_path)
    assert (again.segments(), again.removed, again.owner) == ([three], 2, spool.owner)
    with pytest.raises(LiveSetupError, match="do not belong together"):
        again.between(1, 3)


def test_a_removal_that_a_crash_interrupted_is_finished(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    made = add(spool, 1)
    octets = (tmp_path / made.name).read_bytes()
    spool.remove(1)
    (tmp_path / made.name).write_bytes(octets)
    draft = spool.draft(2, branch(spool.owner, SOURCE, 2), [])
    again = Spool(tmp_path)
    assert again.segments() == []
    again.tidy([draft])
    assert sorted(path.name for path in tmp_path.iterdir()) == [NOTE]


def test_a_spool_that_was_thrown_away_under_its_query_is_reported(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool")
    add(spool, 1)
    shutil.rmtree(tmp_path / "spool")
    with pytest.raises(LiveSetupError, match=r"the spool cannot be read: No such file or directory \(option spool\)"):
        spool.between(0, 1)


def test_a_spool_that_is_not_ours(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    add(spool, 1)
    note = (tmp_path / NOTE).read_text()
    (tmp_path / NOTE).write_text(note.replace('"form": 1', '"form": 2'))
    with pytest.raises(LiveSetupError, match="of form 2"):
        Spool(tmp_path)
    (tmp_path / NOTE).write_text('{"form": 1}')
    with pytest.raises(LiveSetupError, match="or not a file of amqp-sansio"):
        Spool(tmp_path)
    (tmp_path / NOTE).unlink()
    with pytest.raises(LiveSetupError, match="is gone"):
        Spool(tmp_path)


def taken(number: int, octets: int = 3) -> RawMessage:
    return RawMessage("q", number, b"h", b"%d" % number + b"x" * octets)


@pytest.mark.parametrize(("rows", "octets"), [(0, 0), (1, 3), (SLICE_ROWS + 1, 1), (12, 1024 * 1024)])
def test_what_is_written_is_read_in_slices(tmp_path: Path, rows: int, octets: int) -> None:
    messages = [taken(number, octets) for number in range(rows)]
    write(tmp_path / "s", messages)
    found: list[RawMessage] = []
    for first, batch in read(tmp_path / "s"):
        assert first == len(found)
        assert batch.num_rows <= SLICE_ROWS
        assert batch.num_rows == 1 or batch.num_rows * octets <= 2 * SLICE_OCTETS
        found += [RawMessage(**row) for row in batch.to_pylist()]
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

    monkeypatch.setattr(spool, "sync", full)
    with pytest.raises(LiveError, match="the disk is full"):
        write(tmp_path / "s", [taken(1)])
    assert list(tmp_path.iterdir()) == []
