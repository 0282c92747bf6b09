"""Addresses as text, connections as numbers."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.captures import build
from tests.captures.columns.plainly import connection_of

from amqp_sansio.captures.columns.batch import Parsed, connections, note_batch, texts
from amqp_sansio.captures.columns.bundles import PLACED
from amqp_sansio.captures.columns.heads import records
from amqp_sansio.captures.layers import DAMAGED, IN_TWO, NAMED, LeftOut, host, packets_left_out
from amqp_sansio.captures.pcapng import Interface, PcapngWalk
from amqp_sansio.captures.tables import PACKET_NAMES, PACKETS, picked

ADDRESS = st.binary(min_size=4, max_size=4)
LONG = st.binary(min_size=16, max_size=16)
PORT = st.integers(0, 65535)


@given(st.one_of(st.tuples(ADDRESS, ADDRESS), st.tuples(LONG, LONG)), PORT, PORT)
def test_a_connection_has_one_number_in_both_directions_and_in_both_ways(
    ends: tuple[bytes, bytes], source: int, target: int
) -> None:
    """The number made of columns is the number made of values, and does not depend on who speaks."""
    here, there = (np.frombuffer(end, np.uint8).reshape(1, -1) for end in ends)
    ports = np.array([source], np.int64), np.array([target], np.int64)
    number = int(connections(here, ports[0], there, ports[1])[0])
    assert number == int(connections(there, ports[1], here, ports[0])[0])
    assert number == connection_of(ends[0], source, ends[1], target) != 0


def test_neighbours_have_different_numbers() -> None:
    seen = {
        connection_of(bytes([10, 0, 0, a]), port, bytes([10, 0, 0, b]), 5672)
        for a in range(20)
        for b in range(20, 40)
        for port in range(1000, 1050)
    }
    assert len(seen) == 20 * 20 * 50
    mapped = connection_of(bytes(12) + b"\x0a\0\0\1", 1, bytes(12) + b"\x0a\0\0\2", 2)
    assert mapped != connection_of(b"\x0a\0\0\1", 1, b"\x0a\0\0\2", 2)


def test_texts_are_those_people_write() -> None:
    rows = np.frombuffer(b"\x7f\0\0\1\x0a\0\0\2\x7f\0\0\1", np.uint8).reshape(3, 4)
    assert texts(rows).to_pylist() == ["127.0.0.1", "10.0.0.2", "127.0.0.1"]
    assert texts(np.zeros((1, 16), np.uint8)).to_pylist() == ["::"]
    assert host(bytes(15) + b"\1") == "::1"
    assert texts(np.zeros((0, 4), np.uint8)).to_pylist() == []


def parsed(count: int = 5, left_out: LeftOut | None = None) -> Parsed:
    """Packets with a block that claims more octets than it holds after the second, and a fragment after the third."""
    segment = build.Segment(True, 1, b"abc")
    blocks = [build.enhanced(build.Record(1, build.ethernet(build.ip(segment)), 60, at * 10**6)) for at in range(count)]
    blocks.insert(2, build.enhanced(build.Record(1, b"x" * 60, 60, 9**9)).replace(b"\x3c\0\0\0" * 2, b"\x63\0\0\0" * 2))
    blocks.insert(4, build.enhanced(build.Record(1, build.ethernet(build.ip(segment, fragment=9)), 60, 0)))
    at = [sum(map(len, blocks[:index])) for index in range(len(blocks))]
    octets = b"".join(blocks)
    found = records(octets, PcapngWalk("<", (Interface(1, 0, 10**6, 0),)), at)
    return Parsed(octets, found, "file", 3, base=1000, left_out=left_out)


def test_rows_stand_in_the_order_of_the_file() -> None:
    rows = parsed().batch(PACKETS).to_pylist()
    assert [row["offset"] for row in rows] == sorted(row["offset"] for row in rows)
    assert rows[0]["offset"] == 1000
    assert [row["note"] is None for row in rows] == [True, True, False, True, True, True]
    assert [row["payload"] for row in rows] == [b"abc", b"abc", b"", b"abc", b"abc", b"abc"]
    assert {row["file_id"] for row in rows} == {3}
    # A packet that is damaged may have any time.
    assert [row["latest_ns"] for row in rows] == [0, 1_000_000, 1_000_000, 2_000_000, 3_000_000, 4_000_000]


def test_a_damaged_block_is_not_counted_as_a_packet_that_was_cut() -> None:
    left_out = LeftOut()
    parsed(left_out=left_out)
    assert left_out.sentences() == [packets_left_out(1, IN_TWO)]


def test_the_first_damaged_blocks_have_a_row_each_and_the_others_are_counted() -> None:
    left_out = LeftOut()
    found = [parsed(left_out=left_out).column("note").to_pylist() for _ in range(NAMED + 2)]
    assert [sum("claims" in (each or "") for each in notes) for notes in found] == [1] * NAMED + [0, 0]
    assert left_out.sentences() == [packets_left_out(NAMED + 2, IN_TWO), packets_left_out(2, DAMAGED)]


def test_places_of_payloads_follow_from_their_records() -> None:
    rows = parsed().batch(PLACED).to_pylist()
    assert [(row["start"], row["length"]) for row in rows if row["note"] is None] == [(28 + 14 + 20 + 32, 3)] * 5
    assert [row["length"] for row in rows if row["note"] is not None] == [0]


def test_rows_that_are_kept_are_the_same() -> None:
    every = parsed().batch(PACKETS).to_pylist()
    mask = np.array([True, False, True, True, False, True])
    some = parsed()
    some.keep(mask)
    assert len(some) == 4
    assert some.batch(PACKETS).to_pylist() == [row for row, kept in zip(every, mask, strict=True) if kept]


def test_a_note_fills_the_other_columns() -> None:
    (row,) = note_batch(PACKETS, "file", 1, 2, 3, 4, "what").to_pylist()
    assert tuple(row) == PACKET_NAMES
    assert (row["capture"], row["file_id"], row["offset"], row["ts_ns"], row["note"]) == ("file", 1, 2, 3, "what")
    assert (row["connection"], row["src"], row["payload"]) == (0, "", b"")
    assert note_batch(picked("payload"), "", 0, 0, 0, 0, "what").to_pylist() == [{"payload": b""}]
