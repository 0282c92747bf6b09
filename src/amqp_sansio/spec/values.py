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

from amqp_sansio.kernel.value import Value as _Fields
from amqp_sansio.kernel.value import frozen
from amqp_sansio.spec.base import Struct, made_of
from amqp_sansio.spec.natives import (
    Bin8,
    Bin16,
    Bin32,
    Bin40,
    Bin64,
    Bin72,
    Bin128,
    Bin256,
    Bin512,
    Bin1024,
    Bit,
    Boolean,
    Char,
    CharUtf32,
    Datetime,
    Dec32,
    Dec64,
    Double,
    Float,
    Int8,
    Int16,
    Int32,
    Int64,
    Str8,
    Str8Latin,
    Str8Utf16,
    Str16,
    Str16Latin,
    Str16Utf16,
    Uint8,
    Uint16,
    Uint32,
    Uint64,
    Vbin8,
    Vbin16,
    Vbin32,
)

Value: TypeAlias = "bool | int | float | str | bytes | Decimal | UUID | Map | List | Array | Struct | OpaqueValue | None"
"""Anything that a map or list can hold, as decoding returns it."""

ByteRanges: TypeAlias = tuple[tuple[int, int], ...]
"""Ranges of octets, both ends included, each end 0..2**64-1, ascending and non-touching."""

# --- numbers ---------------------------------------------------------------------------------------------


class OpaqueValue(_Fields):
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


__all__ = [
    "Array",
    "Bin8",
    "Bin16",
    "Bin32",
    "Bin40",
    "Bin64",
    "Bin72",
    "Bin128",
    "Bin256",
    "Bin512",
    "Bin1024",
    "Bit",
    "Boolean",
    "ByteRanges",
    "Char",
    "CharUtf32",
    "Datetime",
    "Dec32",
    "Dec64",
    "Double",
    "DoubledMap",
    "Float",
    "Int8",
    "Int16",
    "Int32",
    "Int64",
    "List",
    "Map",
    "NullArray",
    "NullList",
    "NullMap",
    "NullStruct",
    "OpaqueValue",
    "RawArray",
    "Str8",
    "Str8Latin",
    "Str8Utf16",
    "Str16",
    "Str16Latin",
    "Str16Utf16",
    "TextArray",
    "Uint8",
    "Uint16",
    "Uint32",
    "Uint64",
    "UnknownStruct",
    "Value",
    "Vbin8",
    "Vbin16",
    "Vbin32",
    "as_array",
    "as_map",
    "as_texts",
]
