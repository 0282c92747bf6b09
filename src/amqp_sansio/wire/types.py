"""How values of AMQP 0-10 are decoded: scalars, maps, lists, arrays, structs, and the types that only fields have.

The `decode_...` functions raise `DecodeError` and nothing else, whatever the octets are: 503 for impossible sizes, counts and
codes, 531 for text, characters and keys that their type does not allow, 506 for one of our limits (`Reading`).  `wire.encoding`
writes what they read.

Everything else is internal, for generated decoders.  A reader takes (octets, offset, end, reading, depth) and returns the value
and the offset after it; it may also raise what `BAD` lists for missing or invalid octets, and return an offset beyond `end`.

Sizes are binding: a count that disagrees with the size is an error.  A size of 0 means «no value» (`NullMap`, `NullList`,
`NullArray`, `NullStruct`).

Most verbs are decoded by `read_fields`.  Those on hot paths have straight-line code in their layout, which fails without a
reason: the same octets then go through here, and the error names the field, the offset and the rule.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from decimal import Decimal
from math import isnan
from typing import Final, TypeAlias, TypeVar

from amqp_sansio.errors import DecodeError
from amqp_sansio.errors.core import many, too_large
from amqp_sansio.kernel.serials import RangeSet, serial_add, serial_le, serial_lt
from amqp_sansio.spec import values as v
from amqp_sansio.spec.base import BodyContent, Struct
from amqp_sansio.spec.values import (
    Array,
    ByteRanges,
    DoubledMap,
    List,
    Map,
    NullArray,
    NullList,
    NullMap,
    OpaqueValue,
    RawArray,
    TextArray,
    Value,
)
from amqp_sansio.wire.codec import DEFAULT_READING, FieldTypes, InnerStruct, InnerStructs, Reading
from amqp_sansio.wire.layouts.fields import FIELDS, SHAPES, STRUCTS
from amqp_sansio.wire.primitives import (
    OCTET,
    PAIRS32,
    PAIRS64,
    blank,
    f32,
    f64,
    get_pair32,
    i8,
    i16,
    i32,
    i64,
    struct_head,
    u8,
    u16,
    u32,
    u64,
    uuid_of,
)

ReadValue: TypeAlias = Callable[[bytes, int, int, Reading, int], tuple[Value, int]]

T = TypeVar("T")

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


def _fixed(unpack: Callable[[bytes, int], tuple[int, ...]], make: Callable[[int], Value], width: int) -> ReadValue:
    def read(b: bytes, p: int, end: int, reading: Reading, depth: int) -> tuple[Value, int]:
        return make(unpack(b, p)[0]), p + width

    return read


def _int64(b: bytes, p: int, end: int, reading: Reading, depth: int) -> tuple[Value, int]:
    value: int = i64(b, p)[0]
    return value, p + 8


def _uint64(b: bytes, p: int, end: int, reading: Reading, depth: int) -> tuple[Value, int]:
    if (value := u64(b, p)[0]) < 1 << 63:  # no conditional expression: compiled, it would make a plain int of either
        return v.Uint64(value), p + 8
    return value, p + 8


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


def _decimal(code: int, make: type[Decimal], width: int) -> ReadValue:
    mantissa = i32 if width == 4 else i64

    def read(b: bytes, p: int, end: int, reading: Reading, depth: int) -> tuple[Value, int]:
        number: int = mantissa(b, p + 1)[0]
        return make((int(number < 0), tuple([int(digit) for digit in str(abs(number))]), -b[p])), p + 1 + width

    return read


def _octets(code: int, make: type[bytes]) -> ReadValue:
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


def _latin(code: int, make: type[str]) -> ReadValue:
    def read(b: bytes, p: int, end: int, reading: Reading, depth: int) -> tuple[Value, int]:
        start, stop = span(code, b, p, end)
        return make(b[start:stop].decode(LATIN)), stop

    return read


def _utf16(code: int, make: type[v.Str8Utf16] | type[v.Str16Utf16]) -> ReadValue:
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


def _opaque(code: int) -> ReadValue:
    def read(b: bytes, p: int, end: int, reading: Reading, depth: int) -> tuple[Value, int]:
        start, stop = span(code, b, p, end)
        return OpaqueValue(code, b[start:stop]), stop

    return read


BINARIES: Final[dict[int, type[bytes]]] = {
    kind.CODE: kind
    for kind in (v.Bin8, v.Bin16, v.Bin32, v.Bin64, v.Bin128, v.Bin256, v.Bin512, v.Bin1024, v.Bin40, v.Bin72, v.Vbin8)
}

READERS: Final[dict[int, ReadValue]] = {
    **{code: _opaque(code) for code in range(256)},
    **{code: _octets(code, kind) for code, kind in BINARIES.items()},
    0x01: _fixed(i8, v.Int8, 1),
    0x02: _fixed(u8, v.Uint8, 1),
    0x04: _char,
    0x08: _boolean,
    0x11: _fixed(i16, v.Int16, 2),
    0x12: _fixed(u16, v.Uint16, 2),
    0x21: _fixed(i32, v.Int32, 4),
    0x22: _fixed(u32, v.Uint32, 4),
    0x23: _float,
    0x27: _char_utf32,
    0x31: _int64,
    0x32: _uint64,
    0x33: _double,
    0x38: _fixed(i64, v.Datetime, 8),
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
"""Readers by type code; those of maps, lists, arrays and structs are added below."""


# --- maps that begin like an earlier one -----------------------------------------------------------------------------------

WIDEST: Final = 32
"""The most entries of a shape."""
NAMES: Final = 1024
"""The most names that are remembered."""
_PATIENCE: Final = 16
"""After this number of maps that begin like a shape but continue differently, another shape replaces it."""

Unpack: TypeAlias = "Callable[[bytes, int], tuple[Value, ...]]"
"""Not of `int`: compiled code would turn a boolean into an integer."""

_BOOLEANS: Final = {b"\0": (False,), b"\1": (True,)}


def read_boolean(b: bytes, p: int) -> tuple[Value, ...]:
    """Like `Struct.unpack_from`. Raises struct.error for an octet other than 0 and 1, which must be preserved, and for none."""
    found = _BOOLEANS.get(b[p : p + 1])
    if found is None:
        raise struct.error
    return found


def _boolean_behind(octets: int) -> Unpack:
    """Returns a reader of this number of octets, followed by a boolean as in `read_boolean`."""

    def read(b: bytes, p: int) -> tuple[Value, ...]:
        return b[p : p + octets], *read_boolean(b, p + octets)

    return read


KnownEntry: TypeAlias = "tuple[bytes, int, str, Unpack | None, bytes, str]"
"""What is known in advance of an entry, or of a number and the text after it.

