"""What is read by a shape is what is read entry by entry."""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.errors import DecodeError
from amqp_sansio.spec.values import Boolean, Map, Value
from amqp_sansio.wire.codec import Reading
from amqp_sansio.wire.types import BAD, NAMES, WIDEST, Shapes, decode_map

# Text with a policy is read entry by entry, without shapes.
ONE_BY_ONE = Reading(text="replace")
KEYS = st.sampled_from([b"a", b"bb", "é".encode(), b""])
VALUES = st.sampled_from([
    b"\x95\0\0", b"\x95\0\1x", b"\x95\0\2\xc3\xa9", b"\x95\1\0" + bytes(256), b"\x08\0", b"\x08\1", b"\x08\2",
    b"\x31" + bytes(8), b"\x31" + b"\xff" * 8, b"\x21\0\0\0\1", b"\x33" + bytes(8), b"\xf0", b"\xa8" + bytes(4),
    b"\x48" + bytes(16),
])  # fmt: skip
ENTRIES = st.lists(st.tuples(KEYS, VALUES), max_size=4)


def octets_of(entries: Iterable[tuple[bytes, bytes]]) -> bytes:
    items = [bytes([len(name)]) + name + value for name, value in entries]
    content = len(items).to_bytes(4, "big") + b"".join(items)
    return len(content).to_bytes(4, "big") + content


def told(octets: bytes, reading: Reading | None = None) -> str:
    try:
        found, end = decode_map(octets, 0, len(octets), 0, reading) if reading else decode_map(octets, 0, len(octets))
    except DecodeError:
        return "refused"
    return f"{type(found).__name__} {found!r} {[type(value) for value in found.values()]} {end}"


# Whatever maps came before, a map is read as it is entry by entry; cut off, or with a count that is wrong, it is refused.
@given(st.lists(ENTRIES, max_size=6))
def test_a_map_is_read_as_it_is_entry_by_entry(maps: list[list[tuple[bytes, bytes]]]) -> None:
    for octets in [octets_of(entries) for entries in maps for _ in range(2)]:
        assert told(octets) == told(octets, ONE_BY_ONE) != "refused"
        for cut in range(len(octets)):
            assert told(octets[:cut]) == "refused"
        assert told(octets[:7] + bytes([octets[7] + 1]) + octets[8:]) == "refused"


def test_a_boolean_that_is_neither_0_nor_1_is_kept() -> None:
    plain, odd = octets_of([(b"flag", b"\x08\1")]), octets_of([(b"flag", b"\x08\2")])
    for octets in [plain] * 3 + [odd] * 3:
        found, _ = decode_map(octets, 0, len(octets))
        assert found == Map({"flag": True if octets == plain else Boolean(2)})


@pytest.mark.parametrize("other", [b"\xf0", b"\x01\x05", b"\x31" + bytes(8)])
def test_a_value_shorter_than_the_shape_expects_is_read_for_what_it_is(other: bytes) -> None:
    for value in (b"\x08\1", b"\x31" + bytes(8), b"\x95\0\1x"):
        shaped, short = octets_of([(b"short", value)]), octets_of([(b"short", other)])
        assert [told(shaped) for _ in range(20)] == [told(shaped, ONE_BY_ONE)] * 20
        assert told(short) == told(short, ONE_BY_ONE) != "refused"


def fresh() -> Shapes:
    return Shapes(b"\x95\0", {0x31: Struct(">q")}, 0x08)


def read(shapes: Shapes, octets: bytes) -> tuple[dict[str, Value], int, bytes]:
    entries: dict[str, Value] = {}
    at, letters = shapes.read(octets, 8, len(octets), entries)
    return entries, at, letters


def test_what_is_not_plain_ends_the_reading_where_it_begins() -> None:
    plain = [(b"a", b"\x95\0\1x"), (b"b", b"\x31" + bytes(8))]
    shapes, end = fresh(), len(octets_of(plain))
    for _ in range(3):
        assert read(shapes, octets_of(plain)) == ({"a": "x", "b": 0}, end, b"\x95\x31")
    for other in (b"\x48" + bytes(16), b"\x08\2"):
        assert read(shapes, octets_of([*plain, (b"c", other)])) == ({"a": "x", "b": 0}, end, b"\x95\x31")


def test_what_goes_beyond_the_end_is_refused() -> None:
    octets = octets_of([(b"a", b"\x95\0\3xyz")])
    shapes = fresh()
    for _ in range(3):
        read(shapes, octets)
        try:
            shapes.read(octets, 8, len(octets) - 1, {})
        except BAD:
            continue
        raise AssertionError("read beyond its end")


def test_a_bounded_number_of_names_is_remembered() -> None:
    shapes = fresh()
    for number in range(3 * NAMES):
        read(shapes, octets_of([(b"%d" % number, b"\x08\0")]))
        assert len(shapes._names) <= NAMES
    wide = [(b"%d" % number, b"\x08\0") for number in range(WIDEST + 1)]
    for width in (WIDEST + 1, WIDEST):
        for _ in range(3):
            read(shapes, octets_of(wide[:width]))
        assert len(shapes._shapes[1].entries) == (width if width <= WIDEST else 0)
