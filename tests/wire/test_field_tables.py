"""Tables of plain values, read and written quickly, mean what they mean with every check."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.steps import assert_linear

from amqp_sansio.errors import DecodeError, EncodeError
from amqp_sansio.limits import TABLE_ENTRIES, TABLE_OCTETS, Limits
from amqp_sansio.spec.fields import Field, FieldTable, as_fields
from amqp_sansio.spec.values import Datetime, List
from amqp_sansio.wire.codec import DEFAULT_READING, Reading
from amqp_sansio.wire.encoding import UNWRITABLE
from amqp_sansio.wire.field_tables import FlatTables, TableProfile
from amqp_sansio.wire.layouts.profiles import PROFILES
from amqp_sansio.wire.types import BAD, WIDEST

NAMES = st.sampled_from(["a", "bb", "é", ""])
VALUES = st.sampled_from([
    b"S\0\0\0\0", b"S\0\0\0\1x", b"S\0\0\0\2\xc3\xa9", b"S\0\0\0\1\xff", b"S\0\0\1\0" + bytes(256), b"t\0", b"t\1", b"t\2",
    b"I\0\0\0\1", b"I\xff\xff\xff\xff", b"b\xff", b"u\1\0", b"l" + bytes(8), b"V", b"F\0\0\0\0", b"x\0\0\0\0", b"?",
])  # fmt: skip
ENTRIES = st.lists(st.tuples(NAMES, VALUES), max_size=4)
TABLES = st.lists(ENTRIES, max_size=6)


def fresh(name: str = "rabbitmq") -> TableProfile:
    return TableProfile(name, PROFILES[name].letters, PROFILES[name].written)


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


RABBITMQ = PROFILES["rabbitmq"]
profiles = st.sampled_from(list(PROFILES.values()))

OCTETS: dict[str, st.SearchStrategy[bytes]] = {
    "boolean": st.binary(min_size=1, max_size=1),
    "int8": st.binary(min_size=1, max_size=1),
    "uint8": st.binary(min_size=1, max_size=1),
    "int16": st.binary(min_size=2, max_size=2),
    "uint16": st.binary(min_size=2, max_size=2),
    "int32": st.binary(min_size=4, max_size=4),
    "uint32": st.binary(min_size=4, max_size=4),
    "int64": st.binary(min_size=8, max_size=8),
    "uint64": st.binary(min_size=8, max_size=8),
    "float": st.binary(min_size=4, max_size=4) | st.sampled_from([b"\x7f\x80\0\1", b"\x7f\xc0\0\0"]),
    "double": st.binary(min_size=8, max_size=8) | st.just(b"\x7f\xf0\0\0\0\0\0\1"),
    "decimal": st.binary(min_size=5, max_size=5),
    "timestamp": st.binary(min_size=8, max_size=8),
    "text": st.binary(max_size=20).map(lambda octets: len(octets).to_bytes(4, "big") + octets),
    "octets": st.binary(max_size=20).map(lambda octets: len(octets).to_bytes(4, "big") + octets),
    "short-text": st.binary(max_size=20).map(lambda octets: bytes([len(octets)]) + octets),
    "void": st.just(b""),
}


def sized(content: bytes) -> bytes:
    return len(content).to_bytes(4, "big") + content


@st.composite
def tables(draw: st.DrawFn, profile: TableProfile, depth: int = 0) -> bytes:
    """The octets of a table, names that come twice included."""
    names = st.sampled_from(["a", "b", "", "é"]).map(lambda name: bytes([len(name.encode())]) + name.encode())
    return sized(b"".join(draw(st.lists(st.builds(bytes.__add__, names, values(profile, depth)), max_size=4))))


@st.composite
def values(draw: st.DrawFn, profile: TableProfile, depth: int) -> bytes:
    """A value behind its letter."""
    letter = draw(st.sampled_from([each for each, kind in profile.letters.items() if depth < 3 or kind in OCTETS]))
    kind = profile.letters[letter]
    if kind == "table":
        return letter.encode() + draw(tables(profile, depth + 1))
    if kind == "array":
        return letter.encode() + sized(b"".join(draw(st.lists(values(profile, depth + 1), max_size=3))))
    return letter.encode() + draw(OCTETS[kind])


@given(st.data(), profiles)
def test_what_is_read_is_written_again_to_the_same_octets(data: st.DataObject, profile: TableProfile) -> None:
    """Every letter of every profile, nested, with names that come twice; and no prefix of a table is one."""
    octets = data.draw(tables(profile))
    table, end = profile.read(b"xy" + octets + b"z", 2, 2 + len(octets))
    assert end == 2 + len(octets)
    assert profile.write(table) == octets
    for cut in range(len(octets)):
        with pytest.raises(DecodeError):
            profile.read(octets[:cut], 0, cut)


@given(profiles, st.binary(max_size=60))
def test_any_octets_are_a_table_or_an_error_that_says_where(profile: TableProfile, octets: bytes) -> None:
    octets = sized(octets)
    error = refusal(profile, octets)
    if error is None:
        table, end = profile.read(octets, 0, len(octets))
        assert end == len(octets)
        assert profile.write(table) == octets
    else:
        assert error.code == 502
        assert error.what.startswith("table")
        assert 0 <= error.octet <= len(octets)


def refusal(profile: TableProfile, octets: bytes) -> DecodeError | None:
    """Why octets are no table; None where they are one."""
    try:
        profile.read(octets, 0, len(octets))
    except DecodeError as error:
        return error
    return None


def test_the_reader_tells_that_the_size_of_a_short_text_is_missing() -> None:
    """Its size is the one octet behind the letter, which may not be taken from behind the table."""
    profile = PROFILES["0-9-1"]
    octets = sized(b"\x01ks")
    for behind in (b"", b"\0"):
        with pytest.raises(DecodeError, match="its size takes 1 octet, 0 are left") as raised:
            profile.read(octets + behind, 0, len(octets))
        assert (raised.value.what, raised.value.octet) == ("table['k']", len(octets))


NATIVES: list[tuple[object, bytes]] = [
    (True, b"t\x01"),
    (7, b"I\0\0\0\x07"),
    (-(1 << 31), b"I\x80\0\0\0"),
    (1 << 31, b"l\0\0\0\0\x80\0\0\0"),
    (1.5, b"d\x3f\xf8\0\0\0\0\0\0"),
    ("é", b"S\0\0\0\x02\xc3\xa9"),
    (b"\xff", b"x\0\0\0\x01\xff"),
    (Decimal("1.50"), b"D\x02\0\0\0\x96"),
    (Datetime(5), b"T\0\0\0\0\0\0\0\x05"),
    (None, b"V"),
    ([1, "x"], b"A\0\0\0\x0bI\0\0\0\x01S\0\0\0\x01x"),
    ({"k": None}, b"F\0\0\0\x03\x01kV"),
]


@pytest.mark.parametrize(("value", "octets"), NATIVES)
def test_natives_of_python_are_written_by_the_profile(value: object, octets: bytes) -> None:
    """And come back as they were."""
    assert RABBITMQ.write({"k": value}) == sized(b"\x01k" + octets)
    back = tuple(value) if isinstance(value, list) else value
    assert RABBITMQ.read(sized(b"\x01k" + octets), 0, len(octets) + 6)[0] == {"k": back}


LETTERS: list[tuple[bytes, object]] = [
    (b"b\xff", -1),
    (b"B\xff", 255),
    (b"s\xff\xfe", -2),
    (b"u\xff\xfe", 65534),
    (b"I" + b"\xff" * 4, -1),
    (b"i" + b"\xff" * 4, (1 << 32) - 1),
    (b"l" + b"\xff" * 8, -1),
    (b"L" + b"\xff" * 8, -1),
    (b"f\x3f\x80\0\0", 1.0),
    (b"t\x00", False),
    (b"t\x02", True),
    (b"S\0\0\0\x01\xff", b"\xff"),
    (b"x\0\0\0\x01a", b"a"),
    (b"D\x01\xff\xff\xff\xff", Decimal("429496729.5")),
    (b"T\xff" + bytes(7), Datetime(255 << 56)),
    (b"A\0\0\0\x04Vs\0\x01", List([None, 1])),
]


@pytest.mark.parametrize(("octets", "value"), LETTERS)
def test_each_letter_gives_a_plain_value_and_is_kept(octets: bytes, value: object) -> None:
    """Signs and meanings are the profile's; type and value are exactly these, and the octets come again."""
    octets = sized(b"\x01k" + octets)
    table, _ = RABBITMQ.read(octets, 0, len(octets))
    assert (table["k"], type(table["k"])) == (value, type(value))
    assert table.fields[0][1].letter.encode() == octets[6:7]
    assert RABBITMQ.write(table) == octets
    assert RABBITMQ.write({"inside": table}) == sized(b"\x06insideF" + octets)


