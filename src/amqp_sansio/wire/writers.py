"""The types that hold no others: writing each by its type code.

A writer gives the octets without the type code and raises `EncodeError` for a value that the type cannot hold.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Final, TypeAlias
from uuid import UUID

from amqp_sansio.errors import EncodeError
from amqp_sansio.spec.values import OpaqueValue, Value
from amqp_sansio.wire.primitives import (
    OCTET,
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
)
from amqp_sansio.wire.scalars import BINARIES, FIXED, LATIN, PREFIXES, fixed_width, prefix_width

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
    """The eight octets of -2**63..2**64-1; `struct.error` outside."""
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
        # The mantissa has at most 19 digits: more, or an exponent of 20, would not fit, and need not be worked out.
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
            octets = b"\xfe\xff" + octets  # else its first character would be taken for a byte order mark
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
        raise EncodeError("char-utf32", f"{value!a} is no Unicode scalar value")
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
    """The octets of a value of an unknown type, its length first where its code wants one."""
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
"""By type code; `wire.encoding` adds maps, lists, arrays and structs."""