* Its head: the size of the name, the name and the type code; for a text also the octets of the size but the last one.
* The number of octets of the head and, unless it is a text, of the value; where a text follows, up to the end of its size.
* Its name.
* The reader of head and value, and of the head of the text that follows; None for a text.
* Head and name of that text; empty if there is none.

A plain tuple, because unpacking a named one takes longer than everything else.
"""


class Shape:
    """A sequence of entries without a repeated name. An empty one stands for an unknown shape."""

    __slots__ = ("entries", "letters", "missed", "size")

    def __init__(self, entries: tuple[KnownEntry, ...] = (), letters: bytes = b"") -> None:
        self.entries: Final = entries
        self.letters: Final = letters
        self.size: Final = len(letters)
        self.missed = 0 if entries else _PATIENCE
        """How many maps began like it but continued differently."""


class Shapes:
    """Reads entries of one encoding, and remembers their shapes.

    `text_head` is the type code of a text and the octets of its size, all 0, but the last one; `forms` has the other values by
    type code; `boolean` is the type code of a boolean, None if the encoding has none.
    """

    __slots__ = ("_boolean", "_names", "_shapes", "_size", "_text", "_text_head", "_text_width", "_widths")

    def __init__(self, text_head: bytes, forms: Mapping[int, struct.Struct], boolean: int | None) -> None:
        self._text_head: Final = text_head
        self._text: Final = text_head[0]
        self._text_width: Final = len(text_head)
        self._size: Final = u16 if len(text_head) == 2 else u32
        self._boolean: Final = boolean
        self._widths: Final[dict[int, tuple[Unpack, int, str]]] = {
            letter: (form.unpack_from, form.size, form.format.lstrip(">")) for letter, form in forms.items()
        }
        if boolean is not None:
            self._widths[boolean] = read_boolean, 1, ""
        self._names: Final[set[str]] = set()
        self._shapes: Final = [Shape()] * 256
        """By the size of the first name."""

    def read(self, b: bytes, at: int, stop: int, entries: dict[str, Value]) -> tuple[int, bytes]:
        """Adds the entries from `at` to `stop`, or to the first of another type; returns its offset and the type codes.

        There are more type codes than entries if a name repeats. Raises one of `types.BAD` for an entry that goes past `stop`.
        """
        first = at
        shape = self._shapes[b[at] if at < stop else 0]
        # Entries are not checked against the end: each one advances, so if the last one ends there, all were inside.
        try:
            for head, octets, name, unpack, text_head, text in shape.entries:
                if unpack is None:
                    behind = at + octets
                    if b[at:behind] != head:
                        break
                    at = b[behind]
                    behind += 1
                    at += behind
                    entries[name] = b[behind:at].decode()
                elif text_head:
                    found, value, second = unpack(b, at)
                    if found != head or second != text_head:
                        break
                    entries[name] = value
                    behind = at + octets
                    at = b[behind - 1] + behind
                    entries[text] = b[behind:at].decode()
                else:
                    found, value = unpack(b, at)
                    if found != head:
                        break
                    entries[name] = value
                    at += octets
        except struct.error:
            pass  # too short, or it continues differently
        if at != stop or len(entries) != shape.size:
            letters = shape.letters[: len(entries)]
            at, rest = self._read_on(b, at, stop, entries)
            letters += rest
            if at == stop and len(entries) == len(letters) and entries:
                self._learn(shape, b[first], entries, letters)
            return at, letters
        return at, shape.letters

    def _read_on(self, b: bytes, at: int, stop: int, entries: dict[str, Value]) -> tuple[int, bytes]:
        """Like `read`, without a shape."""
        letters: list[int] = []
        widths = self._widths
        while at < stop:
            behind = at + 1 + b[at]
            name = b[at + 1 : behind].decode()
            letter = b[behind]
            behind += 1
            if letter == self._text:
                size: int = self._size(b, behind)[0]
                behind += self._text_width
                at = behind + size
                entries[name] = b[behind:at].decode()
            elif letter in widths:
                unpack, width, _ = widths[letter]
                try:
                    entries[name] = unpack(b, behind)[0]
                except struct.error:
                    break
                at = behind + width
            else:
                break
            letters.append(letter)
        if at > stop:
            raise IndexError
        return at, bytes(letters)

    def _learn(self, before: Shape, size: int, names: Mapping[str, object], letters: bytes) -> None:
        """Records entries of unknown shape; `before` is the shape for the size of the first name."""
        before.missed += 1
        if before.missed < _PATIENCE or len(letters) > WIDEST:
            return
        if not self._names.issuperset(names):  # names that never recur make no shape
            if len(self._names) >= NAMES:
                self._names.clear()
            self._names.update(names)
            return
        made: list[KnownEntry] = []
        number = ""  # the form of the entry before, if it is a number
        for name, letter in zip(names, letters, strict=True):
            head = name.encode()
            head = OCTET[len(head)] + head + (self._text_head if letter == self._text else OCTET[letter])
            octets, form = len(head), ""
            if letter == self._boolean:
                made.append((head, octets + 1, name, _boolean_behind(octets), b"", ""))
            elif letter != self._text:
                form = f">{octets}s{self._widths[letter][2]}"
                made.append((head, octets + self._widths[letter][1], name, struct.Struct(form).unpack_from, b"", ""))
            elif number:
                first, width, of_number, *_ = made.pop()
                both = struct.Struct(f"{number}{octets}s").unpack_from
                made.append((first, width + octets + 1, of_number, both, head, name))
            else:
                made.append((head, octets, name, None, b"", ""))
            number = form
        self._shapes[size] = Shape(tuple(made), letters)


# --- maps, lists, arrays and structs ---------------------------------------------------------------------------------------

BAD: Final = (struct.error, IndexError, UnicodeDecodeError)
"""What readers may raise besides DecodeError for missing or invalid octets."""

StructDecoder: TypeAlias = Callable[[bytes, int, int, int, Reading, int], Struct]
"""(octets, offset of the first field, end, flags, reading, depth) -> the struct."""

STRUCT_READERS: Final[dict[int, StructDecoder]] = {}
"""Readers by class and code as one number; filled by `wire.layouts.structs`, which needs this module for maps in structs."""

_SHAPES: Final = Shapes(b"\x95\0", {0x31: struct.Struct(">q")}, 0x08)
"""The shapes of maps of str16, int64 and boolean values, which most headers have."""

NULL_MAP: Final = NullMap()
NULL_LIST: Final = NullList()
NULL_ARRAY: Final = NullArray()


def _too_deep(what: str, p: int, reading: Reading) -> DecodeError:
    return DecodeError(what, p, f"limit nesting is {reading.nesting}", 506)


def _size(what: str, least: int, b: bytes, p: int, end: int) -> int:
    """Returns the checked size of a map, list or array: 0, or from `least` to the octets that are left."""
    if p + 4 > end:
        raise DecodeError(what, p, f"its size takes 4 octets, {max(0, end - p)} are left")
    size: int = u32(b, p)[0]
    if size > end - p - 4:
        raise DecodeError(what, p, too_large(size, end - p - 4))
    if 0 < size < least:
        raise DecodeError(what, p, f"a size of {size} has no room for what must be there, {least} octets")
    return size


def read_map(b: bytes, p: int, end: int, reading: Reading, depth: int) -> tuple[Map, int]:
    """Decodes a map from its size on."""
    content = p + 4
    if content + 4 > end:
        return NULL_MAP, content + _size("map", 4, b, p, end)
    size, count = get_pair32(b, p)
    stop = content + size
    if stop > end or size < 4:
        return NULL_MAP, content + _size("map", 4, b, p, end)
    if depth >= reading.nesting:
        raise _too_deep("map", p, reading)
    if reading.text != "strict":
        return _read_map_slowly(b, content, stop, count, reading, depth)
    entries: dict[str, Value] = {}
    p, _ = _SHAPES.read(b, content + 4, stop, entries)
    # Entries are not checked against the map's end: each one advances, so if the last one ends there, all were inside.
    while p < stop:
        q = p + 1 + b[p]
        key = b[p + 1 : q].decode()
        entries[key], p = READERS[b[q]](b, q + 1, stop, reading, depth + 1)
    if p != stop or len(entries) != count:
        if p == stop and _pairs(b, content + 4, stop) == count:  # decoding again would double the cost at each level
            return _odd_map(entries, b, content, p, stop, count, reading), stop
        return _read_map_slowly(b, content, stop, count, reading, depth)
    made = blank(Map)  # half the cost of Map(entries, True)
    made._entries = entries
    return made, stop


def _pairs(b: bytes, p: int, stop: int) -> int:
    """Counts the entries up to the end of a map, which were all readable, without decoding them."""
    count = 0
    while p < stop:
        p += 1 + b[p]
        p = span(b[p], b, p + 1, stop)[1]
        count += 1
    return count


def _read_map_slowly(b: bytes, content: int, stop: int, count: int, reading: Reading, depth: int) -> tuple[Map, int]:
    """Decodes a map with lenient text, or finds the error.  It fails wherever the fast path has failed."""
    if count * 2 > stop - content - 4:
        raise DecodeError("map", content, f"{count} entries do not fit into {many(stop - content - 4, 'octet')}")
    entries: dict[str, Value] = {}
    p = content + 4
    for _ in range(count):
        key, p = READERS[0x85](b, p, stop, reading, depth)
        if p >= stop:
            raise DecodeError("map key", p, "it goes beyond the map")
        entries[str(key)], p = READERS[b[p]](b, p + 1, stop, reading, depth + 1)
    return _odd_map(entries, b, content, p, stop, count, reading), stop


def _odd_map(entries: dict[str, Value], b: bytes, content: int, p: int, stop: int, count: int, reading: Reading) -> Map:
    """Returns the map if its entries end where its size does; a `DoubledMap` if a key repeats."""
    if p != stop:
        where = "before" if p < stop else "after"
        raise DecodeError("map", p, f"{count} entries end {many(abs(stop - p), 'octet')} {where} its size")
    if len(entries) == count:
        return Map(entries, True)
    if reading.canonical:
        raise DecodeError("map", content, "a key comes twice", 531)
    return DoubledMap(entries, b[content:stop])


def read_list(b: bytes, p: int, end: int, reading: Reading, depth: int) -> tuple[List, int]:
    """Decodes a list from its size on."""
    size = _size("list", 4, b, p, end)
    content = p + 4
    stop = content + size
    if size == 0:
        return NULL_LIST, stop
    count: int = u32(b, content)[0]
    if count > size - 4:
        raise DecodeError("list", content, f"{count} elements do not fit into {many(size - 4, 'octet')}")
    if depth >= reading.nesting:
        raise _too_deep("list", p, reading)
    items: list[Value] = []
    p = content + 4
    for _ in range(count):
        if p >= stop:
            raise DecodeError("list", p, f"its count says {count}, its size ends after {len(items)}")
        item, p = READERS[b[p]](b, p + 1, stop, reading, depth + 1)
        items.append(item)
    if p != stop:
        raise DecodeError(
            "list", p, f"{count} elements end {many(abs(stop - p), 'octet')} {'before' if p < stop else 'after'} its size"
        )
    return List(items), stop


def read_array(b: bytes, p: int, end: int, reading: Reading, depth: int) -> tuple[Array, int]:
    """Decodes an array from its size on."""
    size = _size("array", 5, b, p, end)
    content = p + 4
    stop = content + size
    if size == 0:
        return NULL_ARRAY, stop
    code = b[content]
    count: int = u32(b, content + 1)[0]
    least = least_width(code, content)
    if least == 0 and count > reading.zero_width_elements:
        raise DecodeError("array", content, f"limit zero_width_elements is {reading.zero_width_elements}; {count} came", 506)
    if count * least > size - 5:
        raise DecodeError("array", content, f"{count} elements of type 0x{code:02x} do not fit into {many(size - 5, 'octet')}")
    if depth >= reading.nesting:
        raise _too_deep("array", p, reading)
    read = READERS[code]
    items: list[Value] = []
    p = content + 5
    for _ in range(count):
        item, p = read(b, p, stop, reading, depth + 1)
        items.append(item)
    if p != stop:
        raise DecodeError(
            "array", p, f"{count} elements end {many(abs(stop - p), 'octet')} {'before' if p < stop else 'after'} its size"
        )
    return Array(code, items), stop


def read_fragments(b: bytes, p: int, end: int, reading: Reading, depth: int) -> tuple[Array, int]:
    """Decodes the arrays of command fragments: their elements have no defined encoding, so they are kept as octets."""
    size = _size("array", 5, b, p, end)
    content = p + 4
    stop = content + size
    if size == 0:
        return NULL_ARRAY, stop
    if size == 5 and b[content + 1 : stop] == b"\0\0\0\0":
        return Array(b[content]), stop
    return RawArray(b[content], b[content:stop]), stop


_TEXTS: Final = frozenset({0x84, 0x85, 0x86, 0x90, 0x94, 0x95, 0x96, 0x80, 0xA0})


def read_texts(b: bytes, p: int, end: int, reading: Reading, depth: int) -> tuple[tuple[str, ...], int]:
    """Decodes an array of texts: a plain tuple for elements of str16 (95), an `Array` for any other type.

    Elements of a binary type are decoded as UTF-8 and keep their element code.
    """
    array, stop = read_array(b, p, end, reading, depth)
    if array.code == 0x95 and not array.null:
        return tuple([item for item in array if isinstance(item, str)]), stop
    if array and array.code not in _TEXTS:
        raise DecodeError("str16-array", p + 4, f"elements of type 0x{array.code:02x} are no text", 531)
    if array.code in (0x80, 0x90, 0xA0):
        texts = [item.decode("utf-8", reading.text) for item in array if isinstance(item, bytes)]
        return TextArray(array.code, texts), stop
    return TextArray(array.code, [item for item in array if isinstance(item, str)], array.null), stop


def read_struct32(b: bytes, p: int, end: int, reading: Reading, depth: int) -> tuple[Struct, int]:
    """Decodes a coded struct from its size on: `UnknownStruct` for unknown codes, `NullStruct` for size 0."""
    size = _size("struct32", 2, b, p, end)
    start = p + 4
    stop = start + size
    if size == 0:
        return v.NullStruct(), stop
    if depth >= reading.nesting:
        raise _too_deep("struct32", p, reading)
    decode = STRUCT_READERS.get(u16(b, start)[0])
    if decode is None:
        return v.UnknownStruct(b[start], b[start + 1], b[start + 2 : stop]), stop
    if size < 4:
        raise DecodeError("struct32", p, f"a size of {size} has no room for its flags")
    return decode(b, start + 4, stop, u16(b, start + 2)[0], reading, depth + 1), stop


READERS.update({0xA8: read_map, 0xA9: read_list, 0xAA: read_array, 0xAB: read_struct32})


# --- sets of command ids and of octets, which only fields have --------------------------------------------------------------


def read_set(b: bytes, p: int, end: int, reading: Reading, depth: int) -> tuple[RangeSet, int]:
    """Decodes a sequence-set.  Joins unordered, overlapping or adjacent ranges (531 if `canonical`); a reversed one is 531."""
    size: int = u16(b, p)[0]
    start = p + 2
    stop = start + size
    if stop > end:
        raise DecodeError("sequence-set", p, too_large(size, max(0, end - start)))
    if size == 8:
        low, high = get_pair32(b, start)
        if not serial_le(low, high):
            raise DecodeError("sequence-set", start, f"the range {low} to {high} is turned round", 531)
        return RangeSet.span(low, high), stop
    if size % 8:
        raise DecodeError("sequence-set", p, f"a range takes 8 octets; {size} is no multiple")
    if size // 8 > reading.ranges:
        raise DecodeError("sequence-set", p, f"limit ranges is {reading.ranges}; {size // 8} came", 506)
    pairs = list(PAIRS32.iter_unpack(b[start:stop]))
    for low, high in pairs:
        if not serial_le(low, high):
            raise DecodeError("sequence-set", start, f"the range {low} to {high} is turned round", 531)
    if reading.canonical:
        before = pairs[0][1] if pairs else 0
        for low, high in pairs[1:]:
            if not serial_lt(serial_add(before, 1), low):
                raise DecodeError("sequence-set", start, f"the range {low} to {high} does not stand apart behind {before}", 531)
            before = high
    ids = RangeSet(pairs)
    ranges = ids.ranges
    if len(ranges) < len(pairs):  # joined ranges may span more than half of all numbers, where order is undefined
        for low, high in ranges:
            if not serial_le(low, high):
                raise DecodeError("sequence-set", start, f"the ids from {low} to {high} span half of all numbers or more", 531)
    return ids, stop


def read_byte_ranges(b: bytes, p: int, end: int, reading: Reading, depth: int) -> tuple[ByteRanges, int]:
    """Decodes byte-ranges: pairs of inclusive offsets, ascending and not adjacent (531 otherwise)."""
    size: int = u16(b, p)[0]
    start = p + 2
    stop = start + size
    if stop > end:
        raise DecodeError("byte-ranges", p, too_large(size, max(0, end - start)))
    if size % 16:
        raise DecodeError("byte-ranges", p, f"a range takes 16 octets; {size} is no multiple")
    ranges = tuple(PAIRS64.iter_unpack(b[start:stop]))
    why = wrong_ranges(ranges)
    if why:
        raise DecodeError("byte-ranges", start, why, 531)
    return ranges, stop


def wrong_ranges(ranges: ByteRanges) -> str:
    """Returns what is wrong with byte-ranges; "" for nothing."""
    before = -2
    for low, high in ranges:
        if not 0 <= low <= high < 1 << 64:
            return f"{low} to {high} is no range of 64-bit offsets"
        if low <= before + 1:
            return f"the range {low} to {high} does not stand apart behind the one before it"
        before = high
    return ""


# --- fields ---------------------------------------------------------------------------------------------------------------

FieldReader: TypeAlias = Callable[[bytes, int, int, Reading, int], tuple[object, int]]
FieldWriter: TypeAlias = Callable[..., bytes]


def mask(index: int) -> int:
    """Returns the flag of field `index` in the two flag octets, as one number."""
    return 1 << (index % 8) << (8 if index < 8 else 0)


MASKS: Final = tuple([mask(index) for index in range(16)])
KNOWN: Final = tuple([sum(MASKS[:count]) for count in range(17)])
"""All defined flags, by the number of fields."""


def _str8_field(b: bytes, p: int, end: int, reading: Reading, depth: int) -> tuple[str, int]:
    start, stop = span(0x85, b, p, end)
    return b[start:stop].decode("utf-8", reading.text), stop


def _words(code: int, between: str) -> FieldReader:
    """Returns a reader that splits a text without loss; an empty one has no parts."""

    def read(b: bytes, p: int, end: int, reading: Reading, depth: int) -> tuple[object, int]:
        start, stop = span(code, b, p, end)
        text = b[start:stop].decode("utf-8", reading.text)
        return tuple(text.split(between)) if text else (), stop

    return read


def _content(b: bytes, p: int, end: int, reading: Reading, depth: int) -> tuple[object, int]:
    """Decodes the content of 0-9's message.transfer: 0 for inline or 1 for a reference, then a long string."""
    if p < end and b[p] > 1:
        raise DecodeError("content", p, f"a content is 0, inline, or 1, a reference, not {b[p]}", 502)
    start, stop = span(0xA0, b, p + 1, end)
    return BodyContent(b[start:stop], b[p] == 1), stop


