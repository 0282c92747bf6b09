"""Explicitly typed values: what a map, list or array of AMQP 0-10 may hold, with its wire type in its Python type.

Decoding gives the plain native (bool, int, float, str, bytes, None, UUID, Decimal, `Map`, `List`) where the default mapping
would encode it back to the same octets, and one of the classes here otherwise; so whatever was decoded is encoded to the octets
that it came from.  The default mapping of natives: bool 08; int 31 (int64), 32 (uint64) from 2**63 on; float 33 (double); str
95 (str16; longer than 65535 octets is an error, for 0-10 has no larger text); bytes 90 (vbin16), a0 (vbin32) when longer; UUID
48; None f0; Decimal d8 (dec64); mappings a8; lists and tuples a9; structs ab.

To choose another type, say so: `Uint8(4)`, `Str8("x")`, `Vbin32(b"...")`, `Array(0x22, [1, 2])`.  Range and form are checked
where octets are made (`EncodeError`), not here.  All are immutable, hashable and picklable, and equal to their native value,
except that NaN is equal to NaN of the same octets.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from decimal import Decimal
from typing import ClassVar, Final, Self, TypeAlias
from uuid import UUID

from amqp_sansio.kernel.value import Value as _Fields
from amqp_sansio.kernel.value import frozen
from amqp_sansio.spec.base import Struct, made_of

Value: TypeAlias = "bool | int | float | str | bytes | Decimal | UUID | Map | List | Array | Struct | OpaqueValue | None"
"""Anything that a map or list can hold, as decoding gives it."""

ByteRanges: TypeAlias = tuple[tuple[int, int], ...]
"""Ranges of octets, both ends included, each end 0..2**64-1, ascending and non-touching."""

# --- numbers ---------------------------------------------------------------------------------------------


class Boolean(int):
    """A boolean octet other than 0 and 1: true, all the same.  0..255."""

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
    """-2**63..2**63-1; what a plain int of that range is taken for."""

    __slots__ = ()
    CODE: ClassVar[int] = 0x31


class Uint64(int):
    """0..2**64-1."""

    __slots__ = ()
    CODE: ClassVar[int] = 0x32


class Datetime(int):
    """64 bits of POSIX time, signed; -2**63..2**64-1 is encoded.

    The specification says seconds; some peers send milliseconds, so the number stays as it came (`seconds` guesses).
    """

    __slots__ = ()
    CODE: ClassVar[int] = 0x38

    @property
    def seconds(self) -> float:
        """Seconds since 1970 UTC, taking numbers of 10**11 and more for milliseconds."""
        return int(self) / 1000 if abs(int(self)) >= 100_000_000_000 else float(self)


class Bit(int):
    """The type `bit`: its presence is all it says.  Always 1; not sent by default."""

    __slots__ = ()
    CODE: ClassVar[int] = 0xF1

    def __new__(cls, value: int = 1) -> Self:
        return super().__new__(cls, 1)


class Float(float):
    """IEEE 754 single precision.  A number that a single cannot hold is rounded; one beyond its range is an `EncodeError`.

    `octets` are the four octets of a NaN that came from the wire (None otherwise): payloads differ.
    """

    __slots__ = ("octets",)
    CODE: ClassVar[int] = 0x23
    octets: Final[bytes | None]

    def __new__(cls, value: float, octets: bytes | None = None) -> Self:
        return super().__new__(cls, value)

    def __init__(self, value: float, octets: bytes | None = None) -> None:
        self.octets = octets

    def __eq__(self, other: object) -> bool:
        if self.octets is not None and isinstance(other, Float | Double):
            return self.octets == other.octets
        return float.__eq__(self, other) if isinstance(other, int | float) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.octets) if self.octets is not None else float.__hash__(self)

    def __reduce__(self) -> tuple[type[Self], tuple[float, bytes | None]]:
        return type(self), (float(self), self.octets)


class Double(float):
    """IEEE 754 double precision; what a plain float is taken for.  `octets` are the eight octets of a NaN from the wire."""

    __slots__ = ("octets",)
    CODE: ClassVar[int] = 0x33
    octets: Final[bytes | None]

    def __new__(cls, value: float, octets: bytes | None = None) -> Self:
        return super().__new__(cls, value)

    def __init__(self, value: float, octets: bytes | None = None) -> None:
        self.octets = octets

    def __eq__(self, other: object) -> bool:
        if self.octets is not None and isinstance(other, Float | Double):
            return self.octets == other.octets
        return float.__eq__(self, other) if isinstance(other, int | float) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.octets) if self.octets is not None else float.__hash__(self)

    def __reduce__(self) -> tuple[type[Self], tuple[float, bytes | None]]:
        return type(self), (float(self), self.octets)


class Dec32(Decimal):
    """A decimal of scale 0..255 and a signed 32-bit mantissa."""

    __slots__ = ()
    CODE: ClassVar[int] = 0xC8


class Dec64(Decimal):
    """A decimal of scale 0..255 and a signed 64-bit mantissa; what a plain Decimal is taken for."""

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
    """UTF-8 of at most 65535 octets; what a plain str is taken for."""

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


class Str8Utf16(str):
    """UTF-16 of at most 255 octets (in effect 254): written big-endian and without byte order mark.

    `octets` is what came from the wire where that was in another form (byte order mark, little-endian), else None.
    """

    __slots__ = ("octets",)
    CODE: ClassVar[int] = 0x86
    octets: Final[bytes | None]

    def __new__(cls, value: str, octets: bytes | None = None) -> Self:
        return super().__new__(cls, value)

    def __init__(self, value: str, octets: bytes | None = None) -> None:
        self.octets = octets

    def __reduce__(self) -> tuple[type[Self], tuple[str, bytes | None]]:
        return type(self), (str(self), self.octets)


class Str16Utf16(str):
    """UTF-16 of at most 65535 octets (in effect 65534); see `Str8Utf16`."""

    __slots__ = ("octets",)
    CODE: ClassVar[int] = 0x96
    octets: Final[bytes | None]

    def __new__(cls, value: str, octets: bytes | None = None) -> Self:
        return super().__new__(cls, value)

    def __init__(self, value: str, octets: bytes | None = None) -> None:
        self.octets = octets

    def __reduce__(self) -> tuple[type[Self], tuple[str, bytes | None]]:
        return type(self), (str(self), self.octets)


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
    """At most 65535 octets; what plain bytes of that length are taken for."""

    __slots__ = ()
    CODE: ClassVar[int] = 0x90


class Vbin32(bytes):
    """At most 2**32-1 octets; what longer plain bytes are taken for."""

    __slots__ = ()
    CODE: ClassVar[int] = 0xA0


class OpaqueValue(_Fields):
    """A value whose type code nobody has assigned; its width follows from the code's high nibble.

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
        # `own` is for decoders: the dict is taken over as it is, and whoever made it does not touch it again.
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
    """A map in which a key came twice, as decoding gives it: the last one counts; `octets` is the whole content as it came."""

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
    """True for the form of size 0."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self)!r})"


class NullList(List):
    """The list of size 0."""

    __slots__ = ()
    null = True


class Array(tuple[Value, ...]):
    """Values of one type, in order.  `code` is the type code of every element, also where there is none."""

    CODE: ClassVar[int] = 0xAA
    null: ClassVar[bool] = False
    """True for the form of size 0."""
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
    """An array of command fragments that is not empty: `octets` is what follows the size, for their encoding is undefined."""

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
    """The value of a str16-array field whose elements are not str16: `code` is the type code of every element."""

    CODE: ClassVar[int] = 0xAA
    code: int
    null: bool
    """True for the form of size 0."""

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
    """A struct whose code nobody has assigned.  `octets` is what follows class and code; forwarded as it is."""

    __slots__ = ("class_code", "code", "octets")
    FIELDS: ClassVar[tuple[str, ...]] = ("class_code", "code", "octets")
    NAME: ClassVar[str] = "unknown"

    def __init__(self, class_code: int, code: int, octets: bytes) -> None:
        self.class_code: Final = class_code
        self.code: Final = code
        self.octets: Final = octets


class NullStruct(Struct):
    """A struct of size 0, which says nothing, not even what it is."""

    __slots__ = ()
    NAME: ClassVar[str] = "null"


def as_map(value: Mapping[str, Value] | None) -> Map | None:
    """What a field of type map keeps: a `Map`, made from any mapping."""
    if type(value) is dict:  # what callers nearly always give: copied without the detour through the constructor
        made: Map = object.__new__(Map)
        made._entries = value.copy()
        return made
    return value if value is None or isinstance(value, Map) else made_of(Map, value, "a mapping")


def as_array(value: Iterable[Value] | None) -> Array | None:
    """What a field of type array keeps: an `Array`; other iterables of structs become an array of struct32 (ab)."""
    return value if value is None or isinstance(value, Array) else Array(0xAB, made_of(tuple, value, "values"))


def as_texts(value: Iterable[str] | None) -> tuple[str, ...] | None:
    """What a field of type str16-array keeps: a tuple (a `TextArray` where it came with another element code)."""
    return value if value is None or isinstance(value, tuple) else made_of(tuple, value, "texts")
