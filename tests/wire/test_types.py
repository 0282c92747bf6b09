"""The type system: every edge of maps, lists, arrays, structs, and the promise that nothing but DecodeError comes out."""

from __future__ import annotations

import math
import pickle
import struct
import uuid
from collections.abc import Callable
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.steps import assert_linear
from tests.wire.strategies import values

from amqp_sansio.errors import DecodeError, EncodeError
from amqp_sansio.spec import values as v
from amqp_sansio.spec.codes import TypeCode
from amqp_sansio.spec.dtx import Xid
from amqp_sansio.spec.values import Array, List, Map, Value
from amqp_sansio.wire.codec import DEFAULT_READING, Reading
from amqp_sansio.wire.encoding import (
    encode_list,
    encode_map,
    encode_struct32,
    encode_value,
    type_code_of,
)
from amqp_sansio.wire.types import decode_map, decode_struct32, decode_value


def decoded(code: int, octets: bytes, reading: Reading = DEFAULT_READING) -> Value:
    """The value that takes all of the octets."""
    value, end = decode_value(code, b"\xee" + octets + b"\xee", 1, 1 + len(octets), 0, reading)
    assert end == 1 + len(octets)
    return value


def wrong(code: int, octets: bytes, reading: Reading = DEFAULT_READING) -> DecodeError:
    """The error of a value that cannot be read."""
    with pytest.raises(DecodeError) as caught:
        decode_value(code, octets, 0, len(octets), 0, reading)
    return caught.value


EXAMPLES: list[tuple[int, str, Value]] = [
    (0x00, "7f", v.Bin8(b"\x7f")),
    (0x01, "80", v.Int8(-128)),
    (0x02, "ff", v.Uint8(255)),
    (0x04, "a4", v.Char("€")),
    (0x08, "01", True),
    (0x08, "00", False),
    (0x08, "80", v.Boolean(128)),
    (0x10, "0102", v.Bin16(b"\1\2")),
    (0x11, "8000", v.Int16(-32768)),
    (0x12, "ffff", v.Uint16(65535)),
    (0x20, "01020304", v.Bin32(b"\1\2\3\4")),
    (0x21, "80000000", v.Int32(-(1 << 31))),
    (0x22, "ffffffff", v.Uint32((1 << 32) - 1)),
    (0x23, "3f800000", v.Float(1.0)),
    (0x27, "0001f600", v.CharUtf32("\U0001f600")),
    (0x30, "0102030405060708", v.Bin64(bytes(range(1, 9)))),
    (0x31, "8000000000000000", -(1 << 63)),
    (0x31, "7fffffffffffffff", (1 << 63) - 1),
    (0x32, "0000000000000005", v.Uint64(5)),
    (0x32, "ffffffffffffffff", (1 << 64) - 1),
    (0x33, "7ff0000000000000", math.inf),
    (0x38, "ffffffffffffffff", v.Datetime(-1)),
    (0x40, "00" * 16, v.Bin128(bytes(16))),
    (0x48, "12345678123456781234567812345678", uuid.UUID("12345678-1234-5678-1234-567812345678")),
    (0x50, "00" * 32, v.Bin256(bytes(32))),
    (0x60, "00" * 64, v.Bin512(bytes(64))),
    (0x70, "00" * 128, v.Bin1024(bytes(128))),
    (0x80, "0161", v.Vbin8(b"a")),
    (0x84, "01a4", v.Str8Latin("€")),
    (0x85, "02c3a9", v.Str8("é")),
    (0x86, "0400410042", v.Str8Utf16("AB")),
    (0x86, "06feff00410042", v.Str8Utf16("AB", b"\xfe\xff\0A\0B")),
    (0x86, "06fffe41004200", v.Str8Utf16("AB", b"\xff\xfeA\0B\0")),
    (0x90, "000161", b"a"),
    (0x94, "0001a4", v.Str16Latin("€")),
    (0x95, "0002c3a9", "é"),
    (0x96, "00020041", v.Str16Utf16("A")),
    (0x96, "0000", v.Str16Utf16("")),
    (0xA0, "0000000161", v.Vbin32(b"a")),
    (0xA8, "00000000", v.NullMap()),
    (0xA8, "0000000400000000", Map()),
    (0xA8, "000000080000000101610802", Map({"a": v.Boolean(2)})),
    (0xA9, "00000000", v.NullList()),
    (0xA9, "0000000400000000", List()),
    (0xA9, "0000000600000002f0f1", List([None, v.Bit()])),
    (0xAA, "00000000", v.NullArray()),
    (0xAA, "00000005f000000000", Array(0xF0)),
    (0xAA, "0000000702000000020102", Array(0x02, [v.Uint8(1), v.Uint8(2)])),
    (0xAA, "000000059500000000", Array(0x95)),
    (0xAB, "00000000", v.NullStruct()),
    (0xAB, "000000047f010102", v.UnknownStruct(0x7F, 1, b"\1\2")),
    (0xC0, "0102030405", v.Bin40(b"\1\2\3\4\5")),
    (0xC8, "0200000065", v.Dec32("1.01")),
    (0xC8, "ff80000000", v.Dec32(Decimal((1, tuple(map(int, str(1 << 31))), -255)))),
    (0xD0, "010203040506070809", v.Bin72(bytes(range(1, 10)))),
    (0xD8, "02ffffffffffffff9b", Decimal("-1.01")),
    (0xD8, "050000000000000000", Decimal("0E-5")),
    (0xF0, "", None),
    (0xF1, "", v.Bit()),
]


