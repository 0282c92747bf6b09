"""Typed values: what a map, list or array of AMQP 0-10 may hold, with the wire type as the Python type.

Decoding returns the plain native (bool, int, float, str, bytes, None, UUID, Decimal, `Map`, `List`) where the default mapping
would encode it to the same octets, and one of the classes here otherwise; so any decoded value is encoded to its original
octets.  The default mapping of natives: bool 08; int 31 (int64), 32 (uint64) from 2**63 on; float 33 (double); str 95 (str16;
longer than 65535 octets is an error, for 0-10 has no larger text); bytes 90 (vbin16), a0 (vbin32) when longer; UUID 48; None
f0; Decimal d8 (dec64); mappings a8; lists and tuples a9; structs ab.

To choose another type, name it: `Uint8(4)`, `Str8("x")`, `Vbin32(b"...")`, `Array(0x22, [1, 2])`.  Range and form are checked
when encoding (`EncodeError`), not here.  All are immutable, hashable and picklable, and equal to their native value, except
that NaN is equal to NaN of the same octets.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from decimal import Decimal
from typing import ClassVar, Final, Self, TypeAlias
from uuid import UUID

from amqp_sansio.kernel.value import ValueObject, frozen
from amqp_sansio.spec.base import Struct, made_of


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


Value: TypeAlias = "bool | int | float | str | bytes | Decimal | UUID | Map | List | Array | Struct | OpaqueValue | None"
"""Anything that a map or list can hold, as decoding returns it."""

ByteRanges: TypeAlias = tuple[tuple[int, int], ...]
"""Ranges of octets, both ends included, each end 0..2**64-1, ascending and non-touching."""


class OpaqueValue(ValueObject):
    """A value of an unassigned type code, whose high nibble determines its width.

    `octets` is the value without its length prefix.
    """

    __slots__ = ("code", "octets")
    FIELDS: ClassVar[tuple[str, ...]] = ("code", "octets")

    def __init__(self, code: int, octets: bytes) -> None:
        self.code: Final = code
        self.octets: Final = octets


# --- collections -----------------------------------------------------------------------------------------


class Map(Mapping[str, Value]):
    """A read-only map from names (UTF-8, at most 255 octets each) to values.

    Equal to any mapping with the same keys and values.
    """

    __slots__ = ("_entries",)
    CODE: ClassVar[int] = 0xA8
    null: bool = False
    """True for the form of size 0, which peers send for «no map»."""
    octets: bytes | None = None
    """The content (what follows the size) where the entries alone could not give it back, because a key came twice."""

    def __init__(self, entries: Mapping[str, Value] | Iterable[tuple[str, Value]] = (), own: bool = False) -> None:
        # `own` is for decoders: the map takes over the dict, which the caller must not touch again.
        self._entries: dict[str, Value] = entries if own and type(entries) is dict else dict(entries)

    def __getitem__(self, key: str) -> Value:
        return self._entries[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def keys(self) -> KeysView[str]:
        return self._entries.keys()

    def values(self) -> ValuesView[Value]:
        return self._entries.values()

    def items(self) -> ItemsView[str, Value]:
        return self._entries.items()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Map):
            return self._entries == other._entries
        return self._entries == other if isinstance(other, Mapping) else NotImplemented

    def __hash__(self) -> int:
        return hash(frozen(self._entries))

    def __repr__(self) -> str:
        return f"Map({self._entries!r})"

    def __reduce__(self) -> tuple[object, ...]:
        return Map, (self._entries,)


class NullMap(Map):
    """The map of size 0."""

    __slots__ = ()
    null = True

    def __init__(self) -> None:
        super().__init__()

    def __repr__(self) -> str:
        return "NullMap()"

    def __reduce__(self) -> tuple[object, ...]:
        return NullMap, ()


class DoubledMap(Map):
    """A decoded map with a repeated key: the last value counts; `octets` is the original content."""

    __slots__ = ("octets",)

    def __init__(self, entries: Mapping[str, Value], octets: bytes) -> None:
        super().__init__(entries)
        self.octets = octets

    def __reduce__(self) -> tuple[object, ...]:
        return DoubledMap, (self._entries, self.octets)


class List(tuple[Value, ...]):
    """Values of any types, in order."""

    __slots__ = ()
    CODE: ClassVar[int] = 0xA9
    null: ClassVar[bool] = False
    """Whether it has the form of size 0."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self)!r})"


