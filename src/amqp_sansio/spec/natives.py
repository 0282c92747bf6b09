"""Typed values, one class for each type whose code the default mapping would not choose.

Each is a Python native with a type code: it is used like the native, and encoded as its own type.
"""

from __future__ import annotations

from decimal import Decimal
from typing import ClassVar, Final, Self


class Boolean(int):
    """A boolean octet other than 0 and 1, which counts as true. 0..255."""

    __slots__ = ()
    CODE: ClassVar[int] = 0x08


class Int8(int):
    """-128..127."""

    __slots__ = ()
    CODE: ClassVar[int] = 0x01


class Uint8(int):
    """0..255."""

    __slots__ = ()
    CODE: ClassVar[int] = 0x02


class Int16(int):
    """-2**15..2**15-1."""

    __slots__ = ()
    CODE: ClassVar[int] = 0x11


class Uint16(int):
    """0..65535."""

    __slots__ = ()
    CODE: ClassVar[int] = 0x12


class Int32(int):
    """-2**31..2**31-1."""

    __slots__ = ()
    CODE: ClassVar[int] = 0x21


class Uint32(int):
    """0..2**32-1."""

    __slots__ = ()
    CODE: ClassVar[int] = 0x22


class Int64(int):
    """-2**63..2**63-1; the default for a plain int in that range."""

    __slots__ = ()
    CODE: ClassVar[int] = 0x31


class Uint64(int):
    """0..2**64-1."""

    __slots__ = ()
    CODE: ClassVar[int] = 0x32


class Datetime(int):
    """64 bits of POSIX time, signed; encodes -2**63..2**64-1.

    The specification says seconds; some peers send milliseconds, so the number is left unchanged (`seconds` guesses).
    """

    __slots__ = ()
    CODE: ClassVar[int] = 0x38

    @property
    def seconds(self) -> float:
        """Returns seconds since 1970 UTC; treats numbers of 10**11 and more as milliseconds."""
        return int(self) / 1000 if abs(int(self)) >= 100_000_000_000 else float(self)


class Bit(int):
    """The type `bit`, whose presence is its meaning.  Always 1; not sent by default."""

    __slots__ = ()
    CODE: ClassVar[int] = 0xF1

    def __new__(cls, value: int = 1) -> Self:
        return super().__new__(cls, 1)


class _Real(float):
    """A number with the `octets` of a NaN from the wire (None otherwise), since their payloads differ."""

    __slots__ = ("octets",)
    octets: Final[bytes | None]

    def __new__(cls, value: float, octets: bytes | None = None) -> Self:
        return super().__new__(cls, value)

    def __init__(self, value: float, octets: bytes | None = None) -> None:
        self.octets = octets

    def __eq__(self, other: object) -> bool:
        if self.octets is not None and isinstance(other, _Real):
            return self.octets == other.octets
        return float.__eq__(self, other) if isinstance(other, int | float) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.octets) if self.octets is not None else float.__hash__(self)

    def __reduce__(self) -> tuple[type[Self], tuple[float, bytes | None]]:
        return type(self), (float(self), self.octets)


class Float(_Real):
    """IEEE 754 single precision.  Rounds to what a single can hold; encoding a value beyond its range raises `EncodeError`.

    `octets` are the four octets of a NaN from the wire (None otherwise), since their payloads differ.
    """

    __slots__ = ()
    CODE: ClassVar[int] = 0x23


class Double(_Real):
    """IEEE 754 double precision; the default for a plain float.  `octets` are the eight octets of a NaN from the wire."""

    __slots__ = ()
    CODE: ClassVar[int] = 0x33


class Dec32(Decimal):
    """A decimal of scale 0..255 and a signed 32-bit mantissa."""

    __slots__ = ()
    CODE: ClassVar[int] = 0xC8


