from __future__ import annotations

import gzip
import struct
from itertools import pairwise
from pathlib import Path

import pytest
from tests.captures.build import Record, pcap, pcapng, write

from amqp_sansio.captures.errors import CaptureError
from amqp_sansio.captures.packet import MAX_PACKET_OCTETS, Packet
from amqp_sansio.captures.pcap import MOST_ZEROS
from amqp_sansio.captures.reader import read_packets

PACKETS = [Record(1, bytes([number]) * (60 + number), 60 + number, 1_700_000_000_123_456_789 + number) for number in range(5)]


def read(path: Path, octets: bytes) -> tuple[list[Packet], list[str]]:
    warnings: list[str] = []
    return list(read_packets(write(path / "x", octets), warnings.append)), warnings


def fault(path: Path, octets: bytes) -> tuple[list[Packet], CaptureError]:
    packets: list[Packet] = []
    with pytest.raises(CaptureError) as caught:
        packets.extend(read_packets(write(path / "x", octets), print))
    return packets, caught.value


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("nano", [False, True])
def test_both_orders_and_precisions(tmp_path: Path, order: str, nano: bool) -> None:
    packets, warnings = read(tmp_path, pcap(PACKETS, order, nano))
    assert not warnings
    assert [packet.number for packet in packets] == [1, 2, 3, 4, 5]
    unit = 1 if nano else 1000
    assert [packet.time for packet in packets] == [each.time // unit * unit for each in PACKETS]
    assert [packet.data for packet in packets] == [each.data for each in PACKETS]
    assert packets[0].offset == 24
    assert packets[1].offset == 24 + 16 + 60


def test_captured_and_original_length(tmp_path: Path) -> None:
    (packet,), _ = read(tmp_path, pcap([Record(1, b"abc", 1500, 0)]))
    assert (packet.data, packet.original) == (b"abc", 1500)


def test_checksum_bits_beside_the_link_type(tmp_path: Path) -> None:
    octets = bytearray(pcap(PACKETS))
    octets[23] = 0x24
    assert [packet.link for packet in read(tmp_path, bytes(octets))[0]] == [1] * 5


def test_cut_at_every_octet(tmp_path: Path) -> None:
    whole = pcap(PACKETS)
    ends = [24]
    for each in PACKETS:
        ends.append(ends[-1] + 16 + len(each.data))
    for cut in range(len(whole)):
        if cut < 24:
            packets, error = fault(tmp_path, whole[:cut])
            assert (packets, error.packet) == ([], 0)
        else:
            packets, warnings = read(tmp_path, whole[:cut])
            assert len(packets) == sum(end <= cut for end in ends) - 1
            assert len(warnings) == (cut not in ends)


def test_a_length_that_swallows_other_records_is_damage(tmp_path: Path) -> None:
    """Not the end of a truncated file."""
    whole = bytearray(pcap(PACKETS * 3))
    at = 24 + 16 + len(PACKETS[0].data)
    whole[at + 8 : at + 12] = (len(whole) * 2).to_bytes(4, "little")
    packets, error = fault(tmp_path, bytes(whole))
    assert (len(packets), error.packet, error.octet) == (1, 2, at)
    assert "other records begin within them" in error.rule


@pytest.mark.parametrize("claimed", [MAX_PACKET_OCTETS - 1, MAX_PACKET_OCTETS, MAX_PACKET_OCTETS + 1])
def test_the_limit_of_a_packet(tmp_path: Path, claimed: int) -> None:
    octets = pcap(PACKETS[:2]) + struct.pack("<IIII", 0, 0, claimed, claimed) + bytes(claimed)
    if claimed > MAX_PACKET_OCTETS:
        packets, error = fault(tmp_path, octets)
        assert len(packets) == 2
        assert (error.packet, error.octet) == (3, 24 + 32 + 121)
        assert f"packet 3, octet {error.octet}" in str(error)
    else:
        assert len(read(tmp_path, octets)[0]) == 3


@pytest.mark.parametrize(
    ("octets", "words"),
    [
        (b"", "empty"),
        (b"\x1f\x8b\x08\0rest", "gzip stream is damaged"),
        (b"\x28\xb5\x2f\xfd", "zstd"),
        (b"PK\x03\x04", "neither a pcap nor a pcapng"),
        (b"\xd4\xc3", "neither a pcap nor a pcapng"),
        (pcap(PACKETS, version=(3, 0)), "version 3.0"),
        (b"\x34\xcd\xb2\xa1" + b"\0" * 20, "modified"),
    ],
)
def test_what_is_no_capture(tmp_path: Path, octets: bytes, words: str) -> None:
    packets, error = fault(tmp_path, octets)
    assert packets == []
    assert words in error.rule
    assert str(tmp_path / "x") in str(error)


def test_what_cannot_be_opened(tmp_path: Path) -> None:
    for path in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(CaptureError, match="cannot be opened"):
            next(read_packets(str(path), print))


def test_any_damage_gives_packets_or_a_capture_error(tmp_path: Path) -> None:
    # One octet of the file changed: nothing but CaptureError comes out, and the packets before the octet are as they were.
    for whole in (pcap(PACKETS), pcapng(PACKETS)):
        good = read(tmp_path, whole)[0]
        for at in range(len(whole)):
            spoilt = bytearray(whole)
            spoilt[at] ^= 0xFF
            path = write(tmp_path / "x", bytes(spoilt))
            packets: list[Packet] = []
            try:
                for packet in read_packets(path, lambda text: None):
                    packets.append(packet)
            except CaptureError:
                pass
            before = [packet for packet, after in pairwise(good) if after.offset <= at]
            assert packets[: len(before)] == before


@pytest.mark.parametrize("zeros", [MOST_ZEROS - 1, MOST_ZEROS, MOST_ZEROS + 1])
def test_records_of_nothing_but_zeros_are_no_capture(tmp_path: Path, zeros: int) -> None:
    """A few octets of gzip hold billions of them."""
    whole = gzip.compress(pcap(PACKETS) + bytes(16 * zeros))
    if zeros <= MOST_ZEROS:
        packets, warnings = read(tmp_path, whole)
        assert (len(packets), warnings) == (5 + zeros, [])
    else:
        packets, error = fault(tmp_path, whole)
        assert len(packets) == 5
        assert "nothing but zeros" in str(error)
