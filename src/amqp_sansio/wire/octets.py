"""The primitives of reading and writing fixed widths, big-endian.  The one module that a compiled build replaces.

Readers take the octets and an offset and return a tuple; `struct.error` where the octets end too early.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

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
put_frame_header: Final = FRAME_HEADER.pack