class NullList(List):
    """The list of size 0."""

    __slots__ = ()
    null = True


class Array(tuple[Value, ...]):
    """Values of one type, in order.  `code` is the type code of the elements, even when there are none."""

    CODE: ClassVar[int] = 0xAA
    null: ClassVar[bool] = False
    """Whether it has the form of size 0."""
    code: int

    def __new__(cls, code: int, items: Iterable[Value] = ()) -> Self:
        made = super().__new__(cls, items)
        made.code = code
        return made

    def __eq__(self, other: object) -> bool:
        return tuple.__eq__(self, other) if isinstance(other, tuple) else NotImplemented

    def __hash__(self) -> int:
        return tuple.__hash__(self)

    def __repr__(self) -> str:
        return f"Array(0x{self.code:02x}, {list(self)!r})"

    def __reduce__(self) -> tuple[object, ...]:
        return Array, (self.code, tuple(self))


class NullArray(Array):
    """The array of size 0."""

    null = True

    def __new__(cls) -> Self:
        return super().__new__(cls, 0xF0)

    def __repr__(self) -> str:
        return "NullArray()"

    def __reduce__(self) -> tuple[object, ...]:
        return NullArray, ()


class RawArray(Array):
    """A non-empty array of command fragments: `octets` is what follows the size, since its encoding is undefined."""

    octets: bytes

    def __new__(cls, code: int, octets: bytes) -> Self:
        made = super().__new__(cls, code)
        made.octets = octets
        return made

    def __repr__(self) -> str:
        return f"RawArray(0x{self.code:02x}, {self.octets!r})"

    def __reduce__(self) -> tuple[object, ...]:
        return RawArray, (self.code, self.octets)


class TextArray(tuple[str, ...]):
    """The value of a str16-array field whose elements are not str16: `code` is the type code of the elements."""

    CODE: ClassVar[int] = 0xAA
    code: int
    null: bool
    """Whether it has the form of size 0."""

    def __new__(cls, code: int, items: Iterable[str] = (), null: bool = False) -> Self:
        made = super().__new__(cls, items)
        made.code = code
        made.null = null
        return made

    def __repr__(self) -> str:
        return f"TextArray(0x{self.code:02x}, {list(self)!r}{', null=True' if self.null else ''})"

    def __reduce__(self) -> tuple[object, ...]:
        return TextArray, (self.code, tuple(self), self.null)


class UnknownStruct(Struct):
    """A struct of an unassigned code.  `octets` is what follows class and code, forwarded unchanged."""

    __slots__ = ("class_code", "code", "octets")
    FIELDS: ClassVar[tuple[str, ...]] = ("class_code", "code", "octets")
    NAME: ClassVar[str] = "unknown"

    def __init__(self, class_code: int, code: int, octets: bytes) -> None:
        self.class_code: Final = class_code
        self.code: Final = code
        self.octets: Final = octets


class NullStruct(Struct):
    """A struct of size 0, without even a type."""

    __slots__ = ()
    NAME: ClassVar[str] = "null"


def as_map(value: Mapping[str, Value] | None) -> Map | None:
    """Converts any mapping to the `Map` that a field of type map keeps."""
    if type(value) is dict:  # nearly always: copied without the cost of the constructor
        made: Map = object.__new__(Map)
        made._entries = value.copy()
        return made
    return value if value is None or isinstance(value, Map) else made_of(Map, value, "a mapping")


def as_array(value: Iterable[Value] | None) -> Array | None:
    """Converts a value to the `Array` that a field of type array keeps; an iterable of structs becomes one of struct32 (ab)."""
    return value if value is None or isinstance(value, Array) else Array(0xAB, made_of(tuple, value, "values"))


def as_texts(value: Iterable[str] | None) -> tuple[str, ...] | None:
    """Converts a value to the tuple that a field of type str16-array keeps (a `TextArray` has another element code)."""
    return value if value is None or isinstance(value, tuple) else made_of(tuple, value, "texts")