@pytest.mark.parametrize("octets", [b"f\x7f\x80\0\1", b"d\x7f\xf0\0\0\0\0\0\1"])
def test_what_is_no_number_keeps_its_octets(octets: bytes) -> None:
    """Packing it again would change the bits of a signalling one."""
    octets = sized(b"\x01k" + octets)
    table, _ = RABBITMQ.read(octets, 0, len(octets))
    assert table["k"] != table["k"]
    assert RABBITMQ.write(table) == octets


def test_letters_mean_what_the_profile_says() -> None:
    """l is signed at RABBITMQ and not in the document; s is a number there and a text here; U is refused there."""
    octets = sized(b"\x01l" + b"l" + b"\xff" * 8)
    assert RABBITMQ.read(octets, 0, len(octets))[0]["l"] == -1
    assert PROFILES["0-9-1"].read(octets, 0, len(octets))[0]["l"] == (1 << 64) - 1
    assert RABBITMQ.read(sized(b"\x01ss\x01a"), 0, 9)[0]["s"] == 0x161
    assert PROFILES["0-9-1"].read(sized(b"\x01ss\x01a"), 0, 9)[0]["s"] == "a"
    with pytest.raises(DecodeError, match=r"table\['u'\] at octet 6: tables of rabbitmq have no letter 'U' \(502\)"):
        RABBITMQ.read(sized(b"\x01uU\0\0"), 0, 9)
    with pytest.raises(EncodeError, match=r"tables of 0-8 have no letter for bool True"):
        PROFILES["0-8"].write({"k": True})


