"""How values of AMQP 0-10 are encoded: scalars, maps, lists, arrays, structs, the types that only fields have; and the choice
of a type for each value.

The `encode_...` functions raise `EncodeError` and nothing else.  A writer returns the octets without the type code and raises
`EncodeError` for a value that the type cannot hold.  `wire.types` decodes what they write.

Most verbs are encoded by `write_fields`.  Its writers, and the straight-line code in layouts, may fail without a reason, with
one of `UNWRITABLE`; `unwritable` then finds the field and the reason.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Final, TypeAlias
from uuid import UUID

from amqp_sansio.errors import EncodeError
from amqp_sansio.kernel.serials import RangeSet, serial_le, whole
from amqp_sansio.kernel.value import ValueObject
from amqp_sansio.spec import values as v
from amqp_sansio.spec.base import BodyContent, Struct, made_of
from amqp_sansio.spec.values import Array, ByteRanges, List, Map, OpaqueValue, RawArray, TextArray, Value
from amqp_sansio.wire.codec import DEFAULT_READING, FieldTypes, InnerStruct, InnerStructs
from amqp_sansio.wire.layouts.fields import FIELDS, SHAPES
from amqp_sansio.wire.primitives import (
    OCTET,
    OCTET_OF,
    STR16,
    put_f32,
    put_f64,
    put_i8,
    put_i16,
    put_i32,
    put_i64,
    put_pair32,
    put_pair64,
    put_set_of_one,
    put_sized16_head,
    put_sizes,
    put_struct_head,
    put_tag16,
    put_tag_i64,
    put_u8,
    put_u16,
    put_u32,
    put_u64,
)
from amqp_sansio.wire.types import (
    BAD,
    BINARIES,
    FIXED,
    LATIN,
    MASKS,
    PREFIXES,
    FieldWriter,
    fixed_width,
    prefix_width,
    wrong_ranges,
)

WriteValue: TypeAlias = Callable[[Value], bytes]


def _integer(name: str, low: int, high: int, pack: Callable[[int], bytes]) -> WriteValue:
    def write(value: Value) -> bytes:
        if not isinstance(value, int):
            raise EncodeError(name, f"takes an int, not {type(value).__name__}")
        if not low <= value <= high:
            raise EncodeError(name, f"{value} is not within {low} to {high}")
        return pack(value)

    return write


def put_datetime(value: int) -> bytes:
    """Encodes -2**63 to 2**64-1 in eight octets; raises `struct.error` outside."""
    return put_i64(value) if value < 1 << 63 else put_u64(value)


def _put_boolean(value: Value) -> bytes:
    if not isinstance(value, int):
        raise EncodeError("boolean", f"takes a bool, not {type(value).__name__}")
    if not 0 <= value <= 255:
        raise EncodeError("boolean", f"{int(value)} is not within 0 to 255")
    return OCTET[value]


def _number(name: str, pack: Callable[[float], bytes]) -> WriteValue:
    def write(value: Value) -> bytes:
        if not isinstance(value, float | int):
            raise EncodeError(name, f"takes a float, not {type(value).__name__}")
        octets = getattr(value, "octets", None)
        if isinstance(octets, bytes) and len(octets) == struct.calcsize(">f" if name == "float" else ">d"):
            return octets
        try:
            return pack(value)
        except (OverflowError, struct.error):
            raise EncodeError(name, f"{value!r} is beyond its range") from None

    return write


def _put_decimal(name: str, bits: int, pack: Callable[[int], bytes]) -> WriteValue:
    top = 1 << bits - 1

    def write(value: Value) -> bytes:
        if not isinstance(value, Decimal):
            raise EncodeError(name, f"takes a Decimal, not {type(value).__name__}")
        sign, digits, exponent = value.as_tuple()
        if not isinstance(exponent, int):
            raise EncodeError(name, f"{value} is not a number")
        if exponent < -255:
            raise EncodeError(name, f"{value} has {-exponent} decimal places; 255 is the most")
        # The mantissa has at most 19 digits: more digits, or an exponent of 20, cannot fit and need not be computed.
        if len(digits) > 20 or (exponent > 20 and any(digits)):
            raise EncodeError(name, f"the mantissa of {value} does not fit into {bits} bits")
        mantissa = int("".join(map(str, digits)))
        if exponent > 0 and mantissa:
            mantissa *= 10**exponent
        mantissa = -mantissa if sign else mantissa
        if not -top <= mantissa < top:
            raise EncodeError(name, f"the mantissa of {value} does not fit into {bits} bits")
        return OCTET[max(0, -exponent)] + pack(mantissa)

    return write


def _prefixed(code: int, octets: bytes, name: str) -> bytes:
    width = PREFIXES[code >> 4]
    if len(octets) >> (8 * width):
        raise EncodeError(name, f"holds at most {(1 << 8 * width) - 1} octets; {len(octets)} given")
    return len(octets).to_bytes(width, "big") + octets


def _text(code: int, name: str, encoding: str) -> WriteValue:
    def write(value: Value) -> bytes:
        if not isinstance(value, str):
            raise EncodeError(name, f"takes a str, not {type(value).__name__}")
        kept = getattr(value, "octets", None)
        if kept is not None and encoding == "utf-16-be":
            return _prefixed(code, kept, name)
        try:
            octets = value.encode(encoding)
        except UnicodeEncodeError as why:
            raise EncodeError(name, f"{encoding} has no {why.object[why.start]!a}") from None
        if encoding == "utf-16-be" and octets[:2] in (b"\xfe\xff", b"\xff\xfe"):
            octets = b"\xfe\xff" + octets  # otherwise a decoder would take the first character for a byte order mark
        return _prefixed(code, octets, name)

    return write


def _put_char(value: Value) -> bytes:
    if not isinstance(value, str) or len(value) != 1:
        raise EncodeError("char", f"takes a str of one character, not {value!r}")
    try:
        return value.encode(LATIN)
    except UnicodeEncodeError:
        raise EncodeError("char", f"ISO 8859-15 has no {value!a}") from None


def _put_char_utf32(value: Value) -> bytes:
    if not isinstance(value, str) or len(value) != 1:
        raise EncodeError("char-utf32", f"takes a str of one character, not {value!r}")
    if 0xD800 <= ord(value) <= 0xDFFF:
        raise EncodeError("char-utf32", f"{value!a} is not a Unicode scalar value")
    return put_u32(ord(value))


def _fixed_octets(code: int, name: str) -> WriteValue:
    width = FIXED[code >> 4]

    def write(value: Value) -> bytes:
        if not isinstance(value, bytes):
            raise EncodeError(name, f"takes bytes, not {type(value).__name__}")
        if len(value) != width:
            raise EncodeError(name, f"holds {width} octets; {len(value)} given")
        return bytes(value)

    return write


def _variable_octets(code: int, name: str) -> WriteValue:
    def write(value: Value) -> bytes:
        if not isinstance(value, bytes):
            raise EncodeError(name, f"takes bytes, not {type(value).__name__}")
        return _prefixed(code, value, name)

    return write


def _put_uuid(value: Value) -> bytes:
    if not isinstance(value, UUID):
        raise EncodeError("uuid", f"takes a UUID, not {type(value).__name__}")
    return value.bytes


def _put_nothing(value: Value) -> bytes:
    return b""


def put_opaque(value: OpaqueValue) -> bytes:
    """Encodes a value of an unknown type, with a length prefix where its code requires one."""
    name = f"type 0x{value.code:02x}"
    if prefix_width(value.code) is not None:
        return _prefixed(value.code, value.octets, name)
    width = fixed_width(value.code)
    if width is None:
        raise EncodeError(name, "no type has such a code")
    if len(value.octets) != width:
        raise EncodeError(name, f"holds {width} octets; {len(value.octets)} given")
    return value.octets


WRITERS: Final[dict[int, WriteValue]] = {
    **{code: _fixed_octets(code, kind.__name__.lower()) for code, kind in BINARIES.items() if code != 0x80},
    0x01: _integer("int8", -(1 << 7), (1 << 7) - 1, put_i8),
    0x02: _integer("uint8", 0, (1 << 8) - 1, put_u8),
    0x04: _put_char,
    0x08: _put_boolean,
    0x11: _integer("int16", -(1 << 15), (1 << 15) - 1, put_i16),
    0x12: _integer("uint16", 0, (1 << 16) - 1, put_u16),
    0x21: _integer("int32", -(1 << 31), (1 << 31) - 1, put_i32),
    0x22: _integer("uint32", 0, (1 << 32) - 1, put_u32),
    0x23: _number("float", put_f32),
    0x27: _put_char_utf32,
    0x31: _integer("int64", -(1 << 63), (1 << 63) - 1, put_i64),
    0x32: _integer("uint64", 0, (1 << 64) - 1, put_u64),
    0x33: _number("double", put_f64),
    0x38: _integer("datetime", -(1 << 63), (1 << 64) - 1, put_datetime),
    0x48: _put_uuid,
    0x80: _variable_octets(0x80, "vbin8"),
    0x84: _text(0x84, "str8-latin", LATIN),
    0x85: _text(0x85, "str8", "utf-8"),
    0x86: _text(0x86, "str8-utf16", "utf-16-be"),
    0x90: _variable_octets(0x90, "vbin16"),
    0x94: _text(0x94, "str16-latin", LATIN),
    0x95: _text(0x95, "str16", "utf-8"),
    0x96: _text(0x96, "str16-utf16", "utf-16-be"),
    0xA0: _variable_octets(0xA0, "vbin32"),
    0xC8: _put_decimal("dec32", 32, put_i32),
    0xD8: _put_decimal("dec64", 64, put_i64),
    0xF0: _put_nothing,
    0xF1: _put_nothing,
}
"""Writers by type code, of all but maps, lists, arrays and structs."""


# --- maps, lists, arrays and structs ---------------------------------------------------------------------------------------

UNWRITABLE: Final = (*BAD, UnicodeEncodeError, AttributeError, TypeError, ValueError, KeyError, ArithmeticError, RecursionError)
"""What the fast writers may raise for a value that its type cannot hold."""

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
            try:
                parts.append(_write(0xA9, item, depth + 1))
            except EncodeError as why:
                raise _inside(value, f"list[{at}]", why) from None
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
        if not isinstance(why, UNWRITABLE):
            raise
        error = unwritable(value.NAME, value, FIELDS[type(value)], SHAPES, why)
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


# --- sets of command ids and of octets, which only fields have --------------------------------------------------------------


def encode_set(ids: RangeSet) -> bytes:
    """Encodes a sequence-set.  Raises EncodeError beyond 8191 ranges, or when a range spans half of all serial numbers."""
    ranges = ids.ranges
    if len(ranges) == 1:  # nearly always
        ((low, high),) = ranges
        if (high - low) & 0x80000000 == 0:
            return put_set_of_one(8, low, high)
    for low, high in ranges:
        if not serial_le(low, high):
            raise EncodeError("sequence-set", f"the range {low} to {high} spans half of all numbers or more")
    if len(ranges) > 8191:
        raise EncodeError("sequence-set", f"holds at most 8191 ranges; {len(ranges)} given")
    return put_u16(8 * len(ranges)) + b"".join([put_pair32(low, high) for low, high in ranges])


def encode_byte_ranges(ranges: ByteRanges) -> bytes:
    """Encodes byte-ranges.  Raises EncodeError beyond 4095, and for reversed, unordered or adjacent ones, or beyond 64 bits."""
    if len(ranges) > 4095:
        raise EncodeError("byte-ranges", f"holds at most 4095 ranges; {len(ranges)} given")
    why = wrong_ranges(ranges)
    if why:
        raise EncodeError("byte-ranges", why)
    return put_u16(16 * len(ranges)) + b"".join([put_pair64(low, high) for low, high in ranges])


# --- fields ---------------------------------------------------------------------------------------------------------------


def _put_text8(value: str) -> bytes:
    octets = value.encode()
    return OCTET[len(octets)] + octets


def _put_text16(value: str) -> bytes:
    octets = value.encode()
    return put_u16(len(octets)) + octets


def _put_octets8(value: bytes) -> bytes:
    return OCTET[len(value)] + value


def _put_octets16(value: bytes) -> bytes:
    return put_u16(len(value)) + value


def _put_octets32(value: bytes) -> bytes:
    return put_u32(len(value)) + value


def _put_u8(value: int) -> bytes:
    return OCTET_OF[value]


def _put_uuid_field(value: UUID) -> bytes:
    return value.int.to_bytes(16, "big")


def _put_words8(value: tuple[str, ...]) -> bytes:
    return _put_text8(" ".join(value))


def _put_hosts8(value: tuple[str, ...]) -> bytes:
    return _put_text8(",".join(value))


def _put_words32(value: tuple[str, ...]) -> bytes:
    return _put_octets32(" ".join(value).encode())


def _put_content(value: BodyContent) -> bytes:
    return OCTET[value.by_reference] + _put_octets32(value.octets)


EMPTY_ARGUMENTS: Final[dict[str, object]] = {
    "str8": "",
    "vbin32": b"",
    "words8": (),
    "words32": (),
    "hosts8": (),
    "table": {},
    "content": BodyContent(),
}
"""What is sent for an argument that is None; 0 for numbers."""

FIELD_WRITERS: Final[dict[str, FieldWriter]] = {
    "uint8": _put_u8,
    "uint16": put_u16,
    "uint32": put_u32,
    "uint64": put_u64,
    "sequence-no": put_u32,
    "datetime": put_datetime,
    "str8": _put_text8,
    "str16": _put_text16,
    "vbin8": _put_octets8,
    "vbin16": _put_octets16,
    "vbin32": _put_octets32,
    "uuid": _put_uuid_field,
    "map": encode_map,
    "array": encode_array,
    "fragments": encode_array,
    "texts": encode_texts,
    "struct32": encode_struct32,
    "sequence-set": encode_set,
    "byte-ranges": encode_byte_ranges,
    "words8": _put_words8,
    "words32": _put_words32,
    "hosts8": _put_hosts8,
    "content": _put_content,
}


def write_fields(thing: ValueObject, fields: FieldTypes, shapes: InnerStructs) -> tuple[int, bytes]:
    """Encodes all fields; returns flags and octets.  Raises one of `encoding.UNWRITABLE` for an invalid value."""
    flags = 0
    parts: list[bytes] = []
    for index, (name, of) in enumerate(fields):
        value = getattr(thing, name)
        if of == "bit":
            if value:
                flags |= MASKS[index]
        elif value is not None:
            flags |= MASKS[index]
            write = FIELD_WRITERS.get(of)
            parts.append(_put_struct(value, shapes[of], shapes) if write is None else write(value))
    return flags, b"".join(parts)


def _put_struct(value: ValueObject, shape: InnerStruct, shapes: InnerStructs) -> bytes:
    _, fields, _, key = shape
    flags, content = write_fields(value, fields, shapes)
    if key is None:
        return put_sized16_head(len(content) + 2, flags) + content
    return put_struct_head(len(content) + 4, key, flags) + content


_SCALARS: Final = {
    "uint8": 0x02,
    "uint16": 0x12,
    "uint32": 0x22,
    "uint64": 0x32,
    "sequence-no": 0x22,
    "datetime": 0x38,
    "str8": 0x85,
    "str16": 0x95,
    "vbin8": 0x80,
    "vbin16": 0x90,
    "vbin32": 0xA0,
    "uuid": 0x48,
    "map": 0xA8,
}


def _of(kind: type, write: Callable[..., bytes]) -> Callable[[object], None]:
    def check(value: object) -> None:
        if not isinstance(value, kind):
            raise EncodeError("", f"takes {kind.__name__}, not {type(value).__name__}")
        write(value)

    return check


_CHECK: Final[dict[str, Callable[[object], None]]] = {
    "sequence-no": _of(object, _integer("sequence-no", 0, (1 << 32) - 1, put_u32)),
    **{name: _of(object, WRITERS[code]) for name, code in _SCALARS.items() if name not in {"sequence-no", "map"}},
    "map": _of(Mapping, encode_map),
    "array": _of(Array, encode_array),
    "fragments": _of(Array, encode_array),
    "texts": _of(tuple, encode_texts),
    "struct32": _of(Struct, encode_struct32),
    "sequence-set": _of(RangeSet, encode_set),
    "byte-ranges": _of(tuple, encode_byte_ranges),
    "words8": _of(tuple, lambda value: WRITERS[0x85](" ".join(value))),
    "hosts8": _of(tuple, lambda value: WRITERS[0x85](",".join(value))),
    "words32": _of(tuple, lambda value: WRITERS[0x95](" ".join(value))),
    "content": _of(BodyContent, lambda value: WRITERS[0xA0](value.octets)),
}


def unwritable(what: str, thing: ValueObject, fields: FieldTypes, shapes: InnerStructs, why: Exception) -> EncodeError:
    """Returns why the fast writer gave up on a control, command or struct.

    Costs as much as writing it, at any depth: a value that `why` already explains is not written again.
    """
    found = _unwritable(what, thing, fields, shapes, why)
    if found is not None:
        return found
    return why if isinstance(why, EncodeError) else EncodeError(what, f"cannot be written: {why}")


def _unwritable(what: str, thing: ValueObject, fields: FieldTypes, shapes: InnerStructs, why: Exception) -> EncodeError | None:
    """Returns the error of the first field that cannot be written; None when all can."""
    told = why if isinstance(why, EncodeError) else None
    for name, kind in fields:
        value = getattr(thing, name)
        if kind == "bit" or kind == "table" or value is None:  # writers of field tables report their own errors
            continue
        full = f"{what}.{name}"
        if kind in shapes:
            if not isinstance(value, shapes[kind][0]):
                return EncodeError(full, f"takes a struct {kind}, not {type(value).__name__}")
            inner = _unwritable(full, value, shapes[kind][1], shapes, why)
            if inner is not None:
                return inner
            continue
        if told is not None and told._inside is value:
            return EncodeError(f"{full}: {told.what}", told.rule)
        try:
            _CHECK[kind](value)
        except EncodeError as error:
            return EncodeError(f"{full}: {error.what}" if error.what and error.what != kind else full, error.rule)
        except RecursionError:
            return EncodeError(full, "values are nested too deep")
        except (TypeError, ValueError, AttributeError) as error:
            return EncodeError(full, f"cannot be written: {error}")
    return None


import amqp_sansio.wire.layouts.structs  # noqa: E402, F401  (last, for it needs all of the above, and fills STRUCT_WRITERS)
