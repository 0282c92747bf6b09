"""Capture files by their first octets."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from tests.captures import build

from amqp_sansio.captures import file_chunks, reader
from amqp_sansio.captures.errors import CaptureError
from amqp_sansio.captures.reader import read_packets

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
    monkeypatch.setattr(file_chunks, "PART_OCTETS", 100)
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
