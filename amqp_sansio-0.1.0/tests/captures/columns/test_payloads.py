"""Payloads are found in their file again, as long as it is the same one."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np
import pytest
from tests.captures import build

from amqp_sansio.captures.columns import payloads as module
from amqp_sansio.captures.columns.payloads import CARRIED, PLACED, Payloads, Stamp, stamp_of
from amqp_sansio.captures.columns.read import read_file
from amqp_sansio.captures.errors import CHANGED, CaptureError


def write(path: Path, octets: bytes = b"\xd4\xc3\xb2\xa1 and the rest") -> str:
    path.write_bytes(octets)
    return str(path)


def take(found: Payloads, path: str, stamp: Stamp, *places: tuple[int, int]) -> list[bytes]:
    begins, lengths = (np.array([place[at] for place in places], np.int64) for at in (0, 1))
    octets: list[bytes] = found.take(path, stamp, begins, lengths).to_pylist()
    return octets


def test_they_are_taken_in_any_order(tmp_path: Path) -> None:
    path = write(tmp_path / "x")
    found = Payloads()
    assert take(found, path, stamp_of(path), (9, 3), (5, 3), (16, 0), (0, 1)) == [b"the", b"and", b"", b"\xd4"]
    assert take(found, path, stamp_of(path)) == []
    found.close()


def test_what_is_no_plain_capture_has_no_place_for_them(tmp_path: Path) -> None:
    made = build.records(build.conversation([b"x"]).segments)
    for octets in (build.pcap(made), build.pcapng(made)):
        path = write(tmp_path / "capture", octets)
        assert stamp_of(path) == Stamp(len(octets), os.stat(path).st_mtime_ns)
        assert stamp_of(write(tmp_path / "packed", gzip.compress(octets))) == CARRIED
    assert stamp_of(write(tmp_path / "foreign", b"no capture")) == CARRIED
    assert stamp_of(write(tmp_path / "empty", b"")) == CARRIED
    assert stamp_of(str(tmp_path / "nothing")) == stamp_of(str(tmp_path)) == stamp_of("\0") == CARRIED


@pytest.mark.parametrize("pcapng", [False, True])
def test_the_reader_tells_where_each_one_lies(tmp_path: Path, pcapng: bool) -> None:
    made = build.records(build.conversation([b"some", b"octets" * 100, b"x"]).segments)
    path = write(tmp_path / "capture", (build.pcapng if pcapng else build.pcap)(made))
    (carried,), (placed,) = list(read_file(path)), list(read_file(path, columns=PLACED))
    begins = placed.column("offset").to_numpy() + placed.column("start").to_numpy()
    found = Payloads()
    taken = found.take(path, stamp_of(path), begins, placed.column("length").to_numpy())
    assert taken.equals(carried.column("payload"))
    assert sum(map(len, taken.to_pylist())) > 600
    found.close()


def test_a_file_that_was_changed_is_reported(tmp_path: Path) -> None:
    """At the first look, and at the end when it was read meanwhile: by its size, and by its time alone."""
    path = write(tmp_path / "x")
    stamp = stamp_of(path)
    found = Payloads()
    take(found, path, stamp, (0, 1))
    write(tmp_path / "x", b"\xd4\xc3\xb2\xa1 and something else")
    with pytest.raises(CaptureError, match=rf"x: {CHANGED} \(it had 17 octets, now 23\)"):
        take(Payloads(), path, stamp, (0, 1))
    with pytest.raises(CaptureError, match=CHANGED):
        found.close()
    stamp = stamp_of(path)
    os.utime(path, ns=(0, stamp.changed_ns + 1))
    with pytest.raises(CaptureError, match=CHANGED):
        take(Payloads(), path, stamp, (0, 1))


def test_a_file_that_is_gone_is_reported(tmp_path: Path) -> None:
    path = write(tmp_path / "x")
    stamp = stamp_of(path)
    os.unlink(path)
    with pytest.raises(CaptureError, match="x: cannot be opened any more: No such file"):
        take(Payloads(), path, stamp, (0, 1))


def test_only_so_many_files_are_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "OPEN_FILES", 2)
    paths = [write(tmp_path / name, b"\xd4\xc3\xb2\xa1" + name.encode()) for name in "abc"]
    stamps = {path: stamp_of(path) for path in paths}
    found = Payloads()

    def one(at: int) -> list[bytes]:
        return take(found, paths[at], stamps[paths[at]], (4, 1))

    assert [one(0), one(1), one(0), one(2)] == [[b"a"], [b"b"], [b"a"], [b"c"]]
    for path in paths[:2]:
        os.unlink(path)
    assert one(0) == [b"a"]
    with pytest.raises(CaptureError, match="cannot be opened any more"):
        one(1)  # it was used longest ago when room was needed
