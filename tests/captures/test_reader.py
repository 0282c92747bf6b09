"""Files in stretches, mapped or streamed."""

from __future__ import annotations

import gzip
import io
import os
import threading
from pathlib import Path

import pytest
from tests.captures import build

from amqp_sansio.captures import reader
from amqp_sansio.captures.errors import CaptureError
from amqp_sansio.captures.pcap import MOST_ZEROS, ONLY_ZEROS
from amqp_sansio.captures.reader import Stretch, beginning, mapped, over_file, over_map, over_stream, read_packets

MADE = build.records(build.conversation([b"x" * 300] * 150).segments)
Told = tuple[list[int], list[tuple[int, str]]]


def told(found: list[Stretch]) -> Told:
    offsets = [stretch.base + at for stretch in found for at in stretch.positions]
    return offsets, [stretch.problem for stretch in found if stretch.problem is not None]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stretches so small that a small file has many."""
    monkeypatch.setattr(reader, "STRETCH_OCTETS", 3000)
    monkeypatch.setattr(reader, "WINDOW_OCTETS", 12_000)
    monkeypatch.setattr(reader, "SEARCH_OCTETS", 103_000)


@pytest.mark.parametrize("damage", [False, True])
@pytest.mark.parametrize("write", [build.pcap, build.pcapng])
def test_a_stream_gives_what_a_map_gives(write: object, damage: bool, tmp_path: Path) -> None:
    assert callable(write)
    octets = bytearray(write(MADE * 3))
    if damage:
        octets[20_000:20_100] = b"\xee" * 100
        octets[150_000:150_100] = b""
        octets += b"\1" * 9
    path = build.write(tmp_path / "x", bytes(octets))
    over = told(list(over_file(path)))
    assert told(list(over_stream(io.BytesIO(bytes(octets))))) == over
    assert told(list(over_file(build.write(tmp_path / "x.gz", gzip.compress(octets))))) == over
    assert len(over[1]) >= 2 if damage else over[1] == []
    mapping = mapped(path)
    assert mapping is not None
    assert told(list(over_map(mapping, *beginning(mapping, len(mapping)), len(mapping)))) == over


class Endless(io.RawIOBase):
    """A capture of three packets, then zeros without an end."""

    def __init__(self) -> None:
        self.given = 0
        self._start = build.pcap(MADE[:3])

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        part = self._start[self.given : self.given + size] or bytes(size)
        self.given += len(part)
        return part


def test_a_stream_of_zeros_ends_early() -> None:
    stream = Endless()
    offsets, problems = told(list(over_stream(stream)))  # type: ignore[arg-type]
    assert (len(offsets), problems) == (3, [(len(build.pcap(MADE[:3])), ONLY_ZEROS)])
    assert stream.given < 32 * MOST_ZEROS


def test_a_pipe_is_read_as_a_stream(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=lambda: path.write_bytes(build.pcap(MADE)))
    writer.start()
    offsets, problems = told(list(over_file(str(path))))
    writer.join()
    assert (len(offsets), problems) == (len(MADE), [])


def test_a_pipe_is_opened_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    monkeypatch.setattr(reader, "open", pytest.fail, raising=False)
    assert mapped(str(path)) is None


def test_a_record_larger_than_the_window_is_waited_for() -> None:
    big = build.Record(1, b"\0" * 50_000, 50_000, build.START_NS)
    octets = build.pcap([MADE[0], big, MADE[1]])
    assert len(told(list(over_stream(io.BytesIO(octets))))[0]) == 3


def test_what_cannot_be_read_is_one_problem(tmp_path: Path) -> None:
    for path, words in ((tmp_path / "no", "cannot be opened"), (tmp_path, "cannot be opened")):
        assert words in told(list(over_file(str(path))))[1][0][1]
    assert told(list(over_file(build.write(tmp_path / "a", b""))))[1] == [(0, "the file is empty")]
    assert "2.x" in told(list(over_file(build.write(tmp_path / "b", build.pcap(MADE, version=(9, 9))))))[1][0][1]
    with pytest.raises(CaptureError, match="cannot be opened"):
        mapped("a\0b")
    with pytest.raises(ValueError, match="neither"):
        beginning(b"what is this", 12)


RECORDS = build.records(build.conversation([b"x"]).segments)


def nobody(text: str) -> None:
    raise AssertionError(text)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("nano", [False, True])
def test_both_kinds_in_both_orders_give_the_same_packets(order: str, nano: bool, tmp_path: Path) -> None:
    old = list(read_packets(build.write(tmp_path / "a", build.pcap(RECORDS, order, nano)), nobody))
    new = list(read_packets(build.write(tmp_path / "b", build.pcapng(RECORDS, order)), nobody))
    assert [each.data for each in old] == [each.data for each in new] == [record.data for record in RECORDS]
    assert [each.number for each in old] == list(range(1, len(RECORDS) + 1))


@pytest.mark.parametrize(
    ("octets", "word"),
    [
        (b"", "empty"),
        (b"no capture", "6e6f2063"),
        (b"ab", "6162"),
        (b"\x1f\x8b\x08\0" + b"x" * 20, "the gzip stream is damaged"),
        (b"\x28\xb5\x2f\xfd" + b"x" * 20, "the zstd stream is damaged"),
        (b"\xfd7zXZ\0", "unxz"),
        (b"BZh9", "bzip2"),
        (b"\x34\xcd\xb2\xa1" + b"x" * 20, "editcap"),
        (b"\xa1\xb2\xcd\x34" + b"x" * 20, "editcap"),
    ],
)
def test_what_is_no_capture_is_named(octets: bytes, word: str, tmp_path: Path) -> None:
    path = build.write(tmp_path / "x", octets)
    with pytest.raises(CaptureError, match=word) as raised:
        list(read_packets(path, nobody))
    assert path in str(raised.value)


@pytest.mark.parametrize("name", ["missing", ".", "with\0nul"])
def test_what_cannot_be_opened_is_reported(name: str, tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="cannot be opened"):
        list(read_packets(f"{tmp_path}/{name}", nobody))


def test_it_tells_how_far_it_is_now_and_then(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(reader, "TELL_OCTETS", 300)
    monkeypatch.setattr(reader, "PART_OCTETS", 100)
    path = build.write(tmp_path / "x", build.pcap(RECORDS))
    said: list[tuple[str, int]] = []
    list(read_packets(path, nobody, lambda name, octets: said.append((name, octets))))
    ends = [octets for _, octets in said]
    assert {name for name, _ in said} == {path}
    assert len(ends) > 1
    assert all(after - before >= 300 for before, after in zip([0, *ends], ends, strict=False))
    assert ends[-1] <= os.path.getsize(path)


@pytest.mark.parametrize("made", [build.pcap, build.pcapng])
def test_a_packet_comes_out_of_a_pipe_before_the_next_one_is_written(made: object, tmp_path: Path) -> None:
    """As from `tcpdump -U -w - | amqp-sansio decode -`: nothing waits for a window to be full."""
    assert callable(made)
    whole = made(RECORDS)
    ends = [len(made(RECORDS[: number + 1])) for number in range(len(RECORDS))]
    path = tmp_path / "pipe"
    os.mkfifo(path)
    seen = threading.Semaphore(0)

    def write() -> None:
        with open(path, "wb", buffering=0) as pipe:
            for start, end in zip([0, *ends], ends, strict=False):
                pipe.write(whole[start:end])
                assert seen.acquire(timeout=60)

    writer = threading.Thread(target=write)
    writer.start()
    for packet, record in zip(read_packets(str(path), nobody), RECORDS, strict=True):
        assert packet.data == record.data
        seen.release()
    writer.join()


def test_a_file_that_cannot_be_read_is_an_error_of_the_capture(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Broken:
        def __enter__(self) -> Broken:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def read(self, size: int) -> bytes:
            raise OSError(5, "Input/output error")

    monkeypatch.setattr(reader, "open_capture", lambda path: Broken())
    with pytest.raises(CaptureError, match="cannot be read: Input/output error"):
        list(read_packets("a.pcap", nobody))