@pytest.mark.parametrize(("code", "octets", "value"), EXAMPLES)
def test_examples_both_directions(code: int, octets: str, value: Value) -> None:
    """Every type decodes to the value that encodes to the same octets."""
    got = decoded(code, bytes.fromhex(octets))
    assert got == value
    assert type(got) is type(value)
    assert encode_value(got) == (code, bytes.fromhex(octets))
    assert encode_value(value) == (code, bytes.fromhex(octets))
    assert pickle.loads(pickle.dumps(got)) == got
    assert encode_value(pickle.loads(pickle.dumps(got))) == (code, bytes.fromhex(octets))


def test_examples_cover_all_types() -> None:
    """All 42 types that have a code are among the examples."""
    assert {code for code, _, _ in EXAMPLES} == {int(code) for code in TypeCode}
    assert len(TypeCode) == 42


@given(values())
def test_round_trip(value: Value) -> None:
    """What any value is encoded to decodes to an equal value of the same class, which is encoded to the same octets."""
    code, octets = encode_value(value)
    again = decoded(code, octets)
    assert again == value
    assert type_code_of(again) == code
    assert encode_value(again) == (code, octets)


@given(st.integers(0, 255), st.binary(max_size=200))
def test_nothing_but_decode_error(code: int, octets: bytes) -> None:
    """Whatever octets come, a value or a DecodeError comes out; and a value is encoded to the octets that it took."""
    try:
        value, end = decode_value(code, octets, 0, len(octets))
    except DecodeError:
        return
    if type_code_of(value) == code and b"\xab" not in octets and code != 0xAB:
        assert encode_value(value)[1] == octets[:end]


@given(values(), st.data())
def test_mutations(value: Value, data: st.DataObject) -> None:
    """One octet changed, or the end missing: a value within the octets or a DecodeError."""
    code, octets = encode_value(value)
    if not octets:
        return
    at = data.draw(st.integers(0, len(octets) - 1))
    changed = octets[:at] + bytes([data.draw(st.integers(0, 255))]) + octets[at + 1 :]
    for sample in (changed, octets[:at]):
        try:
            _, end = decode_value(code, sample, 0, len(sample))
        except DecodeError as why:
            end = why.octet
        assert 0 <= end <= len(sample)


@given(values())
def test_no_prefix_decodes(value: Value) -> None:
    """No proper prefix of a value is a value; octets behind the end of the value are not looked at."""
    code, octets = encode_value(value)
    for length in range(len(octets)):
        with pytest.raises(DecodeError):
            decode_value(code, octets, 0, length)
        with pytest.raises(DecodeError):
            decode_value(code, octets[:length], 0, length)


