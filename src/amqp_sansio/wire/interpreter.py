"""Decodes and encodes controls, commands, structs and methods field by field, from the tables of their fields.

Most verbs use this module.  Those on hot paths have straight-line code in their layout, which fails without a reason: the same
octets then go through here, and the error names the field, the offset and the rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias, TypeVar
from uuid import UUID

from amqp_sansio.errors import DecodeError, EncodeError
from amqp_sansio.errors.core import many, too_large
from amqp_sansio.kernel.value import Value
from amqp_sansio.spec.base import BodyContent, Struct
from amqp_sansio.wire.codec import Reading
from amqp_sansio.wire.encoding import encode_array, encode_map, encode_struct32, encode_texts
from amqp_sansio.wire.primitives import (
    OCTET,
    OCTET_OF,
    put_sized16_head,
    put_struct_head,
    put_u16,
    put_u32,
    put_u64,
    u16,
    u32,
    u64,
)
from amqp_sansio.wire.scalars import READERS, put_datetime, span
from amqp_sansio.wire.sets import encode_byte_ranges, encode_set, read_byte_ranges, read_set
from amqp_sansio.wire.types import BAD, decode_error, read_array, read_fragments, read_map, read_struct32, read_texts

FieldTable: TypeAlias = tuple[tuple[str, str], ...]
"""Name and wire type of each field, in flag order."""
Shape: TypeAlias = tuple[type[Struct], FieldTable, int, int | None]
Shapes: TypeAlias = Mapping[str, Shape]
"""Structs that are fields: class, fields, octets of their size, and class and code as one number where they have them."""
ArgumentTable: TypeAlias = tuple[tuple[str, str, object], ...]
"""Name and wire type of each argument of a method, in order; and the value to send for a reserved one, else None."""
FieldReader: TypeAlias = Callable[[bytes, int, int, Reading, int], tuple[object, int]]
FieldWriter: TypeAlias = Callable[..., bytes]

T = TypeVar("T")


def mask(index: int) -> int:
    """Returns the flag of field `index` in the two flag octets, as one number."""
    return 1 << (index % 8) << (8 if index < 8 else 0)


MASKS: Final = tuple([mask(index) for index in range(16)])
KNOWN: Final = tuple([sum(MASKS[:count]) for count in range(17)])
"""All defined flags, by the number of fields."""


def _u8(b: bytes, p: int, end: int, reading: Reading, depth: int) -> tuple[object, int]:
    return b[p], p + 1


def _u16(b: bytes, p: int, end: int, reading: Reading, depth: int) -> tuple[object, int]:
    return u16(b, p)[0], p + 2


def _u32(b: bytes, p: int, end: int, reading: Reading, depth: int) -> tuple[object, int]:
    return u32(b, p)[0], p + 4


def _u64(b: bytes, p: int, end: int, reading: Reading, depth: int) -> tuple[object, int]:
    return u64(b, p)[0], p + 8


def _str8(b: bytes, p: int, end: int, reading: Reading, depth: int) -> tuple[object, int]:
    start, stop = span(0x85, b, p, end)
    return b[start:stop].decode("utf-8", reading.text), stop


def _vbin8(b: bytes, p: int, end: int, reading: Reading, depth: int) -> tuple[object, int]:
    start, stop = span(0x80, b, p, end)
    return b[start:stop], stop


def _vbin32(b: bytes, p: int, end: int, reading: Reading, depth: int) -> tuple[object, int]:
    start, stop = span(0xA0, b, p, end)
    return b[start:stop], stop


def _words8(b: bytes, p: int, end: int, reading: Reading, depth: int) -> tuple[object, int]:
    text, stop = _str8(b, p, end, reading, depth)
    return _parts(str(text), " "), stop


def _hosts8(b: bytes, p: int, end: int, reading: Reading, depth: int) -> tuple[object, int]:
    text, stop = _str8(b, p, end, reading, depth)
    return _parts(str(text), ","), stop


def _words32(b: bytes, p: int, end: int, reading: Reading, depth: int) -> tuple[object, int]:
    octets, stop = _vbin32(b, p, end, reading, depth)
    return _parts(octets.decode("utf-8", reading.text), " ") if isinstance(octets, bytes) else octets, stop


def _parts(text: str, between: str) -> tuple[str, ...]:
    """Splits a text without loss; an empty one has no parts."""
    return tuple(text.split(between)) if text else ()


def _content(b: bytes, p: int, end: int, reading: Reading, depth: int) -> tuple[object, int]:
    """Decodes the content of 0-9's message.transfer: 0 for inline or 1 for a reference, then a long string."""
    if p < end and b[p] > 1:
        raise DecodeError("content", p, f"a content is 0, inline, or 1, a reference, not {b[p]}", 502)
    octets, stop = _vbin32(b, p + 1, end, reading, depth)
    return BodyContent(octets if isinstance(octets, bytes) else b"", b[p] == 1), stop


