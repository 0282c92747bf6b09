"""Encodes values: maps, lists, arrays and structs, and the choice of a wire type for each value.

The `encode_...` functions raise `EncodeError` and nothing else.  `wire.types` decodes what they write.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Final
from uuid import UUID

from amqp_sansio.errors import EncodeError
from amqp_sansio.kernel.serials import whole
from amqp_sansio.spec import values as v
from amqp_sansio.spec.base import Struct, made_of
from amqp_sansio.spec.values import Array, List, Map, OpaqueValue, RawArray, TextArray, Value
from amqp_sansio.wire.codec import DEFAULT_READING
from amqp_sansio.wire.primitives import OCTET, STR16, put_sizes, put_tag16, put_tag_i64, put_u32
from amqp_sansio.wire.scalars import WRITERS, put_opaque

STRUCT_WRITERS: Final[dict[type[Struct], Callable[..., bytes]]] = {}
"""Writers by class; filled by `wire.layouts.structs`, which needs this module for the maps inside structs."""

_CODES: Final[dict[type, int]] = {
    bool: 0x08,
    float: 0x33,
    str: 0x95,
    UUID: 0x48,
    type(None): 0xF0,
    Decimal: 0xD8,
    dict: 0xA8,
    list: 0xA9,
    tuple: 0xA9,
}


def type_code_of(value: Value) -> int:
    """Returns the type code under which a value is written: its own if it has one, else that of the default mapping.

    Raises EncodeError for a value without one: an int beyond 64 bits, or an instance of another class.
    """
    kind = type(value)
    code = _CODES.get(kind)
    if code is not None:
        return code
    code = getattr(kind, "CODE", None)
    if isinstance(code, int):
        return code
    if isinstance(value, int):
        if value < 1 << 63:
            return 0x31
        return 0x32
    if isinstance(value, bytes):
        return 0x90 if len(value) < 65536 else 0xA0
    if isinstance(value, OpaqueValue):
        return value.code
    if isinstance(value, Struct):
        return 0xAB
    for base, base_code in _CODES.items():
        if isinstance(value, base):
            return base_code
    if isinstance(value, Mapping):
        return 0xA8
    raise EncodeError(kind.__name__, "no type of AMQP 0-10 is known for it; see amqp_sansio.spec.values")


def encode_value(value: Value) -> tuple[int, bytes]:
    """Encodes any value; returns its type code and octets.  Raises EncodeError."""
    code = type_code_of(value)
    return code, _write(code, value, 0)


def _write(code: int, value: Value, depth: int) -> bytes:
    if isinstance(value, OpaqueValue):
        if value.code != code:
            raise EncodeError(f"type 0x{code:02x}", f"cannot hold a value of type 0x{value.code:02x}")
        return put_opaque(value)
    writer = WRITERS.get(code)
    if writer is not None:
        return writer(value)
    if depth >= DEFAULT_READING.nesting:
        raise _too_deep(value)
    if code == 0xA8 and isinstance(value, Mapping):
        return encode_map(value, depth)
    if code == 0xA9 and isinstance(value, list | tuple):
        return encode_list(value, depth)
    if code == 0xAA and isinstance(value, Array):
        return encode_array(value, depth)
    if code == 0xAB and isinstance(value, Struct):
        return _put_inner_struct(value, depth)
    raise EncodeError(f"type 0x{code:02x}", f"cannot hold {type(value).__name__}")


def _too_deep(value: object) -> EncodeError:
    return EncodeError(type(value).__name__, f"at most {DEFAULT_READING.nesting} values are nested in one another")


_CHECKED: Final[dict[int, Struct]] = {}
"""Structs inside the values being written, by identity: their depth was checked together with the outermost one."""


def _put_inner_struct(struct: Struct, depth: int) -> bytes:
    """Encodes a struct inside a value.  Its writer does not know the depth, so its content is checked first, once."""
    if id(struct) in _CHECKED:
        return encode_struct32(struct)
    inner = _inner_structs(struct, depth)
    for each in inner:
        _CHECKED[id(each)] = each
    try:
        return encode_struct32(struct)
    finally:
        for each in inner:
            _CHECKED.pop(id(each), None)


def _inner_structs(struct: Struct, depth: int) -> list[Struct]:
    """Returns the structs inside a struct.  Raises EncodeError when they are nested too deeply."""
    inner: list[Struct] = []
    within: list[tuple[object, int]] = [(each, depth + 1) for each in struct.values()]
    while within:
        value, depth = within.pop()
        found: Sequence[object]
        if isinstance(value, OpaqueValue):
            continue
        if isinstance(value, Struct):
            inner.append(value)
            found = value.values()
        elif isinstance(value, Mapping):
            found = list(value.values())
        elif isinstance(value, list | tuple | Array):
            found = value
        else:
            continue
        if depth >= DEFAULT_READING.nesting:
            raise _too_deep(value)
        for each in found:
            within.append((each, depth + 1))
    return inner


def _inside(value: object, place: str, why: EncodeError) -> EncodeError:
    """Moves an error to the place in `value` that it concerns."""
    error = EncodeError(f"{place}: {why.what}", why.rule)
    error._inside = value
    return error


SHORT: Final[dict[str, bytes]] = {}
"""Texts encoded as str8 with their length: keys of maps, exchange names and content types repeat with every message."""
_SHORT_KEPT: Final = 1024


def put_short(text: str) -> bytes:
    """Encodes a str8 with its length, cached in SHORT. Raises IndexError beyond 255 octets."""
    octets = text.encode()
    octets = OCTET[len(octets)] + octets
    if len(SHORT) >= _SHORT_KEPT:
        SHORT.clear()
    SHORT[str(text)] = octets
    return octets


_INT64: Final = 1 << 63
_PLAIN_MAPS: Final = (dict, Map)  # nearly all: an isinstance check of an abstract base class takes longer than an entry


def encode_map(value: Mapping[str, Value], depth: int = 0) -> bytes:
    """Encodes a map with its size.  Raises EncodeError, which names the key."""
    entries = value._entries if type(value) is Map else value
    parts: list[bytes] = []
    key: object = None
    try:
        for key, item in entries.items():
            parts.append(SHORT.get(key) or put_short(key))
            kind = type(item)
            if kind is str:
                octets = item.encode()  # type: ignore[union-attr]  # `kind` says so
                length = len(octets)
                parts.append(STR16[length] if length < 256 else put_tag16(0x95, length))
                parts.append(octets)
                continue
            if kind is int:
                try:
                    parts.append(put_tag_i64(0x31, item))
                    continue
                except struct.error:
                    pass  # more than 64 bits with a sign
            code = type_code_of(item)
            parts.append(OCTET[code])
            parts.append(_write(code, item, depth + 1))
    except EncodeError as why:
        raise _inside(value, f"map[{key!a}]", why) from None
    except (struct.error, IndexError, UnicodeEncodeError, AttributeError):
        return _put_map_slowly(value, depth)
    if type(value) not in _PLAIN_MAPS and isinstance(value, Map):
        if value.null:
            return b"\0\0\0\0"
        if value.octets is not None:
            return put_u32(len(value.octets)) + value.octets
    octets = b"".join(parts)
    return put_sizes(len(octets) + 4, len(entries)) + octets


def _put_map_slowly(value: Mapping[str, Value], depth: int) -> bytes:
    """Encodes a map item by item, to report what the fast path could not write.

    Only our own values are written here, none from a peer: each level of nested maps would double the cost.
    """
    parts: list[bytes] = []
    for key, item in value.items():
        if not isinstance(key, str):
            raise EncodeError(f"map[{key!r}]", f"a key is a str, not {type(key).__name__}")
        try:
            parts.append(WRITERS[0x85](key))
        except EncodeError as why:
            raise EncodeError(f"map key {key[:32]!a}", why.rule) from None
        try:
            code = type_code_of(item)
            parts.append(OCTET[code])
            parts.append(_write(code, item, depth + 1))
        except EncodeError as why:
            raise _inside(value, f"map[{key!a}]", why) from None
    octets = b"".join(parts)
    return put_sizes(len(octets) + 4, len(value)) + octets


def encode_list(value: Sequence[Value], depth: int = 0) -> bytes:
    """Encodes a list with its size.  Raises EncodeError, which names the index from 0."""
    if isinstance(value, List) and value.null:
        return b"\0\0\0\0"
    parts: list[bytes] = []
    for at, item in enumerate(value):
        kind = type(item)  # the common types first: snapshots and journals are lists of them
        if kind is int and -_INT64 <= item < _INT64:  # type: ignore[operator]  # `kind` says so
            parts.append(put_tag_i64(0x31, item))
        elif kind is tuple:
            parts.append(b"\xa9")
            parts.append(_write(0xA9, item, depth + 1))
        elif kind is bool:
            parts.append(b"\x08\1" if item else b"\x08\0")
        elif item is None:
            parts.append(b"\xf0")
        elif kind is bytes and len(item) < 65536:  # type: ignore[arg-type]
            parts.append(put_tag16(0x90, len(item)))  # type: ignore[arg-type]
            parts.append(item)  # type: ignore[arg-type]
        else:
            try:
                code = type_code_of(item)
                parts.append(OCTET[code])
                parts.append(_write(code, item, depth + 1))
            except EncodeError as why:
                raise _inside(value, f"list[{at}]", why) from None
    octets = b"".join(parts)
    return put_sizes(len(octets) + 4, len(value)) + octets


def encode_array(value: Array, depth: int = 0) -> bytes:
    """Encodes an array with its size.  Raises EncodeError, which names the index from 0."""
    if value.null:
        return b"\0\0\0\0"
    if isinstance(value, RawArray):
        return put_u32(len(value.octets)) + value.octets
    code = value.code
    if not 0 <= code <= 255:
        raise EncodeError("array", f"an element code is an octet, not {code}")
    parts: list[bytes] = []
    for at, item in enumerate(value):
        try:
            parts.append(_write(code, item, depth + 1))
        except EncodeError as why:
            raise _inside(value, f"array[{at}]", why) from None
    octets = b"".join(parts)
    return put_u32(len(octets) + 5) + OCTET[code] + put_u32(len(value)) + octets


def encode_texts(value: tuple[str, ...]) -> bytes:
    """Encodes a str16-array with its size; a `TextArray` or `Array` may choose another element type."""
    if isinstance(value, TextArray):
        if value.null:
            return b"\0\0\0\0"
        if value.code in (0x80, 0x90, 0xA0):
            return encode_array(Array(value.code, [WRITERS[0x95](text)[2:] for text in value]))
        return encode_array(Array(value.code, value))
    return encode_array(value if isinstance(value, Array) else Array(0x95, value))


def encode_struct32(value: Struct) -> bytes:
    """Encodes a coded struct with its size.  Raises EncodeError, which names the field; also for a struct without a code."""
    write = STRUCT_WRITERS.get(type(value))
    if write is None:
        return _put_other_struct(value)
    try:
        return write(value)
    except Exception as why:
        from amqp_sansio.wire import field_interpreter

        if not isinstance(why, field_interpreter.UNWRITABLE):
            raise
        error = field_interpreter.unwritable_struct(value, why)
        error._inside = value
        raise error from None


def _octets(value: bytes) -> bytes:
    return memoryview(value).tobytes()  # not bytes(), which also accepts numbers


def _put_other_struct(value: Struct) -> bytes:
    if isinstance(value, v.NullStruct):
        return b"\0\0\0\0"
    if isinstance(value, v.UnknownStruct):
        for code in (value.class_code, value.code):
            if not whole(code, 255):
                raise EncodeError("unknown struct", f"class and code are octets, not {code!r}")
        octets = made_of(_octets, value.octets, "octets")
        return put_u32(len(octets) + 2) + OCTET[value.class_code] + OCTET[value.code] + octets
    raise EncodeError(value.NAME or type(value).__name__, "has no code: only the fields that have this type can hold it")


import amqp_sansio.wire.layouts.structs  # noqa: E402, F401  (last, for it needs all of the above, and fills STRUCT_WRITERS)