@pytest.mark.parametrize(
    ("code", "octets", "rule"),
    [
        (0x95, b"\0\5ab", "needs 5 octets, 2 are left"),
        (0x85, b"\5ab", "needs 5 octets, 2 are left"),
        (0x95, b"\0\5", "needs 5 octets, 0 are left"),
        (0xA0, b"\0\0\0", "its length takes 4 octets, 3 are left"),
    ],
)
def test_an_error_tells_how_many_octets_a_value_needs_and_how_many_are_left(code: int, octets: bytes, rule: str) -> None:
    assert wrong(code, octets).rule == rule
    with pytest.raises(DecodeError, match=rule):
        decode_value(code, octets + b"of the next", 0, len(octets))


@pytest.mark.parametrize("code", [0xB0, 0xBF, 0xE0, 0xEF])
def test_codes_of_no_width(code: int) -> None:
    """The nibbles B and E say no width, so what follows cannot be passed over."""
    assert "B or E" in wrong(code, bytes(300)).rule
    assert wrong(0xAA, b"\0\0\0\5" + bytes([code]) + bytes(4)).code == 503
    with pytest.raises(EncodeError):
        encode_value(v.OpaqueValue(code, b""))


@pytest.mark.parametrize(
    ("code", "width"),
    [
        (0x0F, 1),
        (0x1F, 2),
        (0x2F, 4),
        (0x3F, 8),
        (0x4F, 16),
        (0x5F, 32),
        (0x6F, 64),
        (0x7F, 128),
        (0xCF, 5),
        (0xDF, 9),
        (0xFF, 0),
    ],
)
def test_unknown_codes_of_fixed_width(code: int, width: int) -> None:
    """The high nibble of an unknown code says how many octets it takes."""
    value = decoded(code, bytes(width))
    assert value == v.OpaqueValue(code, bytes(width))
    assert encode_value(value) == (code, bytes(width))
    with pytest.raises(EncodeError):
        encode_value(v.OpaqueValue(code, bytes(width + 1)))


@pytest.mark.parametrize(("code", "octets"), [(0x87, b"\2ab"), (0x97, b"\0\2ab"), (0xAF, b"\0\0\0\2ab")])
def test_unknown_codes_of_variable_width(code: int, octets: bytes) -> None:
    """The high nibble of an unknown code says how long its length is."""
    assert decoded(code, octets) == v.OpaqueValue(code, b"ab")
    assert encode_value(v.OpaqueValue(code, b"ab")) == (code, octets)


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("code", [0xA8, 0xA9, 0xAA])
def test_sizes_too_small_for_the_count(code: int, size: int) -> None:
    """A size of 1 to 3 has no room for what must be there."""
    wrong(code, struct.pack(">I", size) + bytes(20))


def test_array_of_size_four() -> None:
    """An array needs five octets, element code and count."""
    assert wrong(0xAA, bytes.fromhex("0000000495000000")).code == 503


@pytest.mark.parametrize(
    ("code", "octets"),
    [
        (0xA8, "0000000700000001016108"),  # the value is missing
        (0xA8, "0000000800000002016108010161"),  # more entries than size
        (0xA8, "00000009000000010161080100"),  # an octet left over
        (0xA8, "000000080000000001610801"),  # count 0 and octets
        (0xA9, "0000000500000002f0"),
        (0xA9, "0000000600000001f0f0"),
        (0xA9, "000000050000000131"),  # the element goes beyond
        (0xAA, "0000000702000000010102"),
        (0xAA, "0000000702000000030102"),
        (0xAA, "0000000895000000010005"),
        (0xAA, "00000007950000000100056162636465"),
    ],
)
def test_count_and_size_disagree(code: int, octets: str) -> None:
    """A count that its size contradicts is an error, also where more octets follow."""
    wrong(code, bytes.fromhex(octets))
    wrong(code, bytes.fromhex(octets) + bytes(40))


def test_huge_counts_cost_nothing() -> None:
    """A count that cannot fit is refused before anything is made."""
    for code, octets in [(0xA8, "00000010ffffffff"), (0xA9, "00000010ffffffff"), (0xAA, "0000001002ffffffff")]:
        assert "do not fit" in wrong(code, bytes.fromhex(octets) + bytes(20)).rule


