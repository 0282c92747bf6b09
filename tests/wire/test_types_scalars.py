"""The types that hold no others, by their type codes, and what each can hold.  Inside maps and lists: see test_types."""

from __future__ import annotations

import struct
from decimal import Decimal
from uuid import UUID

import pytest

from amqp_sansio.errors import DecodeError, EncodeError
from amqp_sansio.spec import values as v
from amqp_sansio.spec.values import OpaqueValue, Value
from amqp_sansio.wire.codec import DEFAULT_READING
from amqp_sansio.wire.encoding import WRITERS, put_opaque
from amqp_sansio.wire.types import READERS, fixed_width, least_width, prefix_width, span

UID = UUID("00010203-0405-0607-0809-0a0b0c0d0e0f")


@pytest.mark.parametrize("code", range(256))
def test_the_high_nibble_tells_the_width(code: int) -> None:
    """Model 2.1."""
    nibble = code >> 4
    fixed = {0: 1, 1: 2, 2: 4, 3: 8, 4: 16, 5: 32, 6: 64, 7: 128, 0xC: 5, 0xD: 9, 0xF: 0}.get(nibble)
    prefix = {8: 1, 9: 2, 0xA: 4}.get(nibble)
    assert (fixed_width(code), prefix_width(code)) == (fixed, prefix)
    if nibble in (0xB, 0xE):
        with pytest.raises(DecodeError, match="begins with B or E"):
            least_width(code, 0)
    else:
        assert least_width(code, 0) == (prefix if fixed is None else fixed)


@pytest.mark.parametrize(
    ("code", "octets", "value"),
    [
        (0x01, "80", v.Int8(-128)), (0x02, "ff", v.Uint8(255)), (0x04, "a4", v.Char("€")), (0x08, "01", True),
        (0x08, "00", False), (0x08, "80", v.Boolean(128)), (0x11, "8000", v.Int16(-32768)), (0x12, "ffff", v.Uint16(65535)),
        (0x21, "80000000", v.Int32(-(2**31))), (0x22, "ffffffff", v.Uint32(2**32 - 1)), (0x23, "3f800000", v.Float(1.0)),
        (0x27, "0001f600", v.CharUtf32("\U0001f600")), (0x31, "8000000000000000", -(2**63)),
        (0x32, "ffffffffffffffff", 2**64 - 1), (0x33, "3ff8000000000000", 1.5), (0x38, "000000000000000a", v.Datetime(10)),
        (0x48, UID.hex, UID), (0x80, "0161", v.Vbin8(b"a")), (0x84, "01a4", v.Str8Latin("€")), (0x85, "02c3a9", v.Str8("é")),
        (0x90, "000161", b"a"), (0x95, "0002c3a9", "é"), (0xA0, "0000000161", v.Vbin32(b"a")),
        (0xC8, "02ffffff85", v.Dec32("-1.23")), (0xD8, "00000000000000007b", Decimal(123)), (0xF0, "", None),
    ],
)  # fmt: skip
def test_reading_and_writing_back(code: int, octets: str, value: Value) -> None:
    raw = bytes.fromhex(octets)
    for before, behind in ((b"", b""), (b"xx", b"yy")):
        found, p = READERS[code](before + raw + behind, len(before), len(before + raw), DEFAULT_READING, 0)
        assert (found, type(found), p) == (value, type(value), len(before + raw))
    assert WRITERS[code](value) == raw


@pytest.mark.parametrize("code", [0x0A, 0x1F, 0x2F, 0x6F, 0x8F, 0x9F, 0xAF, 0xCF, 0xDF, 0xFF])
def test_an_unknown_type_is_kept_as_it_is(code: int) -> None:
    prefix = prefix_width(code)
    content = b"x" * (3 if prefix is not None else fixed_width(code) or 0)
    raw = (3).to_bytes(prefix, "big") + content if prefix is not None else content
    found, p = READERS[code](raw, 0, len(raw), DEFAULT_READING, 0)
    assert (found, p) == (OpaqueValue(code, content), len(raw))
    assert isinstance(found, OpaqueValue)
    assert put_opaque(found) == raw


def test_a_span_stays_within_its_end() -> None:
    assert span(0x85, b"\x02ab", 0, 3) == (1, 3)
    assert span(0x22, b"abcd", 0, 4) == (0, 4)
    for code, octets, end in ((0x85, b"\x03ab", 3), (0x85, b"\x02ab", 2), (0x95, b"\x00", 1), (0x22, b"abcd", 3)):
        with pytest.raises(DecodeError):
            span(code, octets, 0, end)
    with pytest.raises(DecodeError, match="its length takes 4 octets, 3 are left"):
        span(0xA0, b"\0\0\0\x01x", 0, 3)


def test_a_float_keeps_the_octets_of_a_nan() -> None:
    raw = struct.pack(">I", 0x7FC00001)
    found, _ = READERS[0x23](raw, 0, 4, DEFAULT_READING, 0)
    assert WRITERS[0x23](found) == raw


@pytest.mark.parametrize("code", sorted(code for code in WRITERS if code != 0xF0))
def test_what_a_type_cannot_hold_is_refused(code: int) -> None:
    class Odd:
        pass

    if code != 0xF1:
        with pytest.raises(EncodeError):
            WRITERS[code](Odd())  # type: ignore[arg-type]  # what no value is


@pytest.mark.parametrize(
    ("code", "good", "bad"),
    [
        (0x01, (-128, 127), (-129, 128)), (0x02, (0, 255), (-1, 256)), (0x11, (-(2**15), 2**15 - 1), (-(2**15) - 1, 2**15)),
        (0x12, (0, 65535), (-1, 65536)), (0x21, (-(2**31), 2**31 - 1), (-(2**31) - 1, 2**31)),
        (0x22, (0, 2**32 - 1), (-1, 2**32)), (0x31, (-(2**63), 2**63 - 1), (-(2**63) - 1, 2**63)),
        (0x32, (0, 2**64 - 1), (-1, 2**64)), (0x80, (b"", b"x" * 255), (b"x" * 256, "x")),
        (0x85, ("", "é" * 127), ("é" * 128, b"x")), (0x95, ("", "x" * 65535), ("x" * 65536, "\ud800")),
        (0x90, (b"", b"x" * 65535), (b"x" * 65536, None)), (0x04, ("a", "€"), ("ab", "☃")),
        (0x27, ("a", "\U0010ffff"), ("", "\ud800")),
        (0xC8, (Decimal(2**31 - 1), Decimal("1e-255")), (Decimal(2**31), Decimal("1e-256"))),
        (0xD8, (Decimal("1e18"), Decimal(0)), (Decimal("1e19"), Decimal("NaN"), Decimal("1" * 5000))),
    ],
)  # fmt: skip
def test_the_bounds_of_a_type(code: int, good: tuple[Value, Value], bad: tuple[Value, Value]) -> None:
    for value in good:
        raw = WRITERS[code](value)
        assert READERS[code](raw, 0, len(raw), DEFAULT_READING, 0)[1] == len(raw)
    for value in bad:
        with pytest.raises(EncodeError):
            WRITERS[code](value)


@pytest.mark.parametrize("value", [OpaqueValue(0x0A, b"xx"), OpaqueValue(0xB0, b""), OpaqueValue(0x8F, b"x" * 256)])
def test_an_opaque_value_that_its_code_cannot_hold(value: OpaqueValue) -> None:
    with pytest.raises(EncodeError):
        put_opaque(value)