FIELD_READERS: Final[dict[str, FieldReader]] = {
    "uint8": _fixed(u8, int, 1),
    "uint16": _fixed(u16, int, 2),
    "uint32": _fixed(u32, int, 4),
    "uint64": _fixed(u64, int, 8),
    "sequence-no": _fixed(u32, int, 4),
    "datetime": READERS[0x31],
    "str8": _str8_field,
    "str16": READERS[0x95],
    "vbin8": _octets(0x80, bytes),
    "vbin16": READERS[0x90],
    "vbin32": _octets(0xA0, bytes),
    "uuid": READERS[0x48],
    "map": read_map,
    "array": read_array,
    "fragments": read_fragments,
    "texts": read_texts,
    "struct32": read_struct32,
    "sequence-set": read_set,
    "byte-ranges": read_byte_ranges,
    "words8": _words(0x85, " "),
    "words32": _words(0xA0, " "),
    "hosts8": _words(0x85, ","),
    "content": _content,
}


def read_fields(
    kind: Callable[..., T],
    what: str,
    fields: FieldTypes,
    shapes: InnerStructs,
    b: bytes,
    p: int,
    end: int,
    flags: int,
    reading: Reading,
    sized: bool,
) -> T:
    """Decodes a control, command or struct whose fields begin at `p`.  Raises DecodeError, which names the field.

    Unless it is `sized`, undefined flags are an error.
    """
    known = KNOWN[len(fields)]
    if not sized and flags & ~known:
        raise DecodeError(what, p - 2, f"flags 0x{flags & ~known:04x} belong to no field")
    if p > end:
        raise DecodeError(what, p, "octets are missing")
    values: list[object] = []
    for index, (name, of) in enumerate(fields):
        if of == "bit":
            values.append(flags & MASKS[index] != 0)
            continue
        if not flags & MASKS[index]:
            values.append(None)
            continue
        try:
            read = FIELD_READERS.get(of)
            if read is None:
                value, stop = _read_struct(f"{what}.{name}", shapes[of], shapes, b, p, end, reading)
            else:
                value, stop = read(b, p, end, reading, 0)
        except DecodeError as why:
            full = f"{what}.{name}"
            plain = why.what == of or why.what.startswith("type 0x")
            inner = why.what if why.what.startswith(full) else full if plain else f"{full}: {why.what}"
            raise DecodeError(inner, min(why.octet, end), why.rule, why.code) from None
        except BAD as why:
            error = decode_error(why, f"{what}.{name}", p)
            if error.code == 531:
                raise error from None
            raise missing(error.what, p, end) from None
        if stop > end:
            raise missing(f"{what}.{name}", p, end, stop)
        values.append(value)
        p = stop
    return kind(*values)


