from __future__ import annotations

import struct
from itertools import pairwise
from pathlib import Path

import pytest
from tests.captures import build
from tests.captures.test_pcap import PACKETS, fault, read

from amqp_sansio.captures.errors import CaptureError
from amqp_sansio.captures.pcapng import MAX_BLOCK_OCTETS, MAX_INTERFACES, Interface, PcapngWalk
from amqp_sansio.captures.walk import Run


@pytest.mark.parametrize("order", ["<", ">"])
def test_three_kinds_of_packet_block(tmp_path: Path, order: str) -> None:
    octets = build.section(order) + build.interface(1, order)
    octets += build.enhanced(PACKETS[0], order) + build.old(PACKETS[1], order) + build.simple(PACKETS[2], order)
    packets, warnings = read(tmp_path, octets)
    assert not warnings
    assert [packet.data for packet in packets] == [each.data for each in PACKETS[:3]]
    assert [packet.time for packet in packets] == [PACKETS[0].time // 1000 * 1000, PACKETS[1].time // 1000 * 1000, 0]
    assert [packet.number for packet in packets] == [1, 2, 3]


@pytest.mark.parametrize(
    ("resolution", "offset", "ticks", "expected"),
    [
        (None, None, 1_700_000_000_123_456, 1_700_000_000_123_456_000),
        (9, None, 1_700_000_000_123_456_789, 1_700_000_000_123_456_789),
        (6, 100, 1_000_000, 101_000_000_000),
        (6, -100, 200_000_000, 100_000_000_000),
        (0x80 | 20, None, (5 << 20) + (1 << 19), 5_500_000_000),
        (0x80, None, 7, 7_000_000_000),
        (0, None, 7, 7_000_000_000),
        (12, None, 1_999, 1),
        (0x80 | 30, None, 1 << 31, 2_000_000_000),
    ],
)
def test_clocks(tmp_path: Path, resolution: int | None, offset: int | None, ticks: int, expected: int) -> None:
    octets = (
        build.section() + build.interface(1, resolution=resolution, offset=offset) + build.enhanced(PACKETS[0], ticks=ticks)
    )
    assert read(tmp_path, octets)[0][0].time == expected


def test_sections_of_either_order_with_their_own_interfaces(tmp_path: Path) -> None:
    octets = b""
    for order, kind in ((">", 101), ("<", 113), (">", 1)):
        octets += build.section(order) + build.interface(0, order) + build.interface(kind, order)
        octets += build.enhanced(PACKETS[1], order, which=1)
    packets, _ = read(tmp_path, octets)
    assert [packet.link for packet in packets] == [101, 113, 1]
    assert [packet.number for packet in packets] == [1, 2, 3]
    assert octets[packets[2].offset :].startswith(b"\0\0\0\6")


def test_a_length_that_swallows_other_blocks_is_damage(tmp_path: Path) -> None:
    """Not the end of a truncated file."""
    first = build.section() + build.interface(1) + build.enhanced(PACKETS[0])
    rest = b"".join([build.enhanced(each) for each in PACKETS])
    whole = bytearray(first + rest * 2)
    whole[len(first) + 4 : len(first) + 8] = (4 * len(whole)).to_bytes(4, "little")
    packets, error = fault(tmp_path, bytes(whole))
    assert (len(packets), error.octet) == (1, len(first))
    assert "other blocks begin within them" in error.rule


def test_unknown_blocks_are_stepped_over(tmp_path: Path) -> None:
    octets = build.section() + build.block(5, b"statistics") + build.interface(1) + build.block(0xBAD, b"x" * 70_000)
    octets += build.enhanced(PACKETS[0]) + build.block(4, b"")
    assert len(read(tmp_path, octets)[0]) == 1


def test_simple_packets_are_cut_at_the_snaplen(tmp_path: Path) -> None:
    packet = build.Record(1, b"x" * 64, 1500, 0)
    octets = build.section() + build.interface(1, snaplen=61) + build.simple(packet)
    (found,), _ = read(tmp_path, octets)
    assert (len(found.data), found.original) == (61, 1500)


def test_cut_at_every_octet(tmp_path: Path) -> None:
    head = build.section() + build.interface(1)
    blocks = [build.enhanced(each) for each in PACKETS]
    whole = head + b"".join(blocks)
    ends = [len(head) + sum(map(len, blocks[:count])) for count in range(6)]
    for cut in range(4, len(build.section())):
        with pytest.raises(CaptureError, match="inside its first section header"):
            read(tmp_path, whole[:cut])
    for cut in range(len(build.section()), len(whole)):
        packets, warnings = read(tmp_path, whole[:cut])
        assert len(packets) == sum(end <= cut for end in ends[1:])
        assert len(warnings) == (cut not in [len(build.section()), *ends])


@pytest.mark.parametrize(
    ("octets", "words"),
    [
        (build.section()[:8] + b"\1\2\3\4" + build.section()[12:], "byte-order magic"),
        (build.section() + build.interface(1) + build.enhanced(PACKETS[0], which=1), "names interface 1"),
        (build.section() + build.simple(PACKETS[0]), "names interface 0"),
        (build.section() + struct.pack("<II", 6, 13), "claims 13 octets"),
        (build.section() + struct.pack("<II", 6, 8), "claims 8 octets"),
        (build.section() + struct.pack("<II", 6, MAX_BLOCK_OCTETS + 4), "more than"),
        (build.section()[:-4] + struct.pack("<I", 32), "ends with the length 32"),
        (build.section() + build.interface(1) + build.block(6, b"\0" * 12), "too short"),
        (build.section() + build.interface(1) + build.block(6, struct.pack("<IIIII", 0, 0, 0, 9, 9) + b"\0" * 8), "claims 9"),
        (build.block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 2, 0, -1)), "version 2.0"),
        (build.section() + build.block(1, b"\1\0"), "interface description"),
        (build.section() + build.interface(1) * (MAX_INTERFACES + 1), "more than 4096 interfaces"),
    ],
)
def test_damage_is_named(tmp_path: Path, octets: bytes, words: str) -> None:
    packets, error = fault(tmp_path, octets)
    assert not packets
    assert words in error.rule


