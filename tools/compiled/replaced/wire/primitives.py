"""Reads and writes fixed-width numbers, big-endian, in the compiled build.

The same names as in `amqp_sansio.wire.primitives`, which documents them.  Readers combine octets in native integers; writers
used for every message encode one combined number, and the others use `struct`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from struct import Struct, error
from typing import Final, TypeVar
from uuid import UUID, SafeUUID

from mypy_extensions import i64 as native

_T = TypeVar("_T")


def _short(b: bytes, p: int, width: int) -> error:
    return error(f"{width} octets at {p} of {len(b)}")


def _two(b: bytes, p: native) -> native:
    high: native = b[p]
    low: native = b[p + 1]
    return high << 8 | low


def _four(b: bytes, p: native) -> native:
    return _two(b, p) << 16 | _two(b, p + 2)


def u8(b: bytes, p: int) -> tuple[int]:
    at: native = p
    if at < 0 or at >= len(b):
        raise _short(b, p, 1)
    return (b[at],)


def u16(b: bytes, p: int) -> tuple[int]:
    at: native = p
    if at < 0 or at + 2 > len(b):
        raise _short(b, p, 2)
    return (_two(b, at),)


def u32(b: bytes, p: int) -> tuple[int]:
    at: native = p
    if at < 0 or at + 4 > len(b):
        raise _short(b, p, 4)
    return (_four(b, at),)


def u64(b: bytes, p: int) -> tuple[int]:
    at: native = p
    if at < 0 or at + 8 > len(b):
        raise _short(b, p, 8)
    high: int = _four(b, at)
    low: int = _four(b, at + 4)
    return (high << 32 | low,)


def i8(b: bytes, p: int) -> tuple[int]:
    at: native = p
    if at < 0 or at >= len(b):
        raise _short(b, p, 1)
    value: native = b[at]
    return (value - 0x100 if value & 0x80 else value,)


def i16(b: bytes, p: int) -> tuple[int]:
    at: native = p
    if at < 0 or at + 2 > len(b):
        raise _short(b, p, 2)
    value = _two(b, at)
    return (value - 0x1_0000 if value & 0x8000 else value,)


def i32(b: bytes, p: int) -> tuple[int]:
    at: native = p
    if at < 0 or at + 4 > len(b):
        raise _short(b, p, 4)
    value = _four(b, at)
    return (value - 0x1_0000_0000 if value & 0x8000_0000 else value,)


def i64(b: bytes, p: int) -> tuple[int]:
    at: native = p
    if at < 0 or at + 8 > len(b):
        raise _short(b, p, 8)
    high = _four(b, at)
    return ((high - 0x1_0000_0000 if high & 0x8000_0000 else high) << 32 | _four(b, at + 4),)


_f32: Final = Struct(">f").unpack_from
_f64: Final = Struct(">d").unpack_from


def f32(b: bytes, p: int) -> tuple[float]:
    value: float = _f32(b, p)[0]
    return (value,)


def f64(b: bytes, p: int) -> tuple[float]:
    value: float = _f64(b, p)[0]
    return (value,)


def put_u16(value: int) -> bytes:
    try:
        return value.to_bytes(2, "big")
    except OverflowError:
        raise _wide(value) from None


def put_u32(value: int) -> bytes:
    try:
        return value.to_bytes(4, "big")
    except OverflowError:
        raise _wide(value) from None


def put_u64(value: int) -> bytes:
    try:
        return value.to_bytes(8, "big")
    except OverflowError:
        raise _wide(value) from None


def put_i64(value: int) -> bytes:
    try:
        return value.to_bytes(8, "big", signed=True)
    except OverflowError:
        raise _wide(value) from None


def _wide(value: int) -> error:
    return error(f"{value} goes beyond its octets")


put_u8: Final = Struct(">B").pack
put_i8: Final = Struct(">b").pack
put_i16: Final = Struct(">h").pack
put_i32: Final = Struct(">i").pack
put_f32: Final = Struct(">f").pack
put_f64: Final = Struct(">d").pack

FRAME_HEADER: Final = Struct(">BBHBBHI")


def frame_header(b: bytes, p: int) -> tuple[int, int, int, int, int, int, int]:
    at: native = p
    if at < 0 or at + 12 > len(b):
        raise _short(b, p, 12)
    return b[at], b[at + 1], _two(b, at + 2), b[at + 4], b[at + 5], _two(b, at + 6), _four(b, at + 8)


def frame_begin(b: bytes, p: int) -> tuple[int, int, int]:
    at: native = p
    if at < 0 or at + 8 > len(b):
        raise _short(b, p, 8)
    return _two(b, at), _two(b, at + 2), _four(b, at + 4)


def frame_begin32(b: bytes, p: int) -> tuple[int, int, int, int]:
    at: native = p
    if at < 0 or at + 16 > len(b):
        raise _short(b, p, 16)
    return _two(b, at), _two(b, at + 2), _four(b, at + 4), _four(b, at + 12)


put_frame_header: Final = FRAME_HEADER.pack
frame_of_set: Final = Struct(">IIQHII").unpack_from
put_frame_of_set: Final = Struct(">IIQHII").pack
command_of_set: Final = Struct(">IIQHHII").unpack_from
put_frame_begin: Final = Struct(">HHI4x").pack


def blank(kind: type[_T]) -> _T:
    return kind.__new__(kind)


OCTET: Final = tuple([bytes([n]) for n in range(256)])

OCTET_OF: Final = dict(enumerate(OCTET))

LENGTH16: Final = tuple([put_u16(n) for n in range(256)])
STR16: Final = tuple([b"\x95" + length for length in LENGTH16])

PAIRS32: Final = Struct(">II")
PAIRS64: Final = Struct(">QQ")


def get_pair32(b: bytes, p: int) -> tuple[int, int]:
    at: native = p
    if at < 0 or at + 8 > len(b):
        raise _short(b, p, 8)
    return _four(b, at), _four(b, at + 4)


put_pair32: Final = PAIRS32.pack
put_pair64: Final = PAIRS64.pack
put_set_of_one: Final = Struct(">HII").pack


def control_head(b: bytes, p: int) -> tuple[int, int]:
    at: native = p
    if at < 0 or at + 4 > len(b):
        raise _short(b, p, 4)
    return _two(b, at), _two(b, at + 2)


put_control_head: Final = Struct(">HH").pack


def command_head(b: bytes, p: int) -> tuple[int, int, int, int]:
    at: native = p
    if at < 0 or at + 6 > len(b):
        raise _short(b, p, 6)
    return _two(b, at), b[at + 2], b[at + 3], _two(b, at + 4)


put_command_head: Final = Struct(">HBBH").pack


def struct_head(b: bytes, p: int) -> tuple[int, int, int]:
    at: native = p
    if at < 0 or at + 8 > len(b):
        raise _short(b, p, 8)
    return _four(b, at), _two(b, at + 4), _two(b, at + 6)


def put_struct_head(size: int, key: int, flags: int) -> bytes:
    return put_u64(size << 32 | key << 16 | flags)


put_sized16_head: Final = Struct(">HH").pack

put_tag16: Final = Struct(">BH").pack
put_tag_i64: Final = Struct(">Bq").pack


def put_sizes(size: int, count: int) -> bytes:
    return put_u64(size << 32 | count)


def octets_and_moment(b: bytes, p: int) -> tuple[int, int, int]:
    return u8(b, p)[0], u8(b, p + 1)[0], i64(b, p + 2)[0]


def size_and_uuid(b: bytes, p: int) -> tuple[int, UUID]:
    size = u64(b, p)[0]
    if p + 24 > len(b):
        raise _short(b, p, 24)
    return size, uuid_of(b[p + 8 : p + 24])


def uuid_of(octets: bytes) -> UUID:
    """Makes a UUID from 16 octets, without the checks that make `UUID(bytes=...)` slow."""
    made = _blank_uuid()
    _set_int(made, _number(octets, "big"))
    _set_is_safe(made, _UNKNOWN)
    return made


_blank_uuid: Final[Callable[[], UUID]] = partial(object.__new__, UUID)
_number: Final[Callable[..., object]] = int.from_bytes
# A UUID is read-only; its slots are not, and its own constructor also writes to them in the end.
_set_int: Final = UUID.__dict__["int"].__set__
_set_is_safe: Final = UUID.__dict__["is_safe"].__set__
_UNKNOWN: Final = SafeUUID.unknown