class Dec64(Decimal):
    """A decimal of scale 0..255 and a signed 64-bit mantissa; the default for a plain Decimal."""

    __slots__ = ()
    CODE: ClassVar[int] = 0xD8


# --- text ------------------------------------------------------------------------------------------------


class Char(str):
    """One character of ISO 8859-15, one octet."""

    __slots__ = ()
    CODE: ClassVar[int] = 0x04


class CharUtf32(str):
    """One Unicode scalar value (no surrogate), four octets."""

    __slots__ = ()
    CODE: ClassVar[int] = 0x27


class Str8(str):
    """UTF-8 of at most 255 octets."""

    __slots__ = ()
    CODE: ClassVar[int] = 0x85


class Str16(str):
    """UTF-8 of at most 65535 octets; the default for a plain str."""

    __slots__ = ()
    CODE: ClassVar[int] = 0x95


class Str8Latin(str):
    """ISO 8859-15 of at most 255 octets."""

    __slots__ = ()
    CODE: ClassVar[int] = 0x84


class Str16Latin(str):
    """ISO 8859-15 of at most 65535 octets."""

    __slots__ = ()
    CODE: ClassVar[int] = 0x94


class _Utf16(str):
    """Text with its original `octets` from the wire where their form was not ours, else None."""

    __slots__ = ("octets",)
    octets: Final[bytes | None]

    def __new__(cls, value: str, octets: bytes | None = None) -> Self:
        return super().__new__(cls, value)

    def __init__(self, value: str, octets: bytes | None = None) -> None:
        self.octets = octets

    def __reduce__(self) -> tuple[type[Self], tuple[str, bytes | None]]:
        return type(self), (str(self), self.octets)


class Str8Utf16(_Utf16):
    """UTF-16 of at most 255 octets (in effect 254), encoded big-endian and without byte order mark.

    `octets` are the original ones where they came in another form (byte order mark, little-endian), else None.
    """

    __slots__ = ()
    CODE: ClassVar[int] = 0x86


class Str16Utf16(_Utf16):
    """UTF-16 of at most 65535 octets (in effect 65534); see `Str8Utf16`."""

    __slots__ = ()
    CODE: ClassVar[int] = 0x96


# --- octets ----------------------------------------------------------------------------------------------


class Bin8(bytes):
    """One octet."""

    __slots__ = ()
    CODE: ClassVar[int] = 0x00


class Bin16(bytes):
    """Two octets."""

    __slots__ = ()
    CODE: ClassVar[int] = 0x10


class Bin32(bytes):
    """Four octets."""

    __slots__ = ()
    CODE: ClassVar[int] = 0x20


class Bin64(bytes):
    """Eight octets."""

    __slots__ = ()
    CODE: ClassVar[int] = 0x30


class Bin128(bytes):
    """16 octets."""

    __slots__ = ()
    CODE: ClassVar[int] = 0x40


class Bin256(bytes):
    """32 octets."""

    __slots__ = ()
    CODE: ClassVar[int] = 0x50


class Bin512(bytes):
    """64 octets."""

    __slots__ = ()
    CODE: ClassVar[int] = 0x60


class Bin1024(bytes):
    """128 octets."""

    __slots__ = ()
    CODE: ClassVar[int] = 0x70


class Bin40(bytes):
    """Five octets."""

    __slots__ = ()
    CODE: ClassVar[int] = 0xC0


class Bin72(bytes):
    """Nine octets."""

    __slots__ = ()
    CODE: ClassVar[int] = 0xD0


class Vbin8(bytes):
    """At most 255 octets."""

    __slots__ = ()
    CODE: ClassVar[int] = 0x80


class Vbin16(bytes):
    """At most 65535 octets; the default for plain bytes of that length."""

    __slots__ = ()
    CODE: ClassVar[int] = 0x90


class Vbin32(bytes):
    """At most 2**32-1 octets; the default for longer plain bytes."""

    __slots__ = ()
    CODE: ClassVar[int] = 0xA0