# --- walks

MADE = build.records(build.conversation([b"x" * 300] * 200).segments)


def run(octets: bytes, walk: PcapngWalk | None = None, at: int = 0, final: bool = True) -> Run:
    return (walk or PcapngWalk()).run(octets, at, len(octets), len(octets), final)


def walked(octets: bytes) -> tuple[list[int], list[str]]:
    walk, at = PcapngWalk(), 0
    positions: list[int] = []
    problems: list[str] = []
    while at < len(octets):
        found = run(octets, walk, at)
        positions += found.positions
        at = found.next
        if found.changed is not None:
            assert isinstance(found.changed, PcapngWalk)
            walk = found.changed
        if found.problem is not None:
            problems.append(found.problem)
            if found.resume is None:
                break
            at = found.resume
    return positions, problems


@pytest.mark.parametrize("order", ["<", ">"])
def test_every_packet_is_met_and_found(order: str) -> None:
    octets = build.pcapng(MADE, order) + build.block(5, b"x" * 9, order) + build.simple(MADE[0], order)
    positions, problems = walked(octets)
    assert (len(positions), problems) == (len(MADE) + 1, [])
    walk = PcapngWalk(order)
    for here, there in pairwise(positions[:51]):
        assert walk.find(octets, here + 1, len(octets), True) == there


def test_a_section_changes_what_follows() -> None:
    octets = build.pcapng(MADE[:3], ">")
    first = run(octets)
    assert first.changed == PcapngWalk(">")
    second = run(octets, PcapngWalk(">"), first.next)
    assert isinstance(second.changed, PcapngWalk)
    assert [each.link for each in second.changed.interfaces] == [1]