_READ: Final[dict[str, FieldReader]] = {
    "uint8": _u8,
    "uint16": _u16,
    "uint32": _u32,
    "uint64": _u64,
    "sequence-no": _u32,
    "datetime": READERS[0x31],
    "str8": _str8,
    "str16": READERS[0x95],
    "vbin8": _vbin8,
    "vbin16": READERS[0x90],
    "vbin32": _vbin32,
    "uuid": READERS[0x48],
    "map": read_map,
    "array": read_array,
    "fragments": read_fragments,
    "texts": read_texts,
    "struct32": read_struct32,
    "sequence-set": read_set,
    "byte-ranges": read_byte_ranges,
    "words8": _words8,
    "words32": _words32,
    "hosts8": _hosts8,
    "content": _content,
}


def read_fields(
    kind: Callable[..., T],
    what: str,
    fields: FieldTable,
    shapes: Shapes,
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
            read = _READ.get(of)
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
            raise _missing(error.what, p, end) from None
        if stop > end:
            raise _missing(f"{what}.{name}", p, end, stop)
        values.append(value)
        p = stop
    return kind(*values)


def _read_struct(full: str, shape: Shape, shapes: Shapes, b: bytes, p: int, end: int, reading: Reading) -> tuple[object, int]:
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


def _put_uuid(value: UUID) -> bytes:
    return value.int.to_bytes(16, "big")


def _put_words8(value: tuple[str, ...]) -> bytes:
    return _put_text8(" ".join(value))


def _put_hosts8(value: tuple[str, ...]) -> bytes:
    return _put_text8(",".join(value))


def _put_words32(value: tuple[str, ...]) -> bytes:
    return _put_octets32(" ".join(value).encode())


def _put_content(value: BodyContent) -> bytes:
    return OCTET[value.by_reference] + _put_octets32(value.octets)


_EMPTY: Final[dict[str, object]] = {
    "str8": "",
    "vbin32": b"",
    "words8": (),
    "words32": (),
    "hosts8": (),
    "table": {},
    "content": BodyContent(),
}
"""What is sent for an argument that is None; 0 for numbers."""

_WRITE: Final[dict[str, FieldWriter]] = {
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
    "uuid": _put_uuid,
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


def write_fields(thing: Value, fields: FieldTable, shapes: Shapes) -> tuple[int, bytes]:
    """Encodes all fields; returns flags and octets.  Raises one of `field_interpreter.UNWRITABLE` for an invalid value."""
    flags = 0
    parts: list[bytes] = []
    for index, (name, of) in enumerate(fields):
        value = getattr(thing, name)
        if of == "bit":
            if value:
                flags |= MASKS[index]
        elif value is not None:
            flags |= MASKS[index]
            write = _WRITE.get(of)
            parts.append(_put_struct(value, shapes[of], shapes) if write is None else write(value))
    return flags, b"".join(parts)


def _put_struct(value: Value, shape: Shape, shapes: Shapes) -> bytes:
    _, fields, _, key = shape
    flags, content = write_fields(value, fields, shapes)
    if key is None:
        return put_sized16_head(len(content) + 2, flags) + content
    return put_struct_head(len(content) + 4, key, flags) + content


def _missing(what: str, p: int, end: int, stop: int | None = None, code: int = 503) -> DecodeError:
    """Returns the error for a value at `p` that exceeds `end`; `stop` is its own end, if known."""
    wanted = "octets are missing:" if stop is None else f"needs {many(stop - p, 'octet')},"
    return DecodeError(what, p, f"{wanted} {max(0, end - p)} are left", code)


def read_arguments(
    kind: Callable[..., T],
    what: str,
    arguments: ArgumentTable,
    b: bytes,
    p: int,
    end: int,
    reading: Reading,
    read_table: FieldReader | None = None,
) -> T:
    """Decodes a method whose arguments begin at `p` and end exactly at `end`.

    Consecutive bits share an octet, the first in its lowest bit, reserved ones included.  Unused bits and the values of
    reserved arguments are ignored.  `read_table` decodes field tables, which differ between dialects.  Raises DecodeError,
    which names the argument: 502, or 506 for one of our limits.
    """
    values: dict[str, object] = {}
    bit = 0  # the index of the next bit in the octet before `p`; 0 where a new octet begins
    for name, of, send in arguments:
        value: object
        if of == "bit":
            if bit == 0:
                if p >= end:
                    raise _missing(f"{what}.{name}", p, end, code=502)
                p += 1
            value = b[p - 1] >> bit & 1 == 1
            bit = (bit + 1) % 8
        else:
            bit = 0
            try:
                if of == "table" and read_table is not None:
                    value, stop = read_table(b, p, end, reading, 0)
                else:
                    value, stop = _READ[of](b, p, end, reading, 0)
            except DecodeError as why:
                entry = why.what.removeprefix("table") if of == "table" else ""
                raise DecodeError(
                    f"{what}.{name}{entry}", min(why.octet, end), why.rule, 506 if why.code == 506 else 502
                ) from None
            except BAD as why:
                if isinstance(why, UnicodeDecodeError):
                    raise DecodeError(f"{what}.{name}", p, decode_error(why, name, p).rule, 502) from None
                raise _missing(f"{what}.{name}", p, end, code=502) from None
            if stop > end:
                raise _missing(f"{what}.{name}", p, end, stop, 502)
            p = stop
        if send is None:
            values[name] = value
    if p < end:
        raise DecodeError(what, p, f"{many(end - p, 'octet stands', 'octets stand')} behind its last argument", 502)
    return kind(**values)


def write_arguments(what: str, thing: Value, arguments: ArgumentTable, write_table: FieldWriter | None = None) -> bytes:
    """Encodes all arguments of a method.

    None (an argument that was not given, or that the version lacks) is sent as 0 or empty.  Raises one of
    `field_interpreter.UNWRITABLE` for a value that its type cannot hold.
    """
    parts: list[bytes] = []
    bits = bit = 0
    for name, of, send in arguments:
        value = getattr(thing, name) if send is None else send
        if of == "bit":
            if value:
                bits |= 1 << bit
            bit += 1
            if bit == 8:
                parts.append(OCTET[bits])
                bits = bit = 0
            continue
        if bit:
            parts.append(OCTET[bits])
            bits = bit = 0
        if value is None:
            value = _EMPTY.get(of, 0)
        if of != "table" or write_table is None:
            parts.append(_WRITE[of](value))
            continue
        try:
            parts.append(write_table(value))
        except EncodeError as why:
            raise EncodeError(f"{what}.{name}{why.what.removeprefix('table')}", why.rule) from None
    if bit:
        parts.append(OCTET[bits])
    return b"".join(parts)