def _read_struct(
    full: str, shape: InnerStruct, shapes: InnerStructs, b: bytes, p: int, end: int, reading: Reading
) -> tuple[object, int]:
    kind, fields, size, key = shape
    if p + size > end:
        raise DecodeError(full, p, f"its size takes {many(size, 'octet')}, {max(0, end - p)} are left")
    length = u16(b, p)[0] if size == 2 else u32(b, p)[0]
    start = p + size
    stop = start + length
    if stop > end:
        raise DecodeError(full, p, too_large(length, end - start))
    if length == 0:
        return kind(), stop
    head = 2 if key is None else 4
    if length < head:
        raise DecodeError(full, p, f"a size of {length} has no room for its flags")
    if key is not None and u16(b, start)[0] != key:
        raise DecodeError(full, start, f"a struct of code {key:04x} belongs here, not {u16(b, start)[0]:04x}")
    flags = u16(b, start + head - 2)[0]
    return read_fields(kind, full, fields, shapes, b, start + head, stop, flags, reading, True), stop


def missing(what: str, p: int, end: int, stop: int | None = None, code: int = 503) -> DecodeError:
    """Returns the error for a value at `p` that exceeds `end`; `stop` is its own end, if known."""
    wanted = "octets are missing:" if stop is None else f"needs {many(stop - p, 'octet')},"
    return DecodeError(what, p, f"{wanted} {max(0, end - p)} are left", code)