@pytest.mark.parametrize(
    ("octets", "words", "resumes"),
    [
        (struct.pack("<III", 0x0A0D0D0A, 28, 7) + bytes(16), "byte-order magic 07000000", False),
        (struct.pack("<II", 6, 30) + bytes(40), "claims 30 octets: not a multiple of 4", False),
        (struct.pack("<II", 6, 8) + bytes(40), "claims 8 octets: not a multiple of 4 from 12", False),
        (struct.pack("<II", 6, 40) + bytes(32), "ends with the length 0", False),
        (struct.pack("<II", 6, 80) + bytes(32), "ends inside its last block", False),
        (b"\6\0\0\0\1", "ends inside its last block", False),
        (build.block(1, b"1234"), "takes 20 octets at least", True),
        (build.block(0x0A0D0D0A, struct.pack("<I", 0x1A2B3C4D)), "takes 28 octets at least", True),
        (build.block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 2, 0, -1)), "version 2.0", True),
    ],
)
def test_what_is_wrong_is_reported(octets: bytes, words: str, resumes: bool) -> None:
    found = run(octets)
    assert found.problem is not None
    assert words in found.problem
    assert (found.next, found.resume) == (0, len(octets) if resumes else None)


@pytest.mark.parametrize("total", [MAX_BLOCK_OCTETS - 4, MAX_BLOCK_OCTETS, MAX_BLOCK_OCTETS + 4])
def test_a_block_has_a_limit(total: int) -> None:
    found = run(build.block(6, bytes(total - 12)))
    assert (found.problem is None) == (total <= MAX_BLOCK_OCTETS)


def test_a_window_that_is_not_the_end_asks_for_more() -> None:
    octets = build.pcapng(MADE[:4])
    positions, _ = walked(octets)
    walk = PcapngWalk("<")
    for end in range(positions[0], positions[2]):
        found = walk.run(octets[:end], positions[0], end, end, False)
        assert found.positions == [at for at, stop in pairwise(positions) if stop <= end]
        assert found.more == (found.next < end)
        assert found.problem is None


def test_a_search_through_many_broken_chains_is_linear() -> None:
    """Chains of thousands of tiny blocks, none of which is long enough, each joined from every block in it."""
    block = build.block(1, b"")
    octets = (block * 5300 + b"\xff" * 97) * 12 + bytes(999)
    walk = PcapngWalk("<")
    assert walk.find(octets, 0, len(octets), True) is None
    assert walk.find(octets + block * 5500, 0, len(octets) + 5500 * 12, True) == len(octets)
    # A section of the other byte order in a chain.
    other = octets + build.pcapng(MADE, ">") + build.pcapng(MADE)
    assert walk.find(other, 0, len(other), True) == len(octets)


@pytest.mark.parametrize("count", [MAX_INTERFACES - 1, MAX_INTERFACES, MAX_INTERFACES + 1])
def test_a_section_has_a_limit_of_interfaces(count: int) -> None:
    octets = build.interface(1)
    found = run(octets, PcapngWalk("<", (Interface(1, 0, 1, 0),) * (count - 1)))
    assert (found.problem is None) == (count <= MAX_INTERFACES)
    assert (found.resume or found.next) == len(octets)
    if count > MAX_INTERFACES:
        assert found.changed is not None
        assert found.changed.run(octets, 0, len(octets), len(octets), True).problem is None, "the walk reports it once"


def test_zeros_end_a_run_at_once_and_none_of_them_may_be_a_block() -> None:
    """There is no need of a limit as for the empty records of a pcap: a block of 0 octets is none."""
    octets = build.pcapng(MADE[:3])
    zeros = octets + bytes(1_000_000)
    run = PcapngWalk().run(zeros, 0, len(zeros), len(zeros), False)
    while run.changed is not None:
        run = run.changed.run(zeros, run.next, len(zeros), len(zeros), False)
    assert (run.problem, run.next) == ("a block claims 0 octets: not a multiple of 4 from 12 on", len(octets))
    assert PcapngWalk()._candidates().search(zeros, len(octets)) is None
