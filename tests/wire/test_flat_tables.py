"""Tables of plain values, read and written quickly, mean what they mean with every check."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.errors import EncodeError
from amqp_sansio.spec.fields import Field, FieldTable
from amqp_sansio.wire.field_interpreter import UNWRITABLE
from amqp_sansio.wire.field_tables import Profile
from amqp_sansio.wire.flat_tables import FlatTables
from amqp_sansio.wire.layouts.profiles import PROFILES
from amqp_sansio.wire.reading import DEFAULT_READING
from amqp_sansio.wire.shapes import WIDEST
from amqp_sansio.wire.types import BAD

NAMES = st.sampled_from(["a", "bb", "é", ""])
VALUES = st.sampled_from([
    b"S\0\0\0\0", b"S\0\0\0\1x", b"S\0\0\0\2\xc3\xa9", b"S\0\0\0\1\xff", b"S\0\0\1\0" + bytes(256), b"t\0", b"t\1", b"t\2",
    b"I\0\0\0\1", b"I\xff\xff\xff\xff", b"b\xff", b"u\1\0", b"l" + bytes(8), b"V", b"F\0\0\0\0", b"x\0\0\0\0", b"?",
])  # fmt: skip
ENTRIES = st.lists(st.tuples(NAMES, VALUES), max_size=4)
TABLES = st.lists(ENTRIES, max_size=6)


def fresh(name: str = "rabbitmq") -> Profile:
    return Profile(name, PROFILES[name].letters, PROFILES[name].written)


def octets_of(entries: list[tuple[str, bytes]]) -> bytes:
    content = b"".join([bytes([len(name.encode())]) + name.encode() + value for name, value in entries])
    return len(content).to_bytes(4, "big") + content


def told(table: FieldTable | None) -> object:
    return None if table is None else (repr(table), [(name, each.letter, repr(each.value)) for name, each in table.fields])


def quickly(flat: FlatTables, octets: bytes) -> tuple[FieldTable, int] | None:
    try:
        return flat.read(b"xy" + octets + b"S\0\0\0\0\0", 2, 2 + len(octets))
    except BAD:
        return None


# What is read quickly, whatever came before it and lies behind it, is what is read with every check; all cuts are refused.
@given(TABLES, st.sampled_from(list(PROFILES)))
def test_a_table_is_read_as_with_every_check(tables: list[list[tuple[str, bytes]]], name: str) -> None:
    profile = fresh(name)
    for octets in [octets_of(entries) for entries in tables for _ in range(2)]:
        found = quickly(profile._flat, octets)
        if found is not None:
            table, end = found
            assert end == 2 + len(octets)
            assert told(table) == told(FieldTable(fields_of(name, octets)))
            assert profile.write(table) == octets
        for cut in range(len(octets)):
            assert quickly(profile._flat, octets[:cut]) is None


def fields_of(name: str, octets: bytes) -> tuple[tuple[str, Field], ...]:
    """The fields by the way with every check, of a table that holds no others."""
    wide = b"\1z" + b"F\0\0\0\0" + octets[4:]  # a table inside makes it one that is not plain
    table, _ = fresh(name).read(len(wide).to_bytes(4, "big") + wide, 0, 4 + len(wide), DEFAULT_READING)
    return table.fields[1:]


def shape_of(flat: FlatTables, *tables: list[tuple[str, bytes]]) -> tuple[list[str], bytes]:
    """What is known behind these tables of those whose first name has one octet."""
    for entries in tables:
        assert quickly(flat, octets_of(entries)) is not None
    shape = flat._shapes._shapes[1]
    return [name for _, _, name, _, _, text in shape.entries for name in (name, text) if name], shape.letters


ONE = [("a", b"S\0\0\0\1x"), ("b", b"I\0\0\0\1"), ("c", b"t\1")]
OTHER = [("a", b"S\0\0\0\1x"), ("c", b"t\0")]


def test_a_table_whose_names_came_before_makes_a_shape_by_which_the_next_ones_are_read() -> None:
    flat = fresh()._flat
    assert shape_of(flat, ONE) == ([], b"")
    assert shape_of(flat, ONE) == (["a", "b", "c"], b"SIt")
    found = quickly(flat, octets_of(ONE))
    assert found is not None
    assert found[0].fields == (("a", Field("S", "x")), ("b", Field("I", 1)), ("c", Field("t", True)))
    assert flat._shapes._shapes[1].missed == 0
    assert shape_of(flat, *[[(f"{number}", b"t\1")] for number in range(9)]) == (["a", "b", "c"], b"SIt")


@pytest.mark.parametrize(
    "entries",
    [[("z", ONE[0][1]), *ONE[1:]], [ONE[0], ("z", ONE[1][1]), ONE[2]], [*ONE[:2], ("c", b"b\1")], [*ONE[:2], ("b", b"t\1")],
     [("a", b"S\0\0\1\0" + bytes(256)), *ONE[1:]], ONE[:2], [*ONE, ("d", b"t\1")], [*ONE, ONE[0]], OTHER, []],
)  # fmt: skip
def test_a_table_that_goes_on_unlike_the_shape_is_read_for_what_it_is(entries: list[tuple[str, bytes]]) -> None:
    profile = fresh()
    shape_of(profile._flat, ONE, ONE)
    octets = octets_of(entries)
    table, end = profile.read(octets, 0, len(octets))
    assert end == len(octets)
    assert told(table) == told(FieldTable(fields_of("rabbitmq", octets)))


def test_a_shape_that_comes_no_more_makes_room_for_the_one_that_does() -> None:
    flat = fresh()._flat
    assert shape_of(flat, ONE, ONE, *[OTHER] * 15) == (["a", "b", "c"], b"SIt")
    assert shape_of(flat, OTHER) == (["a", "c"], b"St")


@pytest.mark.parametrize("width", [WIDEST - 1, WIDEST, WIDEST + 1])
def test_the_shape_of_a_wide_table_is_not_remembered(width: int) -> None:
    flat = fresh()._flat
    wide = [(chr(0x21 + number), b"t\1") for number in range(width)]
    assert len(shape_of(flat, wide, wide, wide)[0]) == (width if width <= WIDEST else 0)


def test_so_many_names_are_remembered() -> None:
    flat = fresh()._flat
    for number in range(3000):
        octets = octets_of([(f"{number}", b"I\0\0\0\1")])
        assert quickly(flat, octets)
        assert flat.write({f"{number}": 1}) == octets
        assert max(len(flat._shapes._names), len(flat._heads)) <= 1024
    assert min(len(flat._shapes._names), len(flat._heads)) > 1


@given(st.dictionaries(st.sampled_from(["", "a", "é", "x" * 256, "\ud800", 1]), st.sampled_from(
    ["", "é", "x" * 255, "x" * 256, "\ud800", 1, True, -1, 1 << 31, 1 << 63, 1.5, b"x", None, [1], {"in": 1}, object()]
)))  # fmt: skip
def test_a_table_is_written_as_with_every_check(table: dict[str, object]) -> None:
    profile = fresh()
    for _ in range(2):
        try:
            quick: object = profile._flat.write(table)
        except (EncodeError, *UNWRITABLE):
            quick = None
        try:
            slow: object = profile._table(table, 0)
        except EncodeError:
            slow = None
        assert quick == slow