# --- entry points ---------------------------------------------------------------------------------------------------------


def decode_value(
    code: int, b: bytes, p: int, end: int, depth: int = 0, reading: Reading = DEFAULT_READING
) -> tuple[Value, int]:
    """Decodes the value of type `code` at `p`, after its type code; returns it and its end.  Raises DecodeError."""
    return _edge(READERS[code], f"type 0x{code:02x}", b, p, end, depth, reading)


def decode_map(b: bytes, p: int, end: int, depth: int = 0, reading: Reading = DEFAULT_READING) -> tuple[Map, int]:
    """Decodes the map whose size begins at `p`; returns it and its end.  Raises DecodeError.

    A body of content type amqp/map is such a map.
    """
    return _edge(read_map, "map", b, p, end, depth, reading)


def decode_list(b: bytes, p: int, end: int, depth: int = 0, reading: Reading = DEFAULT_READING) -> tuple[List, int]:
    """Decodes the list whose size begins at `p`; returns it and its end.  Raises DecodeError.

    A body of content type amqp/list is such a list.
    """
    return _edge(read_list, "list", b, p, end, depth, reading)


def decode_struct32(b: bytes, p: int, end: int, depth: int = 0, reading: Reading = DEFAULT_READING) -> tuple[Struct, int]:
    """Decodes the coded struct whose size begins at `p`; returns it and its end.  Raises DecodeError, which names the field."""
    try:
        return read_struct32(b, p, end, reading, depth)
    except (*BAD, DecodeError) as why:
        return _read_struct_slowly(why, b, p, end, reading)


