"""What is in compressed files."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.captures import build

from amqp_sansio.captures.errors import CaptureError
from amqp_sansio.captures.reader import read_packets
from amqp_sansio.captures.source import Undecompressed, decompressed, files_of, no_capture, octets_of, open_capture

pa = pytest.importorskip("pyarrow")

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "zstd": lambda octets: pa.Codec("zstd").compress(octets, asbytes=True),
}


@pytest.mark.parametrize("kind", sorted(PACKERS))
def test_octets_come_back_also_from_several_members(kind: str) -> None:
    packed = PACKERS[kind](b"abc" * 9999) + PACKERS[kind](b"def")
    stream = decompressed(io.BytesIO(packed), packed[:4])
    assert stream is not None
    with stream:
        assert stream.read(1) + stream.read(29_996) + stream.read(99) + stream.read(9) == b"abc" * 9999 + b"def"


@pytest.mark.parametrize("kind", sorted(PACKERS))
def test_damage_comes_after_all_that_is_good_and_stays(kind: str) -> None:
    packed = PACKERS[kind](b"abc" * 9999) + PACKERS[kind](b"def" * 99)[:-5]
    stream = decompressed(io.BytesIO(packed), packed[:4])
    assert stream is not None
    good = stream.read(10**6)
    assert good.startswith(b"abc" * 8000)
    for _ in range(2):
        with pytest.raises(Undecompressed, match=f"the {kind} stream is damaged"):
            stream.read(1)


def test_other_octets_are_not_touched() -> None:
    assert decompressed(io.BytesIO(b"abc"), b"abc") is None


@pytest.mark.parametrize("kind", sorted(PACKERS))
def test_the_plain_reader_reads_them(kind: str, tmp_path: Path) -> None:
    octets = build.pcapng(build.records(build.conversation().segments))
    want = list(read_packets(build.write(tmp_path / "a", octets), lambda text: None))
    assert list(read_packets(build.write(tmp_path / "b", PACKERS[kind](octets)), lambda text: None)) == want


@pytest.mark.parametrize("kind", sorted(PACKERS))
def test_a_damaged_stream_is_an_error_wherever_it_breaks_off(kind: str, tmp_path: Path) -> None:
    """A truncated record is no harmless end of the file there."""
    for octets in (
        build.pcap(build.records(build.conversation().segments)),
        build.pcapng(build.records(build.conversation().segments)),
    ):
        packed = PACKERS[kind](octets)
        for cut in range(len(packed) // 2, len(packed), max(1, len(packed) // 20)):
            with pytest.raises(CaptureError, match=f"the {kind} stream is damaged"):
                list(read_packets(build.write(tmp_path / "x", packed[:cut]), lambda text: None))


def test_a_file_is_read_from_its_start(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abcdef")
    with open_capture(str(tmp_path / "a")) as stream:
        assert (stream.read(2), stream.read(9)) == (b"ab", b"cdef")


def test_what_is_missing_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="cannot be opened: No such file"):
        open_capture(str(tmp_path / "missing"))


@pytest.mark.parametrize(("magic", "word"), [(b"", "empty"), (b"BZh9", "bunzip2"), (b"abcd", "it starts with 61626364")])
def test_a_reason_is_given_for_what_is_no_capture(magic: bytes, word: str) -> None:
    assert word in no_capture(magic)


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
