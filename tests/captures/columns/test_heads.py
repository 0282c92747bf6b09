"""The first octets of many records."""

from __future__ import annotations

import numpy as np
import pytest
from tests.captures import build
from tests.steps import steps

from amqp_sansio.captures.columns.heads import gathered, records, words
from amqp_sansio.captures.pcapng import Interface, PcapngWalk


def test_rows_behind_the_end_are_filled_with_zeros() -> None:
    octets = bytes(range(100))
    for at in ([], [0], [99], [0, 50, 90, 93, 99, 100]):
        rows = gathered(octets, np.array(at, np.int64), 8)
        assert [bytes(row) for row in rows] == [octets[place : place + 8].ljust(8, b"\0") for place in at]


def test_words_of_both_orders() -> None:
    rows = gathered(b"\1\2\3\4\5\6", np.array([0, 1], np.int64), 5)
    assert words(rows, 1, ">u2").tolist() == [0x0203, 0x0304]
    assert words(rows, 0, "<u4").tolist() == [0x04030201, 0x05040302]


@pytest.mark.parametrize("per_second", [1, 10, 1024, 10**6, 10**9, 10**10, 1 << 40])
def test_times_are_those_of_the_interface(per_second: int) -> None:
    interface = Interface(1, 0, per_second, -(5 * 10**9))
    ticks = [0, 1, 999, per_second * 7 + 1, min(per_second * 1_600_000_000 + 3, 2**64 - 1)]
    packet = build.Record(1, b"x", 1, 0)
    blocks = [build.enhanced(packet, ticks=each) for each in ticks]
    octets = b"".join(blocks)
    at = [sum(map(len, blocks[:index])) for index in range(len(blocks))]
    found = records(octets, PcapngWalk("<", (interface,)), at)
    assert found.time.tolist() == [interface.nanoseconds(each) for each in ticks]


def test_a_time_that_no_column_holds_is_bounded() -> None:
    octets = build.enhanced(build.Record(1, b"x", 1, 0), ticks=2**64 - 1)
    assert records(octets, PcapngWalk("<", (Interface(1, 0, 1, 0),)), [0]).time.tolist() == [2**62]


def test_blocks_that_contradict_themselves() -> None:
    good = build.enhanced(build.Record(1, b"x" * 20, 20, 0))
    short = build.block(6, b"1234")
    long = bytearray(good)
    long[20:24] = (99).to_bytes(4, "little")
    octets = good + short + bytes(long)
    at = [0, len(good), len(good + short)]
    wrong = records(octets, PcapngWalk("<", (Interface(1, 0, 10**6, 0),)), at).wrong
    assert sorted(wrong) == [1, 2]
    assert "too short" in wrong[1]
    assert "claims 99 octets" in wrong[2]


def test_interfaces_that_no_packet_names_cost_nothing() -> None:
    packet = build.enhanced(build.Record(1, b"x", 1, 0))
    few, many = [PcapngWalk("<", (Interface(1, 0, 10**6, 0),) * count) for count in (2, 2000)]
    assert steps(lambda: records(packet, many, [0])) <= 1.2 * steps(lambda: records(packet, few, [0]))
