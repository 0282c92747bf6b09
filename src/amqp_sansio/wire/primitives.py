"""Reads and writes fixed-width numbers, big-endian.  The one module that a compiled build replaces.

Readers take the octets and an offset, and return a tuple.  They raise `struct.error` when octets are missing.
"""

from __future__ import annotations

from struct import Struct
from typing import Final
from uuid import UUID, SafeUUID

u8: Final = Struct(">B").unpack_from
u16: Final = Struct(">H").unpack_from
u32: Final = Struct(">I").unpack_from
u64: Final = Struct(">Q").unpack_from
i8: Final = Struct(">b").unpack_from
i16: Final = Struct(">h").unpack_from
i32: Final = Struct(">i").unpack_from
i64: Final = Struct(">q").unpack_from
f32: Final = Struct(">f").unpack_from
f64: Final = Struct(">d").unpack_from

put_u8: Final = Struct(">B").pack
put_u16: Final = Struct(">H").pack
put_u32: Final = Struct(">I").pack
put_u64: Final = Struct(">Q").pack
put_i8: Final = Struct(">b").pack
put_i16: Final = Struct(">h").pack
put_i32: Final = Struct(">i").pack
put_i64: Final = Struct(">q").pack
put_f32: Final = Struct(">f").pack
put_f64: Final = Struct(">d").pack

FRAME_HEADER: Final = Struct(">BBHBBHI")
"""flags, segment type, size, reserved octet, track, channel, reserved word: 12 octets."""
frame_header: Final = FRAME_HEADER.unpack_from
frame_begin: Final = Struct(">HHI").unpack_from
"""The first eight octets as three numbers: flags and type; size; and the place (reserved octet, track and channel)."""
frame_begin32: Final = Struct(">HHI4xI").unpack_from
"""The same, and the first four octets of the payload as a number."""
put_frame_header: Final = FRAME_HEADER.pack
frame_of_set: Final = Struct(">IIQHII").unpack_from
"""The frame of a control whose only field is a set of one range, 26 octets.

Flags, type and size as one number, the place, the reserved word (0), class, code and flags as one number, size of the set (8),
low, high.
"""
put_frame_of_set: Final = Struct(">IIQHII").pack
command_of_set: Final = Struct(">IIQHHII").unpack_from
"""The frame of a command with such a field, 28 octets.

Flags, type and size as one number, the place, the reserved word with class, code and session header as one number, flags, size
of the set (8), low, high.
"""
put_frame_begin: Final = Struct(">HHI4x").pack
"""A frame header from the same three numbers."""

blank: Final = object.__new__
"""Creates an object without calling its constructor; the caller fills all its slots."""

OCTET: Final = tuple([bytes([n]) for n in range(256)])
"""The octet of each number below 256; IndexError above, which suits length prefixes."""

OCTET_OF: Final = dict(enumerate(OCTET))
"""The same as a dict: KeyError for any other number, including negative ones."""

LENGTH16: Final = tuple([put_u16(n) for n in range(256)])
"""The two octets of each length below 256: faster than packing, and most lengths are."""
STR16: Final = tuple([b"\x95" + length for length in LENGTH16])
"""The same after the type code of str16."""

PAIRS32: Final = Struct(">II")
PAIRS64: Final = Struct(">QQ")
get_pair32: Final = PAIRS32.unpack_from
put_pair32: Final = PAIRS32.pack
put_pair64: Final = PAIRS64.pack
put_set_of_one: Final = Struct(">HII").pack
"""A sequence-set of one range: its size (8), low, high."""

control_head: Final = Struct(">HH").unpack_from
"""class and code as one number, flags."""
put_control_head: Final = Struct(">HH").pack
command_head: Final = Struct(">HBBH").unpack_from
"""class and code as one number, size of the session header (1), its flags, flags."""
put_command_head: Final = Struct(">HBBH").pack
struct_head: Final = Struct(">IHH").unpack_from
"""size, class and code as one number, flags."""
octets_and_moment: Final = Struct(">BBq").unpack_from
"""Two octets and a moment, with which most delivery-properties begin."""
put_struct_head: Final = Struct(">IHH").pack
put_sized16_head: Final = Struct(">HH").pack
"""size, flags: an uncoded struct with a size of two octets."""

put_tag16: Final = Struct(">BH").pack
"""A type code and a length of two octets."""
put_tag_i64: Final = Struct(">Bq").pack
put_sizes: Final = Struct(">II").pack
"""The size and the count of a map or list."""


def uuid_of(octets: bytes) -> UUID:
    """Makes a UUID from 16 octets, without the checks that make `UUID(bytes=...)` slow."""
    made = blank(UUID)
    _set_int(made, _number(octets))
    _set_is_safe(made, _UNKNOWN)
    return made


def size_and_uuid(b: bytes, p: int) -> tuple[int, UUID]:
    """Reads a number of 64 bits and a UUID, with which most message-properties begin."""
    size, high, low = _three64(b, p)
    made = blank(UUID)  # `uuid_of` inlined
    _set_int(made, high << 64 | low)
    _set_is_safe(made, _UNKNOWN)
    return size, made


_number: Final = int.from_bytes
_three64: Final = Struct(">QQQ").unpack_from
# A UUID is read-only; its slots are not, and its own constructor also writes to them in the end.
_set_int: Final = UUID.__dict__["int"].__set__
_set_is_safe: Final = UUID.__dict__["is_safe"].__set__
_UNKNOWN: Final = SafeUUID.unknown
