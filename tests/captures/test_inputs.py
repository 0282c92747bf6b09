"""Which captures are meant, and what of them can be seen to be wrong before any work."""

from __future__ import annotations

import gzip
import os
import shutil
import sys
from pathlib import Path

import pytest

from amqp_sansio.captures.errors import CaptureError
from amqp_sansio.captures.inputs import files_of, octets_of

DATA = Path(__file__).parents[1] / "data" / "captures"


def test_files_are_sorted_and_may_be_packed(tmp_path: Path) -> None:
    for name in ("b10", "b9"):
        (tmp_path / f"{name}.pcap").write_bytes((DATA / "hello.pcap").read_bytes())
    (tmp_path / "a.pcap.gz").write_bytes(gzip.compress((DATA / "tx.pcap").read_bytes()))
    found = files_of([str(tmp_path)])
    assert [Path(path).name for path in found] == ["a.pcap.gz", "b9.pcap", "b10.pcap"]
    assert octets_of(found) == sum(Path(path).stat().st_size for path in found)


def test_one_that_is_no_capture_is_left_to_the_work_unless_it_is_alone(tmp_path: Path) -> None:
    foreign, empty = tmp_path / "foreign", tmp_path / "empty"
    foreign.write_bytes(b"no capture")
    empty.write_bytes(b"")
    assert len(files_of([str(foreign), str(DATA / "hello.pcap")])) == 2
    with pytest.raises(CaptureError, match="the file is empty"):
        files_of([str(empty), str(foreign)])
    with pytest.raises(CaptureError, match="no such file"):
        files_of([str(DATA / "hello.pcap"), str(tmp_path / "nothing")])


def test_one_that_cannot_be_opened_is_left_to_the_work_unless_it_is_alone(tmp_path: Path) -> None:
    (tmp_path / "link.pcap").symlink_to(tmp_path / "gone")
    with pytest.raises(CaptureError, match=r"link\.pcap: cannot be opened: No such file or directory"):
        files_of([str(tmp_path)])
    (tmp_path / "good.pcap").write_bytes((DATA / "hello.pcap").read_bytes())
    found = files_of([str(tmp_path)])
    assert [Path(path).name for path in found] == ["good.pcap", "link.pcap"]
    assert octets_of(found) == (tmp_path / "good.pcap").stat().st_size


def test_what_is_compressed_and_torn_is_reported_in_words(tmp_path: Path) -> None:
    (tmp_path / "torn.pcap.gz").write_bytes(gzip.compress((DATA / "tx.pcap").read_bytes())[:12])
    with pytest.raises(CaptureError, match=r"torn\.pcap\.gz: cannot be read: the gzip stream is damaged: "):
        files_of([str(tmp_path)])


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are octets on Linux")
def test_a_name_that_is_not_utf_8_is_refused_before_any_work(tmp_path: Path) -> None:
    path = os.fsdecode(bytes(tmp_path) + b"/na\xffme")
    shutil.copy(DATA / "hello.pcap", path)
    with pytest.raises(CaptureError, match="its name is not UTF-8"):
        files_of([str(DATA / "hello.pcap"), path])