@pytest.mark.parametrize("code", [0xF0, 0xF1, 0xFA])
def test_zero_width_elements(code: int) -> None:
    """Elements without octets are limited: one less and just as many pass, one more is an error that names the limit."""
    for limit in (7, DEFAULT_READING.zero_width_elements):
        reading = Reading(zero_width_elements=limit)
        for count in (limit - 1, limit):
            got = decoded(0xAA, struct.pack(">IBI", 5, code, count), reading)
            assert isinstance(got, Array)
            assert len(got) == count
        why = wrong(0xAA, struct.pack(">IBI", 5, code, limit + 1), reading)
        assert "zero_width_elements" in why.rule
        assert why.code == 506


@pytest.mark.parametrize("kind", ["map", "list", "array", "struct"])
def test_nesting(kind: str) -> None:
    """Depth is limited: limit - 1 and limit pass, limit + 1 names the limit."""

    def nest(depth: int) -> tuple[int, bytes]:
        code, octets = 0xA9, struct.pack(">II", 4, 0)
        for _ in range(depth - 1):
            if kind == "map":
                octets = struct.pack(">II", len(octets) + 7, 1) + b"\x01k" + bytes([code]) + octets
                code = 0xA8
            elif kind == "list":
                octets = struct.pack(">II", len(octets) + 5, 1) + bytes([code]) + octets
            elif kind == "array":
                octets = struct.pack(">IBI", len(octets) + 5, code, 1) + octets
                code = 0xAA
            else:
                inner = struct.pack(">II", len(octets) + 7, 1) + b"\x01k" + bytes([code]) + octets
                octets = struct.pack(">IHH", len(inner) + 4, 0x0403, 0x0001) + inner
                code = 0xAB
        return code, octets

    for limit in (4, 32):
        reading = Reading(nesting=limit)
        passes = limit if kind != "struct" else (limit + 1) // 2
        for depth in (passes - 1, passes):
            code, octets = nest(depth)
            decoded(code, octets, reading)
        code, octets = nest(passes + 1)
        why = wrong(code, octets, reading)
        assert kind == "struct" or "limit nesting" in why.rule
    code, octets = nest(5000)
    wrong(code, octets)


def test_double_keys() -> None:
    """The last of two equal keys counts; the octets stay what they were; strict reading refuses it (531)."""
    octets = bytes.fromhex("0000000c000000020161080101610800")
    value = decoded(0xA8, octets)
    assert value == {"a": False}
    assert encode_value(value) == (0xA8, octets)
    assert pickle.loads(pickle.dumps(value)) == value
    assert wrong(0xA8, octets, Reading(canonical=True)).code == 531


@pytest.mark.parametrize(
    ("code", "octets"),
    [
        (0x85, "01ff"),
        (0x95, "0001ff"),
        (0x95, "0003eda080"),  # a surrogate
        (0x86, "03004100"),  # odd length
        (0x96, "0002d800"),
        (0x27, "0000d800"),
        (0x27, "0000dfff"),
        (0x27, "00110000"),
        (0xA8, "000000090000000101ff080100"),
    ],
)
def test_bad_text(code: int, octets: str) -> None:
    """Text and characters that are none are outside the type's values: 531."""
    assert wrong(code, bytes.fromhex(octets)).code == 531


def test_lossy_text() -> None:
    """The lossy reading keeps each octet that is no UTF-8 as a surrogate, in texts, keys and values."""
    lossy = Reading(text="surrogateescape")
    assert decoded(0x95, b"\0\2a\xff", lossy) == "a\udcff"
    assert decoded(0x85, b"\2a\xff", lossy) == "a\udcff"
    octets = bytes.fromhex("0000000c0000000102ff61950002fe62")
    assert decoded(0xA8, octets, lossy) == {"\udcffa": "\udcfeb"}
    with pytest.raises(EncodeError):
        encode_value("a\udcff")
    with pytest.raises(EncodeError):
        encode_map({"\udcffa": 1})


