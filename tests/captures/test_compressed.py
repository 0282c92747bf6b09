"""What is in compressed files."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.captures import build

from amqp_sansio.captures.compressed import Undecompressed, decompressed
from amqp_sansio.captures.errors import CaptureError
from amqp_sansio.captures.reader import read_packets

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
