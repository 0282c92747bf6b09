"""The quick way of a reader to session.completed, beside the one with every check."""

from __future__ import annotations

from struct import pack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amqp_sansio.limits import DEFAULT_LIMITS
from amqp_sansio.wire.assembly import Assembly
from amqp_sansio.wire.segments import ANSWER_SIZE as SIZE
from amqp_sansio.wire.segments import SegmentReader

PLAIN = bytes.fromhex("0f00001a 00000005 00000000 020a0100 0008 00000003 00000007")


def anything(octets: bytes) -> tuple[int, int] | None:
    """Whether such octets are found at all where what they say in class and code is not looked at: channel and head."""
    found = reader_of(octets).cut_answer()
    return None if found is None or found[1] != 0x020A0100 else found[:2]


def reader_of(octets: bytes) -> SegmentReader:
    reader = SegmentReader(DEFAULT_LIMITS)
    reader.receive(octets)
    return reader


def test_it_is_read_once_unless_it_is_put_back() -> None:
    reader = reader_of(PLAIN + PLAIN[:-1])
    assert reader.cut_answer() == (5, 0x020A0100, 3, 7, 0)
    reader.put_back_answer()
    assert (reader.offset, reader.frames) == (0, 0)
    assert reader.cut_answer() == (5, 0x020A0100, 3, 7, 0)
    assert (reader.offset, reader.frames, reader.cut_answer()) == (SIZE, 1, None)
    reader.receive(PLAIN[-1:])
    assert isinstance(reader.next(), Assembly)
    assert reader.offset == 2 * SIZE


@pytest.mark.parametrize(
    "field",
    ["flags", "kind", "size", "reserved octet", "track", "reserved word", "size of the set", "turned round", "half of all"],
)
def test_what_is_anything_else_is_left_to_every_check(field: str) -> None:
    octets = bytearray(PLAIN)
    match field:
        case "flags":
            octets[0] = 0x0E
        case "kind":
            octets[1] = 1
        case "size":
            octets[3] = SIZE + 1
        case "reserved octet":
            octets[4] = 1
        case "track":
            octets[5] = 1
        case "reserved word":
            octets[11] = 1
        case "size of the set":
            octets[17] = 0
        case "turned round":
            octets[18:] = pack(">II", 7, 3)
        case _:
            octets[18:] = pack(">II", 0, 1 << 31)
    assert anything(bytes(octets) + b"\0" * 8) is None
    octets[18:] = pack(">II", 0, (1 << 31) - 1)
    octets[:18] = PLAIN[:18]
    assert anything(bytes(octets)) is not None


def test_nothing_is_found_while_something_is_under_way() -> None:
    begun = reader_of(pack(">BBHBBHI", 0x0B, 1, 14, 0, 1, 5, 0) + b"\4\1" + PLAIN)
    assert begun.next() == Assembly(5, 0, 0, PLAIN[12:], None, None, 14, 14 + SIZE)  # a command that goes on behind it
    begun.receive(PLAIN)
    assert begun.cut_answer() is None
    told = reader_of(pack(">BBHBBHI", 0x0D, 1, 14, 0, 1, 5, 0) + b"\4\1" + PLAIN)
    told.assembler.queue.append(Assembly(0, 0, 0, b"", None, None, 0, 0))
    assert told.cut_answer() is None
    lost = SegmentReader(DEFAULT_LIMITS, tolerant=True)
    lost.lost(0)
    lost.receive(PLAIN)
    assert lost.cut_answer() is None
    traced = reader_of(PLAIN)
    traced.trace = []
    assert traced.cut_answer() is None


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.integers(0, SIZE - 1), st.integers(0, 255)), max_size=3), st.binary(max_size=30))
def test_what_is_found_is_what_every_check_lets_pass(changes: list[tuple[int, int]], behind: bytes) -> None:
    """Whatever the octets: where something is found, `next` finds the same control, on that channel, and reads as much."""
    octets = bytearray(PLAIN)
    for at, value in changes:
        octets[at] = value
    quick, slow = reader_of(bytes(octets) + behind), reader_of(bytes(octets) + behind)
    found = quick.cut_answer()
    if found is not None and not found[1] >> 32:
        channel, head, low, high, offset = found
        assembly = slow.next()
        assert isinstance(assembly, Assembly)
        assert (assembly.channel, assembly.payload, assembly.start) == (channel, pack(">IHII", head, 8, low, high), offset)
        assert (quick.offset, quick.frames, quick.buffered) == (slow.offset, slow.frames, slow.buffered)
