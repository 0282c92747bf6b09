"""Reading and writing one field at a time, from tables: what the generated code falls back on to say what is wrong.

Generated code is quick and says nothing; when it gives up, the same octets or values go through here, and the error names
the field, the offset and the rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeAlias, TypeVar

from amqp_sansio.errors import DecodeError, EncodeError
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.kernel.value import Value as Fields
from amqp_sansio.spec.base import Struct
from amqp_sansio.spec.values import Array
from amqp_sansio.wire.encoding import encode_array, encode_map, encode_struct32, encode_texts
from amqp_sansio.wire.octets import struct_head, u16, u32
from amqp_sansio.wire.reading import Reading
from amqp_sansio.wire.scalars import READERS
from amqp_sansio.wire.sets import encode_byte_ranges, encode_set, read_byte_ranges, read_set
from amqp_sansio.wire.types import BAD, decode_error, read_array, read_fragments, read_map, read_struct32, read_texts
from amqp_sansio.wire.writers import WRITERS

FieldTable: TypeAlias = tuple[tuple[str, str], ...]
"""Name and wire type of each field, in flag order."""
Shape: TypeAlias = tuple[type[Struct], FieldTable, int, int | None]
Shapes: TypeAlias = Mapping[str, Shape]
"""Structs that are fields: class, fields, the octets of their size, class and code as one number where they have them."""

T = TypeVar("T")

UNWRITABLE: Final = (*BAD, UnicodeEncodeError, AttributeError, TypeError, ValueError, KeyError, ArithmeticError, RecursionError)
"""What quick writing may raise when a value is not what its type can hold."""

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

_READ: Final[dict[str, Callable[[bytes, int, int, Reading, int], tuple[object, int]]]] = {
    **{name: READERS[code] for name, code in _SCALARS.items()},
    "map": read_map,
    "array": read_array,
    "fragments": read_fragments,
    "texts": read_texts,
    "struct32": read_struct32,
    "sequence-set": read_set,
    "byte-ranges": read_byte_ranges,
}


def mask(index: int) -> int:
    """The flag of field number `index` in the two flag octets read as one number."""
    return 1 << (index % 8) << (8 if index < 8 else 0)


def read_fields(
    what: str, fields: FieldTable, shapes: Shapes, b: bytes, p: int, end: int, flags: int, reading: Reading
) -> Iterator[tuple[str, object, int]]:
    """Name, value and end of each field that is there.  DecodeError names the field that cannot be read."""
    for index, (name, kind) in enumerate(fields):
        if not flags & mask(index):
            continue
        if kind == "bit":
            yield name, True, p
            continue
        full = f"{what}.{name}"
        try:
            if kind in shapes:
                value, stop = _read_struct(full, shapes[kind], shapes, b, p, end, reading)
            else:
                value, stop = _READ[kind](b, p, end, reading, 0)
        except DecodeError as why:
            plain = why.what == kind or why.what.startswith("type 0x")
            inner = why.what if why.what.startswith(full) else full if plain else f"{full}: {why.what}"
            raise DecodeError(inner, min(why.octet, end), why.rule, why.code) from None
        except BAD as why:
            raise _named(decode_error(why, full, p), b, p, end) from None
        if stop > end:
            raise DecodeError(full, p, f"needs {stop - p} octets, {max(0, end - p)} are left")
        yield name, value, stop
        p = stop


def _named(error: DecodeError, b: bytes, p: int, end: int) -> DecodeError:
    if error.code == 531:
        return error
    return DecodeError(error.what, p, f"octets are missing: {max(0, end - p)} are left")


def _read_struct(full: str, shape: Shape, shapes: Shapes, b: bytes, p: int, end: int, reading: Reading) -> tuple[object, int]:
    kind, fields, size, key = shape
    if p + size > end:
        raise DecodeError(full, p, f"its size takes {size} octets, {max(0, end - p)} are left")
    length = u16(b, p)[0] if size == 2 else u32(b, p)[0]
    start = p + size
    stop = start + length
    if stop > end:
        raise DecodeError(full, p, f"its size, {length}, goes beyond the {end - start} octets that are left")
    if length == 0:
        return kind(), stop
    head = 2 if key is None else 4
    if length < head:
        raise DecodeError(full, p, f"a size of {length} has no room for its flags")
    if key is not None and u16(b, start)[0] != key:
        raise DecodeError(full, start, f"a struct of code {key:04x} belongs here, not {u16(b, start)[0]:04x}")
    flags = u16(b, start + head - 2)[0]
    found = {name: value for name, value, _ in read_fields(full, fields, shapes, b, start + head, stop, flags, reading)}
    return kind(**found), stop


def read_slowly(
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
    """What the quick reader gave up on, field by field from `p` on.  DecodeError says why it did.

    It succeeds where the reading lets pass what the quick reader does not: text that is no UTF-8.
    """
    known = sum([mask(index) for index in range(len(fields))])
    if not sized and flags & ~known:
        raise DecodeError(what, p - 2, f"flags 0x{flags & ~known:04x} belong to no field")
    if p > end:
        raise DecodeError(what, p, "octets are missing")
    found = {name: value for name, value, _ in read_fields(what, fields, shapes, b, p, end, flags, reading)}
    return kind(**found)


def _integer(low: int, high: int) -> Callable[[object], None]:
    def check(value: object) -> None:
        if not isinstance(value, int):
            raise EncodeError("", f"takes an int, not {type(value).__name__}")
        if not low <= value <= high:
            raise EncodeError("", f"{value} is not within {low} to {high}")

    return check


def _of(kind: type, write: Callable[..., bytes]) -> Callable[[object], None]:
    def check(value: object) -> None:
        if not isinstance(value, kind):
            raise EncodeError("", f"takes {kind.__name__}, not {type(value).__name__}")
        write(value)

    return check


_CHECK: Final[dict[str, Callable[[object], None]]] = {
    "sequence-no": _integer(0, (1 << 32) - 1),
    **{name: _of(object, WRITERS[code]) for name, code in _SCALARS.items() if name not in {"sequence-no", "map"}},
    "map": _of(Mapping, encode_map),
    "array": _of(Array, encode_array),
    "fragments": _of(Array, encode_array),
    "texts": _of(tuple, encode_texts),
    "struct32": _of(Struct, encode_struct32),
    "sequence-set": _of(RangeSet, encode_set),
    "byte-ranges": _of(tuple, encode_byte_ranges),
}


def unwritable(what: str, thing: Fields, fields: FieldTable, shapes: Shapes, why: Exception) -> EncodeError:
    """Why the quick writer gave up on a control, command or struct."""
    for (name, kind), value in zip(fields, thing.values(), strict=True):
        if kind == "bit" or value is None:
            continue
        full = f"{what}.{name}"
        if kind in shapes:
            if not isinstance(value, shapes[kind][0]):
                return EncodeError(full, f"takes a struct {kind}, not {type(value).__name__}")
            inner = unwritable(full, value, shapes[kind][1], shapes, why)
            if inner.what != full:
                return inner
            continue
        try:
            _CHECK[kind](value)
        except EncodeError as error:
            return EncodeError(f"{full}: {error.what}" if error.what and error.what != kind else full, error.rule)
        except RecursionError:
            return EncodeError(full, "values are nested too deep")
        except (TypeError, ValueError, AttributeError) as error:
            return EncodeError(full, f"cannot be written: {error}")
    return why if isinstance(why, EncodeError) else EncodeError(what, f"cannot be written: {why}")


def read_struct_slowly(why: Exception, b: bytes, p: int, end: int, reading: Reading) -> tuple[Struct, int]:
    """A coded struct that begins at `p` and that quick reading gave up on because of `why`.  DecodeError."""
    from amqp_sansio.wire.layouts import fields

    if p + 8 <= end:
        size, key, flags = struct_head(b, p)
        kind = fields.STRUCTS.get(key)
        if kind is not None and 4 <= size <= end - p - 4:
            stop = p + 4 + size
            table, shapes = fields.FIELDS[kind], fields.SHAPES
            return read_slowly(kind, kind.NAME, table, shapes, b, p + 8, stop, flags, reading, True), stop
    raise why if isinstance(why, DecodeError) else decode_error(why, "struct32", p)


def unwritable_struct(struct: Struct, why: Exception) -> EncodeError:
    """Why a coded struct cannot be written."""
    from amqp_sansio.wire.layouts import fields

    return unwritable(struct.NAME, struct, fields.FIELDS[type(struct)], fields.SHAPES, why)