def test_nan_keeps_its_octets() -> None:
    """A NaN is equal to a NaN of the same octets only, and is encoded as it came."""
    for code, octets in [(0x23, "7fa00001"), (0x23, "ffc00000"), (0x33, "7ff4000000000001"), (0x33, "fff8000000000000")]:
        value = decoded(code, bytes.fromhex(octets))
        assert isinstance(value, float)
        assert math.isnan(value)
        assert encode_value(value) == (code, bytes.fromhex(octets))
        assert value == decoded(code, bytes.fromhex(octets))
        assert hash(value) == hash(decoded(code, bytes.fromhex(octets)))
        assert encode_value(pickle.loads(pickle.dumps(value))) == (code, bytes.fromhex(octets))
    assert decoded(0x23, bytes.fromhex("7fa00001")) != decoded(0x23, bytes.fromhex("7fa00002"))
    assert encode_value(math.nan)[0] == 0x33


def test_utf16_that_begins_with_a_mark() -> None:
    """Text whose first character is a byte order mark is still that text after a round trip."""
    for text in ("\ufeffa", "\ufffea"):
        code, octets = encode_value(v.Str16Utf16(text))
        assert decoded(code, octets) == text


def test_containers_at_an_offset() -> None:
    """The public readers read at an offset and answer the offset behind."""
    octets = b"zz" + encode_map({"a": 1}) + encode_list([1])
    mapped, p = decode_map(octets, 2, len(octets))
    listed, q = decode_value(0xA9, octets, p, len(octets))
    assert (mapped, listed, q) == (Map({"a": 1}), List([1]), len(octets))
    assert decode_value(0xAA, b"\0\0\0\0", 0, 4) == ((), 4)
    got, end = decode_struct32(encode_struct32(Xid(1, b"g", b"b")) + b"rest", 0, 21)
    assert got == Xid(1, b"g", b"b")
    assert end == 16


def test_struct_passes_over_what_it_does_not_know() -> None:
    """Flags without a field and octets behind the last known field of a sized struct are ignored."""
    octets = bytes.fromhex("00000009060101ff0007aabbcc")
    value, end = decode_struct32(octets, 0, len(octets))
    assert (repr(value), end) == ("XaResult(status=7)", len(octets))


@pytest.mark.parametrize(
    "octets", ["00000001", "0000000104", "000000020601", "00000003060101", "0000000406010100", "000000050601010000"]
)
def test_structs_too_short(octets: str) -> None:
    """A struct whose size has no room for code, flags or its fields is an error, also when more octets follow."""
    for more in ("", "00" * 20):
        data = bytes.fromhex(octets + more)
        with pytest.raises(DecodeError):
            decode_struct32(data, 0, len(data))


def nested(depth: int, double: bytes) -> bytes:
    """Maps in one another; in each, a key that comes `double`."""
    value = b"\x08\1"
    for _ in range(depth):
        content = double + b"\1a" + value
        value = b"\xa8" + (len(content) + 4).to_bytes(4, "big") + bytes([0, 0, 0, 2]) + content
    return value[1:]


@pytest.mark.parametrize("double", [b"\1a\x08\0", b"\1b\x08\0"], ids=["twice", "once"])
@pytest.mark.parametrize("text", ["strict", "surrogateescape"])
def test_maps_in_maps_with_double_keys_cost_what_they_are(double: bytes, text: str) -> None:
    """Each was read twice when it held a key twice: 32 of them in one another, 500 octets, took hours."""

    def prepared(size: int) -> Callable[[], object]:
        octets = nested(size, double)
        return lambda: decode_map(octets, 0, len(octets), 0, Reading(text=text))

    assert_linear(prepared, 5)
    octets = nested(32, double)
    assert encode_map(decode_map(octets, 0, len(octets))[0]) == octets


def test_what_is_wrong_in_the_innermost_of_many_maps_is_found_at_once() -> None:
    def prepared(size: int) -> Callable[[], object]:
        octets = nested(size, b"\1a\x08\0")
        count = octets.rindex(b"\0\0\0\2")
        bad = octets[:count] + b"\0\0\0\3" + octets[count + 4 :]

        def work() -> None:
            with pytest.raises(DecodeError):
                decode_map(bad, 0, len(bad))

        return work

    assert_linear(prepared, 5)
