"""The types that hold no others: how wide each is, and reading each by its type code.

A reader takes (octets, offset, end, reading, depth) and gives the value and the offset behind it.  Readers may raise
`struct.error`, `IndexError` or `UnicodeDecodeError` where octets are missing or wrong, and may answer an offset beyond `end`;
`wire.types` is the edge that turns all of that into `DecodeError`.
`wire.writers` writes them.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from math import isnan
from typing import Final, TypeAlias

from amqp_sansio.errors import DecodeError
from amqp_sansio.spec import values as v
from amqp_sansio.spec.values import OpaqueValue, Value
from amqp_sansio.wire.primitives import f32, f64, i8, i16, i32, i64, u16, u32, u64, uuid_of
from amqp_sansio.wire.reading import Reading

Reader: TypeAlias = Callable[[bytes, int, int, Reading, int], tuple[Value, int]]

LATIN: Final = "iso8859-15"
_WIDTHS: Final = (1, 2, 4, 8, 16, 32, 64, 128)
PREFIXES: Final = {0x8: 1, 0x9: 2, 0xA: 4}
"""Octets of the length that comes first, by the upper nibble of a type code."""
FIXED: Final = {**dict(enumerate(_WIDTHS)), 0xC: 5, 0xD: 9, 0xF: 0}
"""Octets of a value, by the upper nibble of a type code."""


def fixed_width(code: int) -> int | None:
    """Octets of a value of this type code, known or not; None where a length comes first or the code means nothing."""
    return FIXED.get(code >> 4)


def prefix_width(code: int) -> int | None:
    """Octets of the length that comes first; None where there is none."""
    return PREFIXES.get(code >> 4)


def least_width(code: int, p: int) -> int:
    """The fewest octets that a value of this type code takes.  DecodeError for the codes of the nibbles B and E."""
    width = FIXED.get(code >> 4, PREFIXES.get(code >> 4))
    if width is None:
        raise DecodeError(f"type code 0x{code:02x}", p, "no type has a code that begins with B or E")
    return width


def span(code: int, b: bytes, p: int, end: int) -> tuple[int, int]:
    """Where the content of a value begins and ends: DecodeError 503 when that is not within `end`."""
    start = p
    width = PREFIXES.get(code >> 4)
    if width is None:
        stop = p + least_width(code, p - 1)
    else:
        start += width
        if start > end:
            raise DecodeError(f"type 0x{code:02x}", p, f"its length takes {width} octets, {end - p} are left")
        stop = start + int.from_bytes(b[p:start], "big")
    if stop > end or stop > len(b):
        raise DecodeError(f"type 0x{code:02x}", p, f"needs {stop - start} octets, {max(0, min(end, len(b)) - start)} are left")
    return start, stop


def _boolean(b: bytes, p: int, end: int, reading: Reading, depth: int) -> tuple[Value, int]:
    if (octet := b[p]) > 1:
        return v.Boolean(octet), p + 1
    return octet == 1, p + 1


def _int8(b: bytes, p: int, end: int, reading: Reading, depth: int) -> tuple[Value, int]:
    return v.Int8(i8(b, p)[0]), p + 1


def _uint8(b: bytes, p: int, end: int, reading: Reading, depth: int) -> tuple[Value, int]:
    return v.Uint8(b[p]), p + 1


def _int16(b: bytes, p: int, end: int, reading: Reading, depth: int) -> tuple[Value, int]:
    return v.Int16(i16(b, p)[0]), p + 2


def _uint16(b: bytes, p: int, end: int, reading: Reading, depth: int) -> tuple[Value, int]:
    return v.Uint16(u16(b, p)[0]), p + 2


def _int32(b: bytes, p: int, end: int, reading: Reading, depth: int) -> tuple[Value, int]:
    return v.Int32(i32(b, p)[0]), p + 4


def _uint32(b: bytes, p: int, end: int, reading: Reading, depth: int) -> tuple[Value, int]:
    return v.Uint32(u32(b, p)[0]), p + 4


def _int64(b: bytes, p: int, end: int, reading: Reading, depth: int) -> tuple[Value, int]:
    value: int = i64(b, p)[0]
    return value, p + 8


def _uint64(b: bytes, p: int, end: int, reading: Reading, depth: int) -> tuple[Value, int]:
    if (value := u64(b, p)[0]) < 1 << 63:  # no `... if ... else ...`: compiled, that would be a plain int either way
        return v.Uint64(value), p + 8
    return value, p + 8


def _datetime(b: bytes, p: int, end: int, reading: Reading, depth: int) -> tuple[Value, int]:
    return v.Datetime(i64(b, p)[0]), p + 8


def _float(b: bytes, p: int, end: int, reading: Reading, depth: int) -> tuple[Value, int]:
    value: float = f32(b, p)[0]
    return v.Float(value, b[p : p + 4] if isnan(value) else None), p + 4


def _double(b: bytes, p: int, end: int, reading: Reading, depth: int) -> tuple[Value, int]:
    if isnan(value := f64(b, p)[0]):
        return v.Double(value, b[p : p + 8]), p + 8
    return value, p + 8


def _char(b: bytes, p: int, end: int, reading: Reading, depth: int) -> tuple[Value, int]:
    return v.Char(b[p : p + 1].decode(LATIN)), p + 1


def _char_utf32(b: bytes, p: int, end: int, reading: Reading, depth: int) -> tuple[Value, int]:
    point: int = u32(b, p)[0]
    if point > 0x10FFFF or 0xD800 <= point <= 0xDFFF:
        raise DecodeError("char-utf32", p, f"0x{point:x} is no Unicode scalar value", 531)
    return v.CharUtf32(chr(point)), p + 4


def _uuid(b: bytes, p: int, end: int, reading: Reading, depth: int) -> tuple[Value, int]:
    return uuid_of(b[p : p + 16]), p + 16


def _decimal(code: int, make: type[Decimal], width: int) -> Reader:
    mantissa = i32 if width == 4 else i64

    def read(b: bytes, p: int, end: int, reading: Reading, depth: int) -> tuple[Value, int]:
        number: int = mantissa(b, p + 1)[0]
        return make((int(number < 0), tuple([int(digit) for digit in str(abs(number))]), -b[p])), p + 1 + width

    return read


def _octets(code: int, make: type[bytes]) -> Reader:
    def read(b: bytes, p: int, end: int, reading: Reading, depth: int) -> tuple[Value, int]:
        start, stop = span(code, b, p, end)
        return make(b[start:stop]), stop

    return read


def _vbin16(b: bytes, p: int, end: int, reading: Reading, depth: int) -> tuple[Value, int]:
    start, stop = span(0x90, b, p, end)
    return b[start:stop], stop


def _vbin32(b: bytes, p: int, end: int, reading: Reading, depth: int) -> tuple[Value, int]:
    start, stop = span(0xA0, b, p, end)
    return (b[start:stop] if stop - start > 65535 else v.Vbin32(b[start:stop])), stop


def _str8(b: bytes, p: int, end: int, reading: Reading, depth: int) -> tuple[Value, int]:
    start, stop = span(0x85, b, p, end)
    return v.Str8(b[start:stop].decode("utf-8", reading.text)), stop


def _str16(b: bytes, p: int, end: int, reading: Reading, depth: int) -> tuple[Value, int]:
    start, stop = span(0x95, b, p, end)
    return b[start:stop].decode("utf-8", reading.text), stop


def _latin(code: int, make: type[str]) -> Reader:
    def read(b: bytes, p: int, end: int, reading: Reading, depth: int) -> tuple[Value, int]:
        start, stop = span(code, b, p, end)
        return make(b[start:stop].decode(LATIN)), stop

    return read


def _utf16(code: int, make: type[v.Str8Utf16] | type[v.Str16Utf16]) -> Reader:
    def read(b: bytes, p: int, end: int, reading: Reading, depth: int) -> tuple[Value, int]:
        start, stop = span(code, b, p, end)
        octets = b[start:stop]
        mark = octets[:2]
        if mark in (b"\xfe\xff", b"\xff\xfe"):
            return make(octets[2:].decode("utf-16-be" if mark == b"\xfe\xff" else "utf-16-le"), octets), stop
        return make(octets.decode("utf-16-be")), stop

    return read


def _void(b: bytes, p: int, end: int, reading: Reading, depth: int) -> tuple[Value, int]:
    return None, p


def _bit(b: bytes, p: int, end: int, reading: Reading, depth: int) -> tuple[Value, int]:
    return v.Bit(), p


def _opaque(code: int) -> Reader:
    def read(b: bytes, p: int, end: int, reading: Reading, depth: int) -> tuple[Value, int]:
        start, stop = span(code, b, p, end)
        return OpaqueValue(code, b[start:stop]), stop

    return read


BINARIES: Final[dict[int, type[bytes]]] = {
    kind.CODE: kind
    for kind in (v.Bin8, v.Bin16, v.Bin32, v.Bin64, v.Bin128, v.Bin256, v.Bin512, v.Bin1024, v.Bin40, v.Bin72, v.Vbin8)
}

READERS: Final[dict[int, Reader]] = {
    **{code: _opaque(code) for code in range(256)},
    **{code: _octets(code, kind) for code, kind in BINARIES.items()},
    0x01: _int8,
    0x02: _uint8,
    0x04: _char,
    0x08: _boolean,
    0x11: _int16,
    0x12: _uint16,
    0x21: _int32,
    0x22: _uint32,
    0x23: _float,
    0x27: _char_utf32,
    0x31: _int64,
    0x32: _uint64,
    0x33: _double,
    0x38: _datetime,
    0x48: _uuid,
    0x84: _latin(0x84, v.Str8Latin),
    0x85: _str8,
    0x86: _utf16(0x86, v.Str8Utf16),
    0x90: _vbin16,
    0x94: _latin(0x94, v.Str16Latin),
    0x95: _str16,
    0x96: _utf16(0x96, v.Str16Utf16),
    0xA0: _vbin32,
    0xC8: _decimal(0xC8, v.Dec32, 4),
    0xD8: _decimal(0xD8, Decimal, 8),
    0xF0: _void,
    0xF1: _bit,
}
"""By type code; `wire.types` adds maps, lists, arrays and structs."""
