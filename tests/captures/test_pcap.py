from __future__ import annotations

import gzip
import re
import struct
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.captures import build
from tests.captures.build import Record, pcap, pcapng, write

from amqp_sansio.captures import pcap as walks
from amqp_sansio.captures.errors import CaptureError
from amqp_sansio.captures.pcap import HEADER_OCTETS, MOST_ZEROS, ONLY_ZEROS, PcapWalk, pcap_walk
from amqp_sansio.captures.reader import read_packets
from amqp_sansio.captures.walk import MAX_PACKET_OCTETS, Packet

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


# --- walks

MADE = build.records(build.conversation([b"x" * 300] * 200).segments)


def walk_of(octets: bytes) -> PcapWalk:
    walk, problem = pcap_walk(octets, len(octets))
    assert walk is not None, problem
    return walk


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("nano", [False, True])
def test_every_record_is_met_and_found(order: str, nano: bool) -> None:
    octets = build.pcap(MADE, order, nano)
    walk = walk_of(octets)
    assert walk == PcapWalk(order, 1 if nano else 1000, 1, build.START_NS // 10**9)
    run = walk.run(octets, HEADER_OCTETS, len(octets), len(octets), True)
    assert (len(run.positions), run.next, run.problem) == (len(MADE), len(octets), None)
    for here, there in pairwise(run.positions[:51]):
        assert walk.find(octets, here + 1, len(octets), True) == there
    # A run ends at the first record that starts where it should stop, or behind.
    assert walk.run(octets, 24, run.positions[7] - 3, len(octets), True).next == run.positions[7]


def test_a_window_that_is_not_the_end_asks_for_more() -> None:
    octets = build.pcap(MADE)
    walk = walk_of(octets)
    every = walk.run(octets, 24, len(octets), len(octets), True).positions
    for end in range(every[3], every[5] + 1):
        run = walk.run(octets[:end], 24, end, end, False)
        whole = [at for at, following in pairwise(every) if following <= end]
        assert (run.positions, run.next) == (whole, every[len(whole)])
        assert run.more == (end > run.next)
    assert walk.run(octets[: every[3] + 5], 24, every[3] + 5, every[3] + 5, True).problem is not None


@pytest.mark.parametrize("length", [MAX_PACKET_OCTETS - 1, MAX_PACKET_OCTETS, MAX_PACKET_OCTETS + 1])
def test_a_record_longer_than_a_packet_is_a_problem(length: int) -> None:
    octets = build.pcap(MADE[:1])[:24] + struct.pack("<IIII", 1, 1, length, length) + bytes(length)
    run = walk_of(octets).run(octets, 24, len(octets), len(octets), True)
    assert (run.problem is None) == (length <= MAX_PACKET_OCTETS)
    assert run.next == (len(octets) if run.problem is None else 24)


def test_a_header_that_cannot_be_used() -> None:
    octets = build.pcap(MADE[:1])
    assert pcap_walk(octets[:23], 23) == (None, "the pcap file header takes 24 octets, the file ends after 23")
    assert pcap_walk(build.pcap(MADE, version=(3, 0)), 99)[1] == "pcap version 3.0 is not known, only 2.x"


@pytest.mark.parametrize("zeros", [MOST_ZEROS - 1, MOST_ZEROS, MOST_ZEROS + 1])
def test_too_many_empty_records_are_a_problem(zeros: int) -> None:
    good = build.pcap(MADE[:3])
    for rest in (b"", good[24:]):
        octets = good + bytes(16 * zeros) + rest
        run = walk_of(octets).run(octets, 24, len(octets), len(octets), True)
        if zeros <= MOST_ZEROS:
            assert (run.problem, run.over, len(run.positions)) == (None, False, 3 + zeros + (3 if rest else 0))
        else:
            assert (run.problem, run.over, len(run.positions), run.next) == (ONLY_ZEROS, True, 3, len(good))


def test_too_many_empty_records_are_seen_by_a_window_that_holds_only_some_of_them() -> None:
    good = build.pcap(MADE[:3])
    octets = good + bytes(16 * MOST_ZEROS)
    run = walk_of(good).run(octets, 24, len(octets), len(octets), False)
    assert (run.problem, run.more, run.next) == (None, True, len(good))


class Counted:
    """A pattern that counts the octets it has matched."""

    def __init__(self, pattern: re.Pattern[bytes]) -> None:
        self.pattern = pattern
        self.octets = 0

    def match(self, *where: Any) -> re.Match[bytes] | None:
        found = self.pattern.match(*where)
        self.octets += 0 if found is None else found.end() - found.start()
        return found


def test_each_octet_of_empty_records_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    empty = Counted(walks._EMPTY)
    monkeypatch.setattr(walks, "_EMPTY", empty)
    octets = build.pcap(MADE[:3]) + bytes(16 * MOST_ZEROS)
    assert len(walk_of(octets).run(octets, 24, len(octets), len(octets), True).positions) == 3 + MOST_ZEROS
    assert empty.octets == 16 * MOST_ZEROS


def test_no_octet_of_zeros_is_taken_for_a_record_where_the_clock_is_near_0() -> None:
    walk = walk_of(build.pcap(MADE))._replace(clock=0)
    assert walk._candidates().search(bytes(200_000), 0, 200_000 - 16) is None


def test_zeros_and_noise_are_no_records() -> None:
    walk = walk_of(build.pcap(MADE))
    for octets in (bytes(200_000), bytes(range(256)) * 700, b"\1\0\0\0" * 50_000):
        assert walk.find(octets, 0, len(octets), True) is None


def test_records_of_another_time_are_not_found() -> None:
    octets = build.pcap(MADE)
    other = walk_of(octets)._replace(clock=1)
    assert other.find(octets, 24, len(octets), True) is None


def test_a_search_through_many_broken_chains_is_linear() -> None:
    """Chains of thousands of tiny records, none of which is long enough, each joined from every record in it."""
    walk = walk_of(build.pcap(MADE))
    record = struct.pack("<IIII", walk.clock, 1, 1, 1) + b"x"
    octets = (record * 3700 + b"\xff" * 99) * 12 + bytes(999)
    assert walk.find(octets, 0, len(octets), True) is None
    # And one that is long enough is found behind them, at its first record.
    assert walk.find(octets + record * 3900, 0, len(octets) + 3900 * 17, True) == len(octets)
