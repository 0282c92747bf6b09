"""Decodes the type system: maps, lists, arrays and structs, and the public entry points for all types.

The `decode_...` functions raise `DecodeError` and nothing else, whatever the octets are: 503 for impossible sizes, counts and
codes, 531 for text, characters and keys that their type does not allow, 506 for one of our limits (`Reading`).  The `read_...`
functions are their internals, for generated decoders: they may also raise what `BAD` lists.  `wire.encoding` writes what they
read.

Sizes are binding: a count that disagrees with the size is an error.  A size of 0 means «no value» (`NullMap`, `NullList`,
`NullArray`, `NullStruct`).
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Final, TypeAlias, TypeVar

from amqp_sansio.errors import DecodeError
from amqp_sansio.errors.core import many, too_large
from amqp_sansio.spec import values as v
from amqp_sansio.spec.base import Struct
from amqp_sansio.spec.values import (
    Array,
    DoubledMap,
    List,
    Map,
    NullArray,
    NullList,
    NullMap,
    RawArray,
    TextArray,
    Value,
)
from amqp_sansio.wire.codec import DEFAULT_READING, Reading
from amqp_sansio.wire.primitives import blank, get_pair32, u16, u32
from amqp_sansio.wire.scalars import READERS, least_width, span
from amqp_sansio.wire.shapes import Shapes

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
        from amqp_sansio.wire import field_interpreter

        return field_interpreter.read_struct_slowly(why, b, p, end, reading)


_T = TypeVar("_T")


def _edge(
    read: Callable[[bytes, int, int, Reading, int], tuple[_T, int]],
    what: str,
    b: bytes,
    p: int,
    end: int,
    depth: int,
    reading: Reading,
) -> tuple[_T, int]:
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


import amqp_sansio.wire.layouts.structs  # noqa: E402, F401  (last, for it needs all of the above, and fills STRUCT_READERS)
