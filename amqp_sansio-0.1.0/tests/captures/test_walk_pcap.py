"""From record to record of a pcap file."""

from __future__ import annotations

import re
import struct
from itertools import pairwise
from typing import Any

import pytest
from tests.captures import build

from amqp_sansio.captures import walk_pcap
from amqp_sansio.captures.packet import MAX_PACKET_OCTETS
from amqp_sansio.captures.pcap import MOST_ZEROS, ONLY_ZEROS
from amqp_sansio.captures.walk_pcap import HEADER_OCTETS, PcapWalk, pcap_walk

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
    empty = Counted(walk_pcap._EMPTY)
    monkeypatch.setattr(walk_pcap, "_EMPTY", empty)
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
