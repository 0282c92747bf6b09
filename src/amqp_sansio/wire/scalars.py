"""The scalar types: their widths, and a reader and a writer for each type code.

A reader takes (octets, offset, end, reading, depth) and returns the value and the offset after it.  Readers may raise
`struct.error`, `IndexError` or `UnicodeDecodeError` for missing or invalid octets, and may return an offset beyond `end`;
`wire.types` turns all of that into `DecodeError`.  A writer returns the octets without the type code and raises `EncodeError`
for a value that the type cannot hold.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from decimal import Decimal
from math import isnan
from typing import Final, TypeAlias
from uuid import UUID

from amqp_sansio.errors import DecodeError, EncodeError
from amqp_sansio.errors.core import many
from amqp_sansio.spec import values as v
from amqp_sansio.spec.values import OpaqueValue, Value
from amqp_sansio.wire.codec import Reading
from amqp_sansio.wire.primitives import (
    OCTET,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    put_f32,
    put_f64,
    put_i8,
    put_i16,
    put_i32,
    put_i64,
    put_u8,
    put_u16,
    put_u32,
    put_u64,
    u16,
    u32,
    u64,
    uuid_of,
)

Reader: TypeAlias = Callable[[bytes, int, int, Reading, int], tuple[Value, int]]

LATIN: Final = "iso8859-15"
_WIDTHS: Final = (1, 2, 4, 8, 16, 32, 64, 128)
PREFIXES: Final = {0x8: 1, 0x9: 2, 0xA: 4}
"""Octets of the length prefix, by the upper nibble of a type code."""
FIXED: Final = {**dict(enumerate(_WIDTHS)), 0xC: 5, 0xD: 9, 0xF: 0}
"""Octets of a value, by the upper nibble of a type code."""


def fixed_width(code: int) -> int | None:
    """Returns the octets of a value of this type code, known or not; None for a length prefix or an undefined code."""
    return FIXED.get(code >> 4)


def prefix_width(code: int) -> int | None:
    """Returns the octets of the length prefix; None when there is none."""
    return PREFIXES.get(code >> 4)


def least_width(code: int, p: int) -> int:
    """Returns the fewest octets of a value of this type code.  Raises DecodeError for codes with the nibbles B and E."""
    width = FIXED.get(code >> 4, PREFIXES.get(code >> 4))
    if width is None:
        raise DecodeError(f"type code 0x{code:02x}", p, "no type has a code that begins with B or E")
    return width


def span(code: int, b: bytes, p: int, end: int) -> tuple[int, int]:
    """Returns where the content of a value begins and ends.  Raises DecodeError 503 when it exceeds `end`."""
    start = p
    width = PREFIXES.get(code >> 4)
    if width is None:
        stop = p + least_width(code, p - 1)
    else:
        start += width
        if start > end:
            raise DecodeError(f"type 0x{code:02x}", p, f"its length takes {many(width, 'octet')}, {end - p} are left")
        stop = start + int.from_bytes(b[p:start], "big")
    if stop > end or stop > len(b):
        left = max(0, min(end, len(b)) - start)
        raise DecodeError(f"type 0x{code:02x}", p, f"needs {many(stop - start, 'octet')}, {left} are left")
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
    if (value := u64(b, p)[0]) < 1 << 63:  # no conditional expression: compiled, it would make a plain int of either
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
"""Readers by type code; `wire.types` adds maps, lists, arrays and structs."""


Writer: TypeAlias = Callable[[Value], bytes]


def _integer(name: str, low: int, high: int, pack: Callable[[int], bytes]) -> Writer:
    def write(value: Value) -> bytes:
        if not isinstance(value, int):
            raise EncodeError(name, f"takes an int, not {type(value).__name__}")
        if not low <= value <= high:
            raise EncodeError(name, f"{value} is not within {low} to {high}")
        return pack(value)

    return write


def put_datetime(value: int) -> bytes:
    """Encodes -2**63 to 2**64-1 in eight octets; raises `struct.error` outside."""
    return put_i64(value) if value < 1 << 63 else put_u64(value)


def _put_boolean(value: Value) -> bytes:
    if not isinstance(value, int):
        raise EncodeError("boolean", f"takes a bool, not {type(value).__name__}")
    if not 0 <= value <= 255:
        raise EncodeError("boolean", f"{int(value)} is not within 0 to 255")
    return OCTET[value]


def _number(name: str, pack: Callable[[float], bytes]) -> Writer:
    def write(value: Value) -> bytes:
        if not isinstance(value, float | int):
            raise EncodeError(name, f"takes a float, not {type(value).__name__}")
        octets = getattr(value, "octets", None)
        if isinstance(octets, bytes) and len(octets) == struct.calcsize(">f" if name == "float" else ">d"):
            return octets
        try:
            return pack(value)
        except (OverflowError, struct.error):
            raise EncodeError(name, f"{value!r} is beyond its range") from None

    return write


def _put_decimal(name: str, bits: int, pack: Callable[[int], bytes]) -> Writer:
    top = 1 << bits - 1

    def write(value: Value) -> bytes:
        if not isinstance(value, Decimal):
            raise EncodeError(name, f"takes a Decimal, not {type(value).__name__}")
        sign, digits, exponent = value.as_tuple()
        if not isinstance(exponent, int):
            raise EncodeError(name, f"{value} is not a number")
        if exponent < -255:
            raise EncodeError(name, f"{value} has {-exponent} decimal places; 255 is the most")
        # The mantissa has at most 19 digits: more digits, or an exponent of 20, cannot fit and need not be computed.
        if len(digits) > 20 or (exponent > 20 and any(digits)):
            raise EncodeError(name, f"the mantissa of {value} does not fit into {bits} bits")
        mantissa = int("".join(map(str, digits)))
        if exponent > 0 and mantissa:
            mantissa *= 10**exponent
        mantissa = -mantissa if sign else mantissa
        if not -top <= mantissa < top:
            raise EncodeError(name, f"the mantissa of {value} does not fit into {bits} bits")
        return OCTET[max(0, -exponent)] + pack(mantissa)

    return write


def _prefixed(code: int, octets: bytes, name: str) -> bytes:
    width = PREFIXES[code >> 4]
    if len(octets) >> (8 * width):
        raise EncodeError(name, f"holds at most {(1 << 8 * width) - 1} octets; {len(octets)} given")
    return len(octets).to_bytes(width, "big") + octets


def _text(code: int, name: str, encoding: str) -> Writer:
    def write(value: Value) -> bytes:
        if not isinstance(value, str):
            raise EncodeError(name, f"takes a str, not {type(value).__name__}")
        kept = getattr(value, "octets", None)
        if kept is not None and encoding == "utf-16-be":
            return _prefixed(code, kept, name)
        try:
            octets = value.encode(encoding)
        except UnicodeEncodeError as why:
            raise EncodeError(name, f"{encoding} has no {why.object[why.start]!a}") from None
        if encoding == "utf-16-be" and octets[:2] in (b"\xfe\xff", b"\xff\xfe"):
            octets = b"\xfe\xff" + octets  # otherwise a decoder would take the first character for a byte order mark
        return _prefixed(code, octets, name)

    return write


def _put_char(value: Value) -> bytes:
    if not isinstance(value, str) or len(value) != 1:
        raise EncodeError("char", f"takes a str of one character, not {value!r}")
    try:
        return value.encode(LATIN)
    except UnicodeEncodeError:
        raise EncodeError("char", f"ISO 8859-15 has no {value!a}") from None


def _put_char_utf32(value: Value) -> bytes:
    if not isinstance(value, str) or len(value) != 1:
        raise EncodeError("char-utf32", f"takes a str of one character, not {value!r}")
    if 0xD800 <= ord(value) <= 0xDFFF:
        raise EncodeError("char-utf32", f"{value!a} is not a Unicode scalar value")
    return put_u32(ord(value))


def _fixed_octets(code: int, name: str) -> Writer:
    width = FIXED[code >> 4]

    def write(value: Value) -> bytes:
        if not isinstance(value, bytes):
            raise EncodeError(name, f"takes bytes, not {type(value).__name__}")
        if len(value) != width:
            raise EncodeError(name, f"holds {width} octets; {len(value)} given")
        return bytes(value)

    return write


def _variable_octets(code: int, name: str) -> Writer:
    def write(value: Value) -> bytes:
        if not isinstance(value, bytes):
            raise EncodeError(name, f"takes bytes, not {type(value).__name__}")
        return _prefixed(code, value, name)

    return write


def _put_uuid(value: Value) -> bytes:
    if not isinstance(value, UUID):
        raise EncodeError("uuid", f"takes a UUID, not {type(value).__name__}")
    return value.bytes


def _put_nothing(value: Value) -> bytes:
    return b""


def put_opaque(value: OpaqueValue) -> bytes:
    """Encodes a value of an unknown type, with a length prefix where its code requires one."""
    name = f"type 0x{value.code:02x}"
    if prefix_width(value.code) is not None:
        return _prefixed(value.code, value.octets, name)
    width = fixed_width(value.code)
    if width is None or not 0 <= value.code <= 255:
        raise EncodeError(name, "no type has such a code")
    if len(value.octets) != width:
        raise EncodeError(name, f"holds {width} octets; {len(value.octets)} given")
    return value.octets


WRITERS: Final[dict[int, Writer]] = {
    **{code: _fixed_octets(code, kind.__name__.lower()) for code, kind in BINARIES.items() if code != 0x80},
    0x01: _integer("int8", -(1 << 7), (1 << 7) - 1, put_i8),
    0x02: _integer("uint8", 0, (1 << 8) - 1, put_u8),
    0x04: _put_char,
    0x08: _put_boolean,
    0x11: _integer("int16", -(1 << 15), (1 << 15) - 1, put_i16),
    0x12: _integer("uint16", 0, (1 << 16) - 1, put_u16),
    0x21: _integer("int32", -(1 << 31), (1 << 31) - 1, put_i32),
    0x22: _integer("uint32", 0, (1 << 32) - 1, put_u32),
    0x23: _number("float", put_f32),
    0x27: _put_char_utf32,
    0x31: _integer("int64", -(1 << 63), (1 << 63) - 1, put_i64),
    0x32: _integer("uint64", 0, (1 << 64) - 1, put_u64),
    0x33: _number("double", put_f64),
    0x38: _integer("datetime", -(1 << 63), (1 << 64) - 1, put_datetime),
    0x48: _put_uuid,
    0x80: _variable_octets(0x80, "vbin8"),
    0x84: _text(0x84, "str8-latin", LATIN),
    0x85: _text(0x85, "str8", "utf-8"),
    0x86: _text(0x86, "str8-utf16", "utf-16-be"),
    0x90: _variable_octets(0x90, "vbin16"),
    0x94: _text(0x94, "str16-latin", LATIN),
    0x95: _text(0x95, "str16", "utf-8"),
    0x96: _text(0x96, "str16-utf16", "utf-16-be"),
    0xA0: _variable_octets(0xA0, "vbin32"),
    0xC8: _put_decimal("dec32", 32, put_i32),
    0xD8: _put_decimal("dec64", 64, put_i64),
    0xF0: _put_nothing,
    0xF1: _put_nothing,
}
"""Writers by type code; `wire.encoding` adds maps, lists, arrays and structs."""
