"""Captures in an object store are found, listed, sized and read as those on a disk are."""

from __future__ import annotations

from pathlib import Path

import pytest

from amqp_sansio.captures import remote
from amqp_sansio.captures.errors import CaptureError
from amqp_sansio.captures.files import closed_in, found, named, names_in, size_of, there
from amqp_sansio.captures.locations import located
from amqp_sansio.captures.reader import read_packets
from amqp_sansio.captures.splits import over_split, splits

pytest.importorskip("pyarrow")
HELLO = Path(__file__).resolve().parents[2] / "src" / "amqp_sansio" / "cli" / "samples" / "hello.pcap"
FOLDER = "s3://tables/captures"


@pytest.fixture(scope="module")
def bucket(s3: dict[str, str]) -> str:
    place = located(FOLDER)
    for name in ("x9.pcap", "x10.pcap", "x9.pcap.done", "_hidden", "deep/er/y.pcap", "x11.pcap.tmp"):
        stream = place.system.open_output_stream(f"{place.path}/{name}")
        stream.write(HELLO.read_bytes())
        stream.close()
    return FOLDER


def test_files_folders_and_patterns(bucket: str) -> None:
    both = [f"{bucket}/x9.pcap", f"{bucket}/x10.pcap"]
    assert found([bucket]) == found([f"{bucket}/"]) == found([f"{bucket}/*.pcap"]) == both
    assert found([both[1], both[0]]) == both
    assert found([f"{bucket}/x?.pcap", str(HELLO)]) == [str(HELLO), both[0]]
    assert found([f"{bucket}/**/y.pcap"]) == found([f"{bucket}/*/*/y.pcap"]) == [f"{bucket}/deep/er/y.pcap"]
    assert names_in(bucket) == ["x9.pcap", "x10.pcap"]
    assert [closed_in(bucket, word) for word in ("newest", "done", "all")] == [["x9.pcap"], ["x9.pcap"], names_in(bucket)]
    assert (size_of(both[0]), size_of(f"{bucket}/no")) == (HELLO.stat().st_size, 0)
    assert there(f"{bucket}/x9.pcap") == f"{bucket}/x9.pcap"


def test_decode_and_check_take_folders_and_patterns_too(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Anything else stays as it is named: what reads it says that it is not there."""
    both = [f"{bucket}/x9.pcap", f"{bucket}/x10.pcap"]
    assert named([bucket]) == named([f"{bucket}/*.pcap"]) == both
    assert named([both[1], f"{bucket}/no.pcap"]) == [both[1], f"{bucket}/no.pcap"]
    with pytest.raises(CaptureError, match=r"no file matches this pattern"):
        named([f"{bucket}/*.cap"])

    def fails(uri: str) -> None:
        raise OSError("the store is down")

    monkeypatch.setattr(remote, "about", fails)
    assert named([bucket]) == [bucket]


@pytest.mark.parametrize(
    ("path", "text"),
    [("no.pcap", "no such file"), ("*.cap", "no file matches this pattern"), ("deep", "the folder has no capture in it")],
)
def test_what_is_not_there_is_one_sentence(bucket: str, path: str, text: str) -> None:
    with pytest.raises(CaptureError, match=f"{bucket}/{path}".replace("*", r"\*") + f": {text}"):
        found([f"{bucket}/{path}"])


def test_its_packets_are_those_of_the_same_file_on_a_disk(bucket: str) -> None:
    uri = f"{bucket}/x9.pcap"
    assert list(read_packets(uri, lambda text: None)) == list(read_packets(str(HELLO), lambda text: None))
    (split,) = splits(uri, 0, 4096)
    packets = sum(len(stretch.positions) for stretch in over_split(split))
    assert packets == len(list(read_packets(str(HELLO), lambda text: None)))
