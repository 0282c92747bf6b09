"""Addresses as text, connections as numbers."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.captures.columns.plainly import connection_of

from amqp_sansio.captures.columns.addresses import connections, text_of, texts

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
    assert text_of(bytes(15) + b"\1") == "::1"
    assert texts(np.zeros((0, 4), np.uint8)).to_pylist() == []
