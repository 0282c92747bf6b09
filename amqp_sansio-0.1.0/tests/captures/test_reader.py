"""Capture files by their first octets."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.captures import build

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