CHOSEN: list[tuple[str, object, str]] = [
    ("rabbitmq", 1, "I"), ("rabbitmq", 1 << 31, "l"), ("0-9-1", -(1 << 31) - 1, "L"), ("0-9-1", 1 << 63, "l"), ("0-8", -1, "I"),
    ("0-8", b"x", "S"), ("0-9-1", b"x", "S"), ("0-8", datetime(2026, 1, 2, tzinfo=UTC), "T"), ("0-8", "é", "S"),
    ("0-9", {"x": 1}, "F"), ("0-9", Decimal("1.5"), "D"), ("rabbitmq", Field("", 7), "I"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value", "letter"), CHOSEN)
def test_a_value_without_a_letter_gets_that_of_the_profile(name: str, value: object, letter: str) -> None:
    octets = PROFILES[name].write({"k": value})
    table, _ = PROFILES[name].read(octets, 0, len(octets))
    assert table.fields[0][1].letter == letter
    assert PROFILES[name].write(table) == PROFILES[name].write(as_fields({"k": value}) or {}) == octets


@pytest.mark.parametrize(
    "value",
    [
        1 << 63, -(1 << 63) - 1, object(), Decimal("-1"), Decimal("1e3"), Decimal("NaN"), Field("B", 256), Field("Z", 1),
        Field("t", 256), Field("V", 1), Field("F", 1), Field("A", "x"), Field("s", "x"), Field("S", 1), {1: 2}, {"x" * 256: 1},
        [object()], Field("T", -1), Field("f", b"123"),
        datetime(2026, 1, 2), datetime(1969, 1, 2, tzinfo=UTC), Decimal(1 << 32), Decimal("1E-256"), Field("f", 1e300),
        "\ud800", Field("U", 1), Field("s", "text"), Field("t", "x", b"no octet"),
    ],
)  # fmt: skip
def test_a_value_that_cannot_be_written_is_named(value: object) -> None:
    with pytest.raises(EncodeError) as raised:
        RABBITMQ.write({"k": value})
    assert raised.value.what.startswith("table['k']")


@pytest.mark.parametrize(
    ("value", "rule"), [(datetime(2026, 1, 2), "a datetime with a time zone"), (Decimal("-1.5"), "a Decimal from 0 up")]
)
def test_an_error_tells_what_a_time_and_a_decimal_must_be(value: object, rule: str) -> None:
    with pytest.raises(EncodeError, match=f"is not a value of type .*, which is {rule}"):
        RABBITMQ.write({"k": value})


@pytest.mark.parametrize("more", [-1, 0, 1])
@pytest.mark.parametrize("kind", ["entries of a table", "an array", "tables inside"])
def test_entries_up_to_the_limit(kind: str, more: int) -> None:
    """An array counts as one, and so does each value in it."""
    count = TABLE_ENTRIES + more
    if kind == "entries of a table":
        octets = sized(b"\0V" * count)
    elif kind == "an array":
        octets = sized(b"\0A" + sized(b"V" * (count - 1)))
    else:
        octets = sized((b"\0F" + sized(b"\0V")) * (count // 2) + b"\0V" * (count % 2))
    if more <= 0:
        assert RABBITMQ.write(RABBITMQ.read(octets, 0, len(octets))[0]) == octets
        return
    with pytest.raises(DecodeError, match=f"limit TABLE_ENTRIES is {TABLE_ENTRIES}") as raised:
        RABBITMQ.read(octets, 0, len(octets))
    assert raised.value.code == 506


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_octets_up_to_the_limit(more: int) -> None:
    octets = sized(b"\x01kS" + sized(bytes(TABLE_OCTETS - 7 + more)))
    if more <= 0:
        assert RABBITMQ.write(RABBITMQ.read(octets, 0, len(octets))[0]) == octets
        return
    with pytest.raises(DecodeError, match=f"limit TABLE_OCTETS is {TABLE_OCTETS}") as raised:
        RABBITMQ.read(octets, 0, len(octets))
    assert raised.value.code == 506


@pytest.mark.parametrize("depth", [31, 32, 33])
@pytest.mark.parametrize("kind", ["F", "A"])
def test_tables_nest_as_deep_as_the_limit(depth: int, kind: str) -> None:
    value: object = {} if kind == "F" else []
    for _ in range(depth - 2):
        value = {"k": value} if kind == "F" else [value]
    octets = RABBITMQ.write({"k": value})
    if depth <= 32:
        assert RABBITMQ.write(RABBITMQ.read(octets, 0, len(octets))[0]) == octets
        return
    with pytest.raises(DecodeError, match="limit nesting is 32") as raised:
        RABBITMQ.read(octets, 0, len(octets), Reading.of(Limits(nesting=32)))
    assert raised.value.code == 506


def test_a_table_too_deep_to_be_written_is_an_error_of_ours() -> None:
    value: object = 1
    for _ in range(5000):
        value = {"k": value}
    with pytest.raises(EncodeError, match="nested too deep"):
        RABBITMQ.write({"k": value})
    for _ in range(5000):
        value = [value]
    with pytest.raises(EncodeError, match="nested too deep"):
        RABBITMQ.write({"k": value})


def test_strict_reading_refuses_a_name_that_comes_twice() -> None:
    octets = sized(b"\x01kV\x01kt\x01")
    assert RABBITMQ.read(octets, 0, len(octets))[0]["k"] is True
    with pytest.raises(DecodeError, match="a name comes twice"):
        RABBITMQ.read(octets, 0, len(octets), Reading(canonical=True))


@pytest.mark.parametrize("entry", [b"\x01kV", b"\x02kkA\0\0\0\x02VV", b"\x01kF\0\0\0\0"])
def test_the_cost_is_linear(entry: bytes) -> None:
    """Twice the octets cost twice the steps, to read and to write; names that come again included."""

    def read(size: int) -> Callable[[], object]:
        octets = sized(entry * size)
        return lambda: RABBITMQ.read(octets, 0, len(octets))

    def write(size: int) -> Callable[[], object]:
        table: dict[str, object] = {f"k{n}": [None, {}] for n in range(size)}
        return lambda: RABBITMQ.write(table)

    assert_linear(read, 300)
    assert_linear(write, 300)


@given(st.floats())
def test_floats_keep_their_octets(value: float) -> None:
    octets = RABBITMQ.write({"k": value})
    again = RABBITMQ.read(octets, 0, len(octets))[0]
    assert RABBITMQ.write(again) == octets
    assert math.isnan(value) or again["k"] == value