def _edge(
    read: Callable[[bytes, int, int, Reading, int], tuple[T, int]],
    what: str,
    b: bytes,
    p: int,
    end: int,
    depth: int,
    reading: Reading,
) -> tuple[T, int]:
    try:
        value, stop = read(b, p, end, reading, depth)
    except DecodeError:
        raise
    except BAD as why:
        raise decode_error(why, what, p) from None
    if stop > end:
        raise DecodeError(what, p, f"needs {many(stop - p, 'octet')}, {end - p} are left")
    return value, stop


def decode_error(why: Exception, what: str, p: int) -> DecodeError:
    """Converts one of BAD."""
    if isinstance(why, UnicodeDecodeError):
        return DecodeError(what, p, f"text is not {why.encoding}: {why.reason}", 531)
    return DecodeError(what, p, "octets are missing")


def _read_struct_slowly(why: Exception, b: bytes, p: int, end: int, reading: Reading) -> tuple[Struct, int]:
    """Decodes a coded struct on which the fast path gave up because of `why`.  Raises DecodeError."""
    if p + 8 <= end:
        size, key, flags = struct_head(b, p)
        kind = STRUCTS.get(key)
        if kind is not None and 4 <= size <= end - p - 4:
            stop = p + 4 + size
            return read_fields(kind, kind.NAME, FIELDS[kind], SHAPES, b, p + 8, stop, flags, reading, True), stop
    raise why if isinstance(why, DecodeError) else decode_error(why, "struct32", p)


# Last, for it needs all of the above; its last import, `wire.layouts.structs`, fills STRUCT_READERS.
import amqp_sansio.wire.encoding  # noqa: E402, F401
