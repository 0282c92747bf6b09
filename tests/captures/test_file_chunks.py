"""Files in stretches, mapped or streamed."""

from __future__ import annotations

import gzip
import io
import os
import threading
from pathlib import Path

import pytest
from tests.captures import build

from amqp_sansio.captures import file_chunks
from amqp_sansio.captures.errors import CaptureError
from amqp_sansio.captures.file_chunks import Stretch, beginning, mapped, over_file, over_map, over_stream
from amqp_sansio.captures.pcap import MOST_ZEROS, ONLY_ZEROS

MADE = build.records(build.conversation([b"x" * 300] * 150).segments)
Told = tuple[list[int], list[tuple[int, str]]]


def told(found: list[Stretch]) -> Told:
    offsets = [stretch.base + at for stretch in found for at in stretch.positions]
    return offsets, [stretch.problem for stretch in found if stretch.problem is not None]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stretches so small that a small file has many."""
    monkeypatch.setattr(file_chunks, "STRETCH_OCTETS", 3000)
    monkeypatch.setattr(file_chunks, "WINDOW_OCTETS", 12_000)
    monkeypatch.setattr(file_chunks, "SEARCH_OCTETS", 103_000)


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
    monkeypatch.setattr(file_chunks, "open", pytest.fail, raising=False)
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
